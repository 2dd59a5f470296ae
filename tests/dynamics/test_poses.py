"""Poses that a robot can hold: reachable, within limits, far from singularities, the same for a seed."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.dynamics.poses import sample_poses
from support.uncompiled import any_robot


def test_poses_are_fit_for_work() -> None:
    robot = any_robot("fivebar")
    x = sample_poses(robot, 50, seed=3)
    assert x.shape == (50, 2)
    assert np.array_equal(x, sample_poses(robot, 50, seed=3))
    assert not np.array_equal(x, sample_poses(robot, 50, seed=4))
    assert np.all(nacelle.inverse_kinematics(robot, x).flags == 0)
    assert np.all(nacelle.jacobian(robot, x).conditioning > 1e-3)
    assert np.ptp(x, axis=0).min() > 0.02 * robot.size
