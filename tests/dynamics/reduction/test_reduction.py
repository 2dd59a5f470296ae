"""Reduction: independent columns in order, and the others from them."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.base_parameters.sampling import reduction


@pytest.mark.parametrize("seed", range(5))
def test_random_columns(seed):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(40, 5)) @ rng.integers(-2, 3, size=(5, 12)) * 10.0 ** rng.integers(-3, 4, size=12)
    W[:, 3] = 0.0
    order = rng.permutation(12)
    found = reduction(W, [[k] for k in order])
    assert len(found.kept) == np.linalg.matrix_rank(W / np.maximum(np.linalg.norm(W, axis=0), 1e-300))
    np.testing.assert_allclose(W[:, found.kept] @ found.K, W, atol=1e-10 * np.abs(W).max())
    assert np.all(found.K[:, 3] == 0.0)
    assert found.gap > 1e6
    # The first column in order that is not zero leads.
    assert next(k for k in order if k != 3 and np.any(W[:, k])) in found.kept


def test_the_most_independent_of_a_group_and_optional_columns():
    W = np.eye(5)[:, [0, 1, 2, 2, 3]] + 1e-3 * np.eye(5)[:, [1, 0, 4, 4, 4]]
    W[:, 2] += 1e-3 * np.eye(5)[3]
    # Column 2 is column 3 but for a thousandth: it is not worth being kept, if it need not be.
    assert reduction(W, [[0], [3, 1], [2]]).ascending.kept == (0, 1, 2, 3)
    found = reduction(W, [[0], [3, 1], [2]], optional=[2])
    assert found.ascending.kept == (0, 1, 3)
    assert found.least > 0.9
