"""Step functions between points: the band that is kept is the whole spline, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

from nacelle.kinematics.trajectory.basis import interpolant
from nacelle.kinematics.trajectory.steps import Steps, interpolating_steps


def unrolled(steps: Steps, degree: int, points: int) -> np.ndarray:
    """D (control points, points - 1), with 1 before the band of a row and 0 after it."""
    count, width = steps.band.shape
    D = np.empty((count, points - 1))
    for i in range(count):
        start = i - steps.shift - steps.width - degree
        for k in range(1, points):
            c = k - start
            D[i, k - 1] = steps.band[i, c] if 0 <= c < width else float(c < 0)
    return D


@pytest.mark.parametrize("rest", [True, False])
@pytest.mark.parametrize(("points", "degree"), [(6, 3), (120, 3), (150, 5)])
def test_steps_from_zero_to_one(points: int, degree: int, rest: bool) -> None:
    times = np.cumsum(np.random.default_rng(points).uniform(0.5, 1.5, points))
    D = unrolled(interpolating_steps(times, degree, rest), degree, points)
    knots, _ = interpolant(np.zeros((points, 1)), times, degree, rest)
    F = BSpline(knots, D, degree)
    expected = (np.arange(points)[:, None] >= np.arange(1, points)).astype(float)
    np.testing.assert_allclose(F(times), expected, rtol=0, atol=1e-12)
    if rest:
        np.testing.assert_allclose(F(times[[0, -1]], 1), 0.0, atol=1e-10)
