"""Reduction: independent columns in order, and the others from them."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.base_parameters.sampling import reduction


def test_the_most_independent_of_a_group_and_optional_columns():
    W = np.eye(5)[:, [0, 1, 2, 2, 3]] + 1e-3 * np.eye(5)[:, [1, 0, 4, 4, 4]]
    W[:, 2] += 1e-3 * np.eye(5)[3]
    # Column 2 is column 3 but for a thousandth: it is not worth being kept, if it need not be.
    assert reduction(W, [[0], [3, 1], [2]]).ascending.kept == (0, 1, 2, 3)
    found = reduction(W, [[0], [3, 1], [2]], optional=[2])
    assert found.ascending.kept == (0, 1, 3)
    assert found.least > 0.9
