"""Bodies placed in closed form: joints hold together and keep their axes, by plain geometry."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.configuration import configuration
from nacelle.model.joint import JointKind
from nacelle.model.leg import PLATFORM
from support.uncompiled import any_robot, poses_around, solve_uncompiled

HELD = (JointKind.REVOLUTE, JointKind.UNIVERSAL, JointKind.SPHERICAL, JointKind.FIXED)


@pytest.mark.parametrize("name", ["fivebar", "delta", "hexaglide", "dymo"])
def test_joints_hold_together(name: str) -> None:
    robot = any_robot(name)
    x = poses_around(robot, 3, 7, 0.02, 0.04)
    for row, y in zip(x, solve_uncompiled(robot, x), strict=True):
        now = configuration(robot, row, y)
        poses = now.motion.poses
        for joint in robot.joints:
            first, second = poses[joint.predecessor], poses[joint.successor]
            here, there = (
                (body.p + body.R @ frame.p, body.R @ frame.R)
                for body, frame in ((first, joint.frame_predecessor), (second, joint.frame_successor))
            )
            if joint.kind in HELD:
                np.testing.assert_allclose(here[0], there[0], rtol=0, atol=2e-11 * robot.size)
            if joint.kind is JointKind.REVOLUTE:
                np.testing.assert_allclose(here[1][:, 2], there[1][:, 2], rtol=0, atol=2e-11)
        assert now.q.shape == (robot.nq,)
        chart = mechanism_of(robot).chart
        if not mechanism_of(robot).parasitic:
            np.testing.assert_array_equal(poses[PLATFORM].R, chart.pose(row).R)
