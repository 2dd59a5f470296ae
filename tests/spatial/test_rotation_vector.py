"""Rotation vectors against SciPy, the matrix exponential and differences."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from nacelle.spatial.rotation import skew
from nacelle.spatial.rotation_vector import left_jacobian, left_jacobian_bias, log_rotation, rotation_vector

DIRECTION = np.array([2.0, -1.0, 2.0]) / 3.0
RATE = np.array([0.4, -0.7, 0.2])


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.031, 0.032, 1.0, 3.1])
def test_rotation_and_its_logarithm(angle: float) -> None:
    r = angle * DIRECTION
    R = rotation_vector(r)
    np.testing.assert_allclose(R, expm(skew(r)), rtol=0, atol=2e-15)
    np.testing.assert_allclose(log_rotation(R), Rotation.from_matrix(R).as_rotvec(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.0316, 0.0317, 1.0, 3.1])
def test_angular_velocity_and_acceleration_by_differences(angle: float) -> None:
    """R' = skew(w) R with w = J r', and w' = bias along r + t r'; derivatives with 40 digits."""
    r = angle * DIRECTION

    def w(t: float) -> np.ndarray:
        return left_jacobian(r + t * RATE) @ RATE

    with mpmath.workdps(40):
        numbers = [mpmath.mpf(float(x)) for x in r], [mpmath.mpf(float(x)) for x in RATE]
        K, L = (mpmath.matrix(skew(np.array(v, dtype=object)).tolist()) for v in numbers)
        h = mpmath.mpf(10) ** -13
        R_dot = (mpmath.expm(K + h * L) - mpmath.expm(K - h * L)) / (2 * h)
        W = np.array((R_dot * mpmath.expm(K).T).tolist(), dtype=float)
    np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], w(0.0), rtol=0, atol=2e-13)
    h = 1e-3
    slope = (8.0 * (w(h) - w(-h)) - (w(2 * h) - w(-2 * h))) / (12.0 * h)
    np.testing.assert_allclose(left_jacobian_bias(r, RATE), slope, rtol=0, atol=1e-11)
