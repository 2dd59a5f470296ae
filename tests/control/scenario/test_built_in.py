"""Scenarios that come with the package."""

from __future__ import annotations

from nacelle.control.scenario.built_in import BUILT_IN
from nacelle.control.scenario.scenario import read_scenario


def test_all_can_be_read_and_have_their_names() -> None:
    for name in BUILT_IN:
        scenario = read_scenario(name)
        assert scenario.name == name
        assert scenario.spec.notes
