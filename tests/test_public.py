"""Where public names are: each is at its home, and the package has no others."""

from __future__ import annotations

import importlib

import nacelle
from nacelle.public import HOMES


def test_every_name_is_at_its_home() -> None:
    for name, (module, there) in HOMES.items():
        home = importlib.import_module(module)
        assert hasattr(home, there), name
        assert getattr(nacelle, name) is getattr(home, there), name


def test_all_is_what_has_a_home() -> None:
    assert set(HOMES) <= set(nacelle.__all__)
    assert sorted(set(nacelle.__all__)) == sorted(nacelle.__all__)
