"""Paths of actuators: angles without jumps, as NumPy unwraps them; lengths as they are."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.forward.actuator_path import (
    actuator_scales,
    between,
    unwound,
    unwound_path,
    within_half_turn,
)
from support.uncompiled import any_robot


def test_angles_within_half_a_turn() -> None:
    angles = np.array([-np.pi, np.pi, 3.5 * np.pi, 0.1, -7.0])
    found = within_half_turn(angles)
    assert np.all((found >= -np.pi) & (found < np.pi))
    np.testing.assert_allclose(np.exp(1j * found), np.exp(1j * angles), atol=1e-14)


def test_a_path_has_no_jumps() -> None:
    robot = any_robot("fivebar")
    smooth = np.linspace(0.0, 12.0, 60)[:, None] * [1.0, -0.7] + [0.3, 2.0]
    found = unwound_path(robot, within_half_turn(smooth), smooth[0])
    np.testing.assert_allclose(found, np.unwrap(smooth, axis=0), atol=1e-12)
    np.testing.assert_allclose(
        unwound(robot, within_half_turn(smooth[-1]), smooth[-1]), smooth[-1], atol=1e-12
    )


def test_lengths_stay() -> None:
    robot = any_robot("gough-stewart")
    q = np.random.default_rng(0).uniform(5.0, 9.0, (4, 6))
    np.testing.assert_array_equal(unwound_path(robot, q, q[0] - 7.0), q)
    np.testing.assert_array_equal(actuator_scales(robot), np.full(6, robot.size))
    np.testing.assert_array_equal(actuator_scales(any_robot("fivebar")), [1.0, 1.0])


def test_straight_lines_end_exactly() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 3))
    found = between(a, b, np.array([0.25, 1.0]))
    np.testing.assert_allclose(found[0], a + 0.25 * (b - a), atol=1e-15)
    assert np.array_equal(found[1], b)
