"""Fourier series: the sum, the period, rotation vectors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.kinematics.trajectory import Fourier, TrajectoryError


def test_the_series() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 3))
    center = np.array([0.1, 0.2, 0.3])
    found = Fourier(center, a, b, motion="xy+rz", frequency=0.5)
    assert found.duration == 2.0
    for t in rng.uniform(0, 2, 20):
        k = np.arange(1, 5)[:, None] * np.pi
        y = (a * np.sin(k * t) + b * np.cos(k * t)).sum(axis=0)
        ddy = -(k**2 * (a * np.sin(k * t) + b * np.cos(k * t))).sum(axis=0)
        np.testing.assert_allclose(found(t).x, center + y, atol=1e-13)
        np.testing.assert_allclose(found(t).a, ddy, rtol=1e-12, atol=1e-10)


def test_it_is_periodic() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 2, 6))
    found = Fourier([0, 0, 0, 0, 0, 0, 1], a, b, motion="se3", frequency=2.0, duration=1.3)
    for here, later in zip(found([0.1, 0.7]), found([0.6, 1.2]), strict=True):
        np.testing.assert_allclose(here, later, atol=1e-9)


def test_rotations_are_about_the_orientation_of_the_centre() -> None:
    a, b = np.random.default_rng(2).normal(size=(2, 2, 6))
    center = Rotation.from_rotvec([0.3, 0.4, -1.0])
    found = Fourier([0, 0, 0, *center.as_quat()], a, b, motion="se3", frequency=1.0)
    t = 0.37
    k = 2 * np.pi * np.arange(1, 3)[:, None]
    r = (a * np.sin(k * t) + b * np.cos(k * t)).sum(axis=0)[3:]
    turned = Rotation.from_quat(found(t).x[3:]) * (Rotation.from_rotvec(r) * center).inv()
    assert turned.magnitude() < 1e-14


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (np.zeros((2, 2)), np.zeros((2, 3)), r"a has shape \(2, 2\), not \(harmonics, 3\)"),
        (np.zeros((2, 3)), np.zeros((1, 3)), "a has 2 harmonics, b has 1"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "a has shape"),
        (np.zeros((2, 3)), np.array([[0, 0, 0], [0, np.inf, 0]]), "b of harmonic 2 is not finite"),
    ],
)
def test_errors(a: np.ndarray, b: np.ndarray, text: str) -> None:
    with pytest.raises(TrajectoryError, match=text):
        Fourier([0, 0, 0], a, b, motion="xyz", frequency=1.0)
