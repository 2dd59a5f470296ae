"""Small linear systems against NumPy."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from nacelle.spatial.solve import solve, solve_batch


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
@pytest.mark.parametrize("dtype", [float, object])
def test_a_system_without_unknowns(shape: tuple[int, ...], dtype: type) -> None:
    assert solve(np.zeros((0, 0), dtype=dtype), np.zeros(shape, dtype=dtype)).shape == shape


@pytest.mark.parametrize("kind", ["general", "spd"])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_floats_and_mpmath_against_numpy(kind: str, columns: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    A, b = rng.normal(size=(4, 4)), rng.normal(size=(4, *columns))
    if kind == "spd":
        A = A @ A.T + np.eye(4)
    expected = np.linalg.solve(A, b)
    np.testing.assert_allclose(solve(np.tril(A) if kind == "spd" else A, b, kind), expected, rtol=1e-10)
    precise = solve(np.vectorize(mpmath.mpf, otypes=[object])(A), b.astype(object), kind)
    np.testing.assert_allclose(precise.astype(float), expected, rtol=1e-10)


def test_singular_samples_are_nan_and_leave_others_alone() -> None:
    A, b = np.stack([np.eye(2), np.ones((2, 2)), 2.0 * np.eye(2)]), np.ones((3, 2, 1))
    np.testing.assert_array_equal(solve_batch(A, b)[..., 0], [[1, 1], [np.nan] * 2, [0.5, 0.5]])
