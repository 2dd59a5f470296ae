"""Reduction: independent columns in order, and the others from them."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.reduction import reduction


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
