"""Legs on spherical joints: their spin comes from the closure."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.model.joint import JointKind
from nacelle.model.read import read_text
from nacelle.sketch.sketch import sketch


@pytest.mark.slow
@pytest.mark.parametrize("legs", ["6-SPU", "6-PSU"])
def test_the_spin_of_a_leg_on_a_spherical_joint_comes_from_its_closure(legs: str) -> None:
    """At a universal end: its axes are perpendicular at every pose, not at the reference only."""
    robot = read_text(sketch("robot", legs, motion="se3").text)[0]
    rng = np.random.default_rng(5)
    x = nacelle.reference_pose(robot) + np.pad(rng.normal(size=(6, 3)) * 0.01, ((0, 0), (0, 4)))
    x[:, 3:6] += 0.02 * rng.normal(size=(6, 3))
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    R = joints.bodies[0]
    for joint in robot.joints:
        if joint.kind is JointKind.UNIVERSAL:
            first = R[:, joint.predecessor] @ joint.frame_predecessor.R[:, 0]
            second = R[:, joint.successor] @ joint.frame_successor.R[:, 1]
            assert np.max(np.abs(np.sum(first * second, axis=1))) < 1e-12
