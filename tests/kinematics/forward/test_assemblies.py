"""All assemblies at given coordinates of the actuators."""

from __future__ import annotations

import numpy as np

import nacelle
from support import leg_robots


def test_all_assemblies() -> None:
    """The pose from which coordinates were made is among the assemblies; signs tell which is whose."""
    robot = leg_robots.planar(0, ("RPR",) * 3)
    rng = np.random.default_rng(3)
    x = nacelle.reference_pose(robot) + rng.uniform(-1.0, 1.0, (20, 3)) * [0.3, 0.3, 1.2]
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    x, q = x[joints.ok], joints.actuators[joints.ok]
    found = nacelle.forward_kinematics(robot, q, assemblies=True)
    several = 0
    for pose, own, all_of_them in zip(x, q, found.assemblies, strict=True):
        apart = all_of_them.x - pose
        apart[:, 2] = np.angle(np.exp(1j * apart[:, 2]))
        assert np.min(np.max(np.abs(apart), axis=1)) < 1e-8
        assert all_of_them.signs.shape == (len(all_of_them.x), 1)
        several += len(all_of_them.x) > 1
        again = nacelle.inverse_kinematics(robot, all_of_them.x, limits=False)
        assert np.max(np.abs(again.actuators - own)) < 1e-10
    assert several > 5
    one = nacelle.forward_kinematics(robot, q[0], assemblies=True)
    assert len(one.assemblies.x) >= 1
    assert nacelle.forward_kinematics(robot, q[0]).assemblies is None
