"""Elimination against NumPy's least squares."""

from __future__ import annotations

from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.program.cost import count
from nacelle.program.trace import trace
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.solve import least_squares
from support.compare import assert_same


@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_least_squares(unknowns: int, more: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(unknowns + more, unknowns))
    B = rng.normal(size=(unknowns + more, columns))
    X, left = least_squares(M, B)
    assert X.shape == (unknowns, columns)
    assert left.shape == B.shape
    if not columns:
        return
    condition = np.linalg.cond(M)
    assert_same(X, np.linalg.lstsq(M, B)[0], 1e-14 * condition**2)
    scale = np.max(np.abs(B))
    assert np.max(np.abs(left - (B - M @ X))) < 1e-14 * condition * scale
    # What is left is perpendicular to the range of M.
    assert np.max(np.abs(M.T @ left)) < 1e-13 * condition * scale


@given(st.integers(1, 5), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_equations_that_can_be_met(unknowns: int, more: int, seed: int) -> None:
    """Consistent equations: nothing is left, and the error grows with the condition, not with its square."""
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(unknowns + more, unknowns)) * 10.0 ** rng.uniform(-4, 0, unknowns)
    expected = rng.normal(size=(unknowns, 3))
    X, left = least_squares(M, M @ expected)
    condition = np.linalg.cond(M)
    assert_same(X, expected, 1e-14 * condition)
    assert np.max(np.abs(left)) < 1e-14 * np.max(np.abs(M @ expected)) * 10


@pytest.mark.parametrize("columns", [1, 3])
def test_over_other_scalars(columns: int) -> None:
    rng = np.random.default_rng(3)
    M, B = rng.normal(size=(4, 5, 3)), rng.normal(size=(4, 5, columns))
    X, left = least_squares(from_samples(M, 2), from_samples(B, 2))
    for k in range(4):
        one = least_squares(M[k], B[k])
        assert_same(to_samples(X)[k], one.X, 1e-14)
        assert_same(to_samples(left)[k], one.left, 1e-13)
    with mpmath.workdps(40):
        high = [np.vectorize(mpmath.mpf, otypes=[object])(A[0]) for A in (M, B)]
        exact = least_squares(*high)
        residual = high[0].T @ (high[1] - high[0] @ exact.X)
        assert max(abs(entry) for entry in residual.ravel()) < mpmath.mpf("1e-37")
    assert_same(least_squares(M[0], B[0]).X, exact.X.astype(float), 1e-14)


@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_zeros_of_traced_matrices_leave_no_operation(unknowns: int, more: int, seed: int) -> None:
    """A block and one more unknown that shares no row with it: as many operations as both alone."""
    rng = np.random.default_rng(seed)
    rows = unknowns + more
    B = rng.normal(size=(rows + 1, 2))

    def solved(M: np.ndarray, *, apart: bool) -> np.ndarray:
        """X of [M 0; 0 1] or, without the last row and column, of M."""
        whole = np.zeros((rows + 1, unknowns + 1), dtype=object)
        whole[:rows, :unknowns], whole[rows, unknowns] = M, 1.0
        return least_squares(whole, B).X if apart else least_squares(M, B[:rows]).X

    shapes = {"M": (rows, unknowns)}
    alone, both = (trace(partial(solved, apart=apart), shapes, "solved").program() for apart in (False, True))
    assert count(both).total == count(alone).total
    M = rng.normal(size=(rows, unknowns))
    assert np.array_equal(solved(M, apart=True)[:unknowns], solved(M.astype(object), apart=False))
    assert np.array_equal(solved(M, apart=True)[unknowns], B[rows])
