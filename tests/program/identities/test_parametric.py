"""Identities of programs with numbers as inputs: they hold for all numbers, not at the sample alone."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from nacelle.program.cost import count
from nacelle.program.identities.parametric import split_with_identities
from nacelle.program.identities.samples import PreciseInputs
from nacelle.program.split import split
from nacelle.program.trace import trace
from nacelle.spatial.scalar import Array, pack


def hidden(p: Array, x: Array) -> Array:
    """(p_0 + p_1) x_0, spread; and a product that both outputs have."""
    return pack([p[0] * x[0] + p[1] * x[0], (p[0] + p[1]) * x[0] * x[1]])


def test_products_that_are_equal_for_all_numbers_are_one() -> None:
    sample = (0.3, 0.8)
    parts = split(trace(hidden, {"p": (2,), "x": (2,)}), sample, minimised=False)
    random = np.random.default_rng(0)

    def rows(count: int) -> tuple[tuple[Decimal, ...], ...]:
        return tuple(tuple(Decimal(float(v)) for v in random.uniform(0.5, 1.5, 4)) for _ in range(count))

    found = split_with_identities(parts, sample, PreciseInputs(rows(4), rows(2), (0.0,) * 4))
    assert count(found.body).total == 2
    assert count(found.body).total < count(parts.body).total
    for numbers in ((0.3, 0.8), (1.7, -0.2)):
        prepared = found.prologue.evaluate(list(numbers))
        x = [0.6, -1.1]
        expected = [(numbers[0] + numbers[1]) * x[0], (numbers[0] + numbers[1]) * x[0] * x[1]]
        np.testing.assert_allclose(found.body.evaluate([*prepared, *x]), expected, rtol=1e-14)
