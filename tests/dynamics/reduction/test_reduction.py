"""Reduction: independent columns in order, and the others from them."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.base_parameters.sampling import reduce_columns


def test_columns_are_kept_in_order_and_the_others_follow_from_them():
    first, second, third = np.random.default_rng(1).normal(size=(3, 8))
    W = np.stack([first, first + 2.0 * second, second, third, 0.0 * first], axis=1)
    found = reduce_columns(W, [2, 0, 1, 3, 4])
    assert found.kept == (2, 0, 3)
    assert found.gap > 1e6
    for kept, K in ((found.kept, found.K), (found.sort_columns.kept, found.sort_columns.K)):
        np.testing.assert_allclose(W[:, list(kept)] @ K, W, atol=1e-14)
        assert not np.any(K[:, 4])
    assert found.sort_columns.kept == (0, 2, 3)
