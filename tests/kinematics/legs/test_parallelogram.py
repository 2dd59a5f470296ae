"""Parallelograms: the end keeps its orientation in the hub, and the wrist lies where the arm says."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.legs.parallelogram import arm_offset, parallelogram
from nacelle.kinematics.tree.configuration import configuration
from support.uncompiled import any_robot, poses_around, solve_uncompiled


def test_the_end_stays_parallel_to_the_hub() -> None:
    robot = any_robot("orthoglide")
    x = poses_around(robot, 4, 0, 0.03, 0.0)
    y = solve_uncompiled(robot, x)
    for leg in robot.legs:
        found = parallelogram(robot, leg)
        assert found is not None
        R_hub_end, offset = arm_offset(robot, found)
        hub, end = (robot.joints[j].successor for j in (found.hub, found.end))
        length = None
        for k in range(4):
            poses = configuration(robot, x[k], y[k]).motion.poses
            np.testing.assert_allclose(poses[hub].R.T @ poses[end].R, R_hub_end, atol=1e-10)
            wrist = (poses[end] @ robot.joints[found.wrist].frame_predecessor).p
            rod = poses[hub].R.T @ (wrist - poses[hub].p) - offset
            length = length or np.linalg.norm(rod)
            assert abs(np.linalg.norm(rod) - length) < 1e-10


def test_other_legs_have_none() -> None:
    robot = any_robot("gough-stewart")
    assert all(parallelogram(robot, leg) is None for leg in robot.legs)
