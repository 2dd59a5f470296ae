"""Quantities: batches become rows, names belong to their numbers."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.report.results.quantity import alone, quantity_of_rows


def test_a_batch_becomes_a_row_of_samples() -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    one = quantity_of_rows("forces", [("a", "N"), ("b", "N m"), ("c", "N"), ("d", "")], values)
    np.testing.assert_array_equal(one.values, values.reshape(6, 4))
    assert one.groups() == {"N": [0, 2], "N m": [1], "-": [3]}
    assert alone("factor", "-", 2.0).single
    with pytest.raises(ValueError, match="2 names"):
        quantity_of_rows("forces", [("a", "N"), ("b", "N")], values)
