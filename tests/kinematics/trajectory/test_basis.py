"""Cumulative B-splines, their derivatives and interpolants against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

from nacelle.kinematics.trajectory.basis import clamped_knots, cumulative, interpolant


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_cumulative_functions_make_the_spline(degree: int) -> None:
    rng = np.random.default_rng(degree)
    knots, points = clamped_knots(9, degree, 2.0), rng.normal(size=(9, 2))
    spline, t = BSpline(knots, points, degree), np.append(rng.uniform(0.0, 2.0, 40), [0.0, 2.0])
    first, parts = cumulative(knots, degree, t)
    for order, C in enumerate(parts):
        steps = np.diff(points, axis=0)[first[:, None] + np.arange(degree)]
        found = np.einsum("mj,mjk->mk", C, steps) + (points[first] if order == 0 else 0.0)
        inside = t < 2.0 if order else t <= 2.0
        np.testing.assert_allclose(found[inside], spline(t, order)[inside], rtol=0, atol=1e-10)


@pytest.mark.parametrize("degree", [3, 5, 7])
def test_interpolants_from_rest_to_rest(degree: int) -> None:
    rng = np.random.default_rng(degree)
    times, values = np.cumsum(rng.uniform(0.5, 1.5, 10)), rng.normal(size=(10, 3))
    spline = BSpline(*interpolant(values, times, degree, rest=True), degree)
    np.testing.assert_allclose(spline(times), values, rtol=0, atol=1e-12)
    for order in range(1, (degree + 1) // 2):
        np.testing.assert_allclose(spline(times[[0, -1]], order), 0.0, atol=1e-9)
