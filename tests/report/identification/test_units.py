"""Units of parameters against what a description declares."""

from __future__ import annotations

import pytest

from nacelle.model.linear_parameters import linear_parameters
from nacelle.report.identification.units import base_units, parameter_unit, row_units
from support.identified import identified
from support.library import NAMES, library_robot


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_a_unit(name: str) -> None:
    robot = library_robot(name)
    kinds = {joint.name: str(joint.kind) for joint in robot.joints}
    viscous = {"prismatic": "N s/m", "revolute": "N m s/rad", "universal": "N m s/rad"}
    for parameter in linear_parameters(robot).names:
        unit = parameter_unit(robot, parameter)
        assert unit
        owner, _, part = parameter.rpartition(".")
        kind = kinds.get(owner.rpartition(".")[0], "")
        if part == "viscous" and kind in viscous:
            assert unit == viscous[kind]
        if part == "rotor_inertia":
            assert unit == ("kg" if kinds[owner] == "prismatic" else "kg m²")


@pytest.mark.parametrize(
    ("robot", "parameter", "unit"),
    [
        ("fivebar", "left.proximal.m", "kg"),
        ("fivebar", "left.proximal.mx", "kg m"),
        ("fivebar", "left.proximal.Ixy", "kg m²"),
        ("fivebar", "left.proximal-input.rz.coulomb", "N m"),
        ("fivebar", "left.proximal-input.rz.quadratic", "N m s²/rad²"),
        ("fivebar", "left.proximal-input.tz.stiffness", "N/m"),
        ("fivebar", "left.proximal-input.rz.stiffness*rest", "N m"),
        ("fivebar", "any.ball.coulomb-smooth", "N m"),
        ("fivebar", "any.tx.stribeck", "N"),
    ],
)
def test_units_by_name(robot: str, parameter: str, unit: str) -> None:
    assert parameter_unit(library_robot(robot), parameter) == unit


def test_units_of_base_parameters_and_rows() -> None:
    one = identified("fivebar")
    assert len(base_units(one.base)) == len(one.base)
    assert row_units(one.fit.regression) == ["N m", "N m"]
    assert row_units(identified("redundant").fit.regression) == ["N", "N"]
