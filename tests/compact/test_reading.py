"""Legs read as struts and rods: their lines against the inverse kinematics of their joints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.compact.bars.geometry import LegForm, read_leg
from nacelle.model.robot import Robot
from support.library import library_robot
from support.uncompiled import poses_around

ROBOTS = {"palida": "strut", "hexa": "rod", "fivebar": "rod", "prrrp": "rod", "orthoglide": "rod"}


def read_legs(robot: Robot) -> list[LegForm]:
    """All legs, in the order of the actuators."""
    forms = [read_leg(robot, index) for index in range(len(robot.legs))]
    return sorted(forms, key=lambda form: form.drive.number)


def foot(robot: Robot, form: LegForm, q: float) -> np.ndarray:
    """Point A at a coordinate of the drive, base axes."""
    if form.kind == "strut":
        return form.A
    drive = robot.joints[robot.actuators[form.drive.number].joint].frame_predecessor
    if form.drive.revolute:
        return drive.p + drive.R @ Rotation.from_rotvec([0.0, 0.0, q]).apply(form.A)
    return drive.p + drive.R @ form.A + q * drive.R[:, 2]


def lines(robot: Robot) -> list[tuple[LegForm, float, float]]:
    """Each leg with a coordinate of its drive and its length |B - A| at some poses."""
    x = poses_around(robot, 4)
    solution = nacelle.inverse_kinematics(robot, x, limits=False)
    result = []
    for k in range(len(x)):
        for number, form in enumerate(read_legs(robot)):
            assert form.drive.number == number
            q = float(solution.actuators[k, number])
            B = solution.bodies.R[k, form.body] @ form.B + solution.bodies.p[k, form.body]
            result.append((form, q, float(np.linalg.norm(B - foot(robot, form, q)))))
    return result


@pytest.mark.parametrize("name", ROBOTS)
def test_lines_are_those_of_the_joints(name: str) -> None:
    robot = library_robot(name)
    for form, q, length in lines(robot):
        assert form.kind == ROBOTS[name]
        if form.kind == "strut":
            assert q == pytest.approx(form.drive.side * length + form.drive.zero, abs=1e-10)
        else:
            assert length == pytest.approx(form.length, rel=1e-10)
