"""Ranks, null spaces and ranges of matrices made of a given rank, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space as scipy_null_space
from scipy.linalg import subspace_angles

from nacelle.kinematics.mechanism.rank import null_space, range_of, rank_of


@pytest.mark.parametrize(("rows", "columns", "rank"), [(6, 4, 2), (4, 6, 4), (5, 5, 1), (7, 3, 3)])
def test_random_matrices(rows: int, columns: int, rank: int) -> None:
    rng = np.random.default_rng(rank)
    A = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))
    noisy = A + 1e-12 * rng.normal(size=A.shape)
    assert rank_of(noisy) == rank == np.linalg.matrix_rank(A)
    N, R = null_space(noisy), range_of(noisy)
    assert N.shape == (columns, columns - rank)
    np.testing.assert_allclose(N.T @ N, np.eye(columns - rank), rtol=0, atol=1e-14)
    np.testing.assert_allclose(A @ N, 0.0, atol=1e-10)
    if N.size:
        assert np.max(subspace_angles(N, scipy_null_space(A))) < 1e-10
    np.testing.assert_allclose(R @ R.T @ A, A, rtol=0, atol=1e-10)


def test_nothing_and_rounding_alone() -> None:
    assert rank_of(np.zeros((0, 3))) == rank_of(1e-13 * np.ones((3, 3))) == 0
    assert range_of(np.zeros((3, 0))).shape == (3, 0)
