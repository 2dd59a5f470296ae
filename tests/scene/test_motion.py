"""Motions of bodies: those of the inverse kinematics, held where a pose is out of reach."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle import load
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.scene.motion import poses_along, rotations, still


def test_bodies_are_where_the_kinematics_says() -> None:
    robot = load("gough-stewart")
    x = np.tile(reference_pose(robot), (5, 1))
    x[:, 0] += np.linspace(0.0, 0.1, 5)
    motion = poses_along(robot, np.arange(5.0), x)
    R, p = inverse_kinematics(robot, x).bodies
    np.testing.assert_allclose(rotations(motion.quaternion), R, atol=1e-12)
    np.testing.assert_array_equal(motion.position, p)
    assert motion.ok.all()
    assert np.all(np.sum(motion.quaternion[1:] * motion.quaternion[:-1], axis=-1) > 0.0)
    one = still(robot)
    np.testing.assert_allclose(one.position[0], p[0], atol=1e-12)


def test_poses_out_of_reach_are_held() -> None:
    robot = load("fivebar")
    x = np.tile(reference_pose(robot), (4, 1))
    x[0] += 9.0
    x[2] += 9.0
    motion = poses_along(robot, np.arange(4.0), x)
    np.testing.assert_array_equal(motion.ok, [False, True, False, True])
    np.testing.assert_array_equal(motion.position[0], motion.position[1])
    np.testing.assert_array_equal(motion.position[2], motion.position[1])
    with pytest.raises(UnreachableError):
        poses_along(robot, [0.0], x[:1])
    with pytest.raises(KinematicsError, match="times"):
        poses_along(robot, [0.0, 1.0], x[:1])
