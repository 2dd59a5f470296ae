"""Which quantities a result has."""

from __future__ import annotations

import importlib

import nacelle
from nacelle.report.results.described import HOMES, quantities, robot_in
from support.library import library_robot


def test_every_function_is_there() -> None:
    for home, function in HOMES.values():
        assert hasattr(importlib.import_module(f"nacelle.report.results.{home}"), function)


def test_quantities_of_what_has_none() -> None:
    robot = library_robot("fivebar")
    assert quantities(nacelle.mobility(robot)) == []
    assert robot_in(nacelle.base_parameters(robot)) is robot
