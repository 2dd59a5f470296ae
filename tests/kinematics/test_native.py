"""Compiled kinematics: made once for a robot and options, with the numbers of the uncompiled function."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.kinematic_model import actuator_positions
from nacelle.kinematics.native import native
from support.uncompiled import any_robot, poses_around, run_uncompiled, solve_uncompiled


def test_made_once_and_right() -> None:
    robot = any_robot("fivebar")
    compiled = native(actuator_positions, robot)
    assert native(actuator_positions, robot) is compiled
    x = poses_around(robot, 20, 0, 0.05, 0.1)
    y = solve_uncompiled(robot, x)
    expected = run_uncompiled(actuator_positions, robot, x, y)
    for name, value in compiled(x, y).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-13, atol=1e-14)
