"""The platform ahead of a sample."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.control.kind import DesiredMotion
from nacelle.control.pieces.ahead import Ahead, Errors, desired_middle, inertial_response, mid_sample
from nacelle.control.pieces.pose import Platform
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.library import library_robot

K = {"stiffness": np.array([100.0, 200.0]), "damping": np.array([10.0, 20.0])}


def test_errors_go_on_at_their_second_derivatives() -> None:
    e, rate, second, t = np.array([1.0, -2.0]), np.array([3.0, 0.5]), np.array([-4.0, 7.0]), 0.3
    later, faster = e + t * rate + t * t * second / 2.0, rate + t * second
    expected = K["stiffness"] * later + K["damping"] * faster
    errors = Errors(e, rate, second)
    np.testing.assert_allclose(errors.after(np.array([t]), K), expected)
    matrices = {name: np.diag(gains).ravel() for name, gains in K.items()}
    np.testing.assert_allclose(errors.after(np.array([t]), matrices), expected)


def test_the_middle_is_that_of_a_constant_acceleration() -> None:
    robot = library_robot("quattro")
    x, y = (np.asarray(part, dtype=float) for part in mechanism_of(robot).reference)
    v, a = np.array([0.5, -0.3, 0.2, 1.0]), np.array([3.0, 2.0, -4.0, 5.0])
    one = np.zeros(1)
    platform = Platform(x, y, v, np.zeros(4), one, one)
    ahead = mid_sample(robot, platform, a, {"period": np.array([1e-3]), "delay": np.array([5e-4])})
    np.testing.assert_allclose(ahead.x, x + 1e-3 * v + 5e-7 * a, atol=1e-15)
    np.testing.assert_allclose(ahead.v, v + 1e-3 * a)
    np.testing.assert_allclose(ahead.y, nacelle.inverse_kinematics(robot, ahead.x).y, atol=1e-10)


def test_the_desired_motion_goes_on_at_its_jerk() -> None:
    T, D, a, jerk = 1e-3, 4e-4, np.array([2.0, -1.0]), np.array([50.0, 20.0])
    k = {"period": np.array([T]), "delay": np.array([D])}
    motion = DesiredMotion(np.zeros(2), np.array([0.1, 0.2]), a)
    for started, expected in ((1.0, a + (D + 0.5 * T) * jerk), (0.0, a)):
        z = {"a_d": a - T * jerk, "started": np.array([started])}
        there = desired_middle(z, motion, k)
        np.testing.assert_allclose(there.a, expected)
        np.testing.assert_allclose(there.v, motion.v + (D + 0.5 * T) * a)


def test_what_forces_add_is_that_of_forward_dynamics() -> None:
    robot = library_robot("fivebar")
    x, y = mechanism_of(robot).reference
    v, force, more = np.array([0.4, 0.2]), np.array([1.0, 2.0]), np.array([0.7, -1.1])
    before, after = (nacelle.forward_dynamics(robot, x, v, f).acceleration for f in (force, force + more))
    added = inertial_response(robot, Ahead(x, y, v), np.zeros(2), more).acceleration
    np.testing.assert_allclose(added, after - before, rtol=1e-9)
    J = nacelle.jacobian(robot, x).inverse
    np.testing.assert_allclose(
        inertial_response(robot, Ahead(x, y, v), J.T @ more, 0.0 * more).acceleration, added
    )
