"""Closed configurations near the reference: loops closed, moved along what is independent."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.mechanism.closed import closed_near
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import JointKind
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["fivebar", "3rps", "delta", "quattro", "everything"])
def test_loops_are_closed(name: str) -> None:
    robot = any_robot(name)
    start = mechanism_of(robot).assembly
    found = closed_near(robot, start, 0.03, np.random.default_rng(5))
    assert found is not None
    _, _, motion, _ = found
    for joint in robot.closures:
        first, second = (
            motion.poses[body].p + motion.poses[body].R @ frame.p
            for body, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            )
        )
        if joint.kind in (JointKind.SPHERICAL, JointKind.REVOLUTE, JointKind.UNIVERSAL):
            np.testing.assert_allclose(first, second, rtol=0, atol=1e-11 * robot.size)
    moved = np.max(np.abs(motion.poses[1].p - start.motion.poses[1].p)) / robot.size
    turned = np.max(np.abs(motion.poses[1].R - start.motion.poses[1].R))
    assert 1e-3 < moved + turned < 0.3
    for pose in motion.poses:
        np.testing.assert_allclose(pose.R @ pose.R.T, np.eye(3), rtol=0, atol=1e-13)
