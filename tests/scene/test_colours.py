"""Colours by name and number."""

from __future__ import annotations

import pytest

from nacelle.errors import NacelleError
from nacelle.scene.colours import _NUMBERS, hexadecimal, rgb


def test_names_are_those_of_css() -> None:
    from matplotlib.colors import CSS4_COLORS

    assert {name: f"#{number}" for name, number in _NUMBERS.items()} == {
        name: number.lower() for name, number in CSS4_COLORS.items()
    }


def test_colours() -> None:
    assert hexadecimal(" Orange ") == "#ffa500"
    assert hexadecimal("#AbC") == "#aabbcc"
    assert rgb("#ff0080") == (1.0, 0.0, 128 / 255)
    with pytest.raises(NacelleError, match="is no colour"):
        hexadecimal("red; background: url(x)")
