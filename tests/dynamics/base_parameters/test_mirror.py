"""Signs of mirrored legs: those with which the reader of a description has reflected the numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

import nacelle
from nacelle.dynamics.base_parameters.mirror import mirror_signs
from nacelle.errors import ParameterError
from nacelle.model.linear_parameters import linear_parameters
from support.library import library_robot

ROBOTS = Path(__file__).parents[2] / "robots"


def test_signs_of_a_leg_that_the_description_mirrors() -> None:
    robot = nacelle.load(ROBOTS / "fivebar-mirror.yaml")
    left, right = (next(leg for leg in robot.legs if leg.name == name) for name in ("left", "right"))
    signs = mirror_signs(robot, right, left)
    parameters = linear_parameters(robot)
    values = dict(zip(parameters.names, parameters.values, strict=True))
    compared = 0
    for name, sign in signs.items():
        image = name.replace("right.", "left.", 1)
        if values.get(name):
            assert values[image] == pytest.approx(sign * values[name], rel=1e-12), name
            compared += sign < 0.0
    assert compared >= 2
    # A reflection of a reflection is none: the signs are the same the other way.
    back = mirror_signs(robot, left, right)
    assert {name.replace("left.", "right.", 1): sign for name, sign in back.items()} == signs


def test_legs_that_are_no_images() -> None:
    robot = library_robot("delta")
    with pytest.raises(ParameterError, match="leg2 is no mirror image of leg1"):
        mirror_signs(robot, robot.legs[0], robot.legs[1])
