"""Poses along measured coordinates: there and back, samples that are lost, limits, rates."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.identification.data.measured_path import measured_path
from nacelle.kinematics.flags import Flag
from support.library import library_robot

ROBOT = library_robot("fivebar")
T = np.linspace(0.0, 1.0, 80)
X = nacelle.reference_pose(ROBOT) + 0.03 * np.stack([np.sin(4.0 * T), np.cos(3.0 * T) - 1.0], axis=1)


def coordinates() -> np.ndarray:
    return nacelle.inverse_kinematics(ROBOT, X).actuators


def test_there_and_back_with_a_lost_sample() -> None:
    q = coordinates()
    q[40] = np.nan
    path = measured_path(ROBOT, q)
    kept = np.arange(80) != 40
    np.testing.assert_allclose(path.x[kept], X[kept], atol=1e-10)
    np.testing.assert_array_equal(path.good, kept)
    assert path.lost == pytest.approx(1.0 / 80.0)
    assert not np.any(path.gap)


def test_motion_of_the_nacelle_from_rates() -> None:
    """Twists and accelerations from which joint rates and accelerations were made."""
    random = np.random.default_rng(0)
    v, a = random.normal(size=(2, 80, 2))
    q, rate, acceleration = nacelle.joint_motion(ROBOT, X, v, a).actuators
    motion = measured_path(ROBOT, q).motion(rate, acceleration)
    np.testing.assert_allclose(motion.v, v, atol=1e-9)
    np.testing.assert_allclose(motion.a, a, atol=1e-7)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", motion.inverse, v), rate, atol=1e-9)


def test_coordinates_beyond_limits_are_not_sought() -> None:
    lower, upper = ROBOT.actuators[0].position
    assert np.isfinite(lower)
    assert np.isfinite(upper)
    far = coordinates()
    far[:, 0] = upper + 0.5 * (upper - lower)
    path = measured_path(ROBOT, far, most_lost=0.5)
    assert path.lost == 1.0
    assert np.all(path.beyond[:, 0])
    assert np.all(path.flags == Flag.UNREACHABLE)
    near = coordinates()[:1]
    near[0, 0] = upper + 0.01 * (upper - lower)
    assert not measured_path(ROBOT, near).beyond[0, 0]
