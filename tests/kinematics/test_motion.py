"""Rates of bodies and joints: derivatives of where they are along a motion."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.kinematic_model import body_poses
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import body_motion, joint_motion
from support.uncompiled import any_robot, run_uncompiled, solve_uncompiled


@pytest.mark.parametrize("name", ["fivebar", "3rrr"])
def test_rates_are_derivatives(name: str) -> None:
    """Central differences along x + v t + a t^2 / 2, of coordinates and of the bodies' origins."""
    robot = any_robot(name)
    x0 = mechanism_of(robot).reference[0]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n)) * 0.1
    h = 1e-4
    t = np.array([-h, 0.0, h])[:, None]
    path = x0 + v * t + 0.5 * a * t * t
    solved = nacelle.inverse_kinematics(robot, path)
    joints, bodies = joint_motion(robot, x0, v, a), body_motion(robot, x0, v, a)
    q = solved.actuators
    position, rate, acceleration = joints.actuators
    np.testing.assert_allclose(position, q[1], atol=1e-12)
    np.testing.assert_allclose(rate, (q[2] - q[0]) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(acceleration, (q[2] - 2 * q[1] + q[0]) / h**2, atol=1e-5)
    p = run_uncompiled(body_poses, robot, path, solve_uncompiled(robot, path))["p"]
    np.testing.assert_allclose(bodies.twist[:, :3], (p[2] - p[0]) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(bodies.acceleration[:, :3], (p[2] - 2 * p[1] + p[0]) / h**2, atol=1e-5)
