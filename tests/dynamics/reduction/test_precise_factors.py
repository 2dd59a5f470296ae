"""Factors in many digits: those that columns were made with."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from nacelle.dynamics.reduction.precise_factors import precise_factors
from nacelle.dynamics.reduction.reduction import reduction


@pytest.mark.parametrize("seed", range(3))
def test_factors_are_rounded_once(seed):
    """Columns that nearly depend on each other: factors are those that the others were made with."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(12, 1)) + 1e-4 * rng.normal(size=(12, 4))
    A = np.where(rng.random((4, 6)) < 0.5, rng.normal(size=(4, 6)), 0.0)
    kept, factors = ([[Fraction(value) for value in row] for row in M.T.tolist()] for M in (B, A))
    made = [
        [sum(a * b for a, b in zip(column, row, strict=True)) for row in zip(*kept, strict=True)]
        for column in factors
    ]
    columns = [[Decimal(f.numerator) / Decimal(f.denominator) for f in column] for column in [*kept, *made]]
    found = reduction(np.array(columns, dtype=float).T, [[k] for k in range(10)], nothing=1e-9)
    assert found.kept == (0, 1, 2, 3)
    assert np.max(np.abs(found.K[:, 4:] - A)) > 1e-15
    for k, solved in enumerate(precise_factors(found, columns)[4:]):
        expected = {place: A[place, k] for place in np.flatnonzero(A[:, k]).tolist()}
        assert {place: float(factor) for place, factor in solved.items()} == pytest.approx(
            expected, rel=3e-16
        )
