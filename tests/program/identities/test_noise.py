"""Changes by rounding, to first order, against differences with 60 digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from nacelle.program.identities.noise import DIRECTIONS, UNIT, Directions, largest, of_operation, typical
from nacelle.program.program import ARITY, apply


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "neg", "sqrt", "sin", "cos"])
def test_first_order_changes(op: str) -> None:
    rng = np.random.default_rng(9)
    arguments = list(rng.uniform(0.3, 2.0, (ARITY[op], 4)))
    changes = list(UNIT * rng.normal(size=(ARITY[op], 2, 4, DIRECTIONS)))
    value = np.array([float(apply(op, *map(float, row))) for row in zip(*arguments, strict=True)])
    slope = {"sin": np.cos(arguments[0]), "cos": -np.sin(arguments[0])}.get(op)
    found = of_operation(op, value, arguments, changes, slope)
    with mpmath.workdps(60):
        for place in np.ndindex(found.shape):
            x = [mpmath.mpf(float(a[place[1]])) for a in arguments]
            dx = [mpmath.mpf(float(change[place])) for change in changes]
            moved = apply(op, *(a + d for a, d in zip(x, dx, strict=True)))
            assert found[place] == pytest.approx(float(moved - apply(op, *x)), rel=1e-12, abs=1e-29)


def test_directions() -> None:
    """About one unit of rounding, of either sign, the same whatever is drawn first."""
    ahead, one_by_one = Directions(), Directions()
    last = ahead[5000]
    table = np.array([one_by_one[k] for k in range(5001)])
    np.testing.assert_array_equal(table[-1], last)
    sizes = np.abs(table) / UNIT
    assert 0.5 <= sizes.min() < 0.51 < 1.49 < sizes.max() <= 1.5
    assert abs(np.mean(np.sign(table))) < 0.02
    np.testing.assert_allclose(typical(table), np.sqrt(np.mean(table**2, axis=1)), rtol=1e-14)
    np.testing.assert_array_equal(largest(table), np.abs(table).max(axis=1))
