"""Pairs that occur in several places are computed once, and no value changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nacelle.program.algebra.algebra import Algebra
from nacelle.program.algebra.read import read_algebra, source
from nacelle.program.algebra.write import write_algebra
from nacelle.program.cost import count
from nacelle.program.pair import pair_products, pair_sums
from nacelle.program.trace import linear, trace


@pytest.mark.parametrize(
    ("pair", "function", "before", "after"),
    [
        (pair_sums, lambda a, b, c, d: [a + c + b, a + d + b, b + c + d + a], 7, 4),
        # The ratio of the coefficients counts, not their size or sign.
        (pair_sums, lambda a, b, c, d: [a + c - 2.0 * b, d + 6.0 * b - 3.0 * a], 7, 5),
        (pair_products, lambda a, b, c, d: [a * c * b, a * d * b, a * (d * (c * b))], 7, 4),
        (pair_products, lambda a, b, c, d: [a * b, c * d], 2, 2),
    ],
)
def test_pairs(
    pair: Callable[[Algebra, int], int], function: Callable[..., Any], before: int, after: int
) -> None:
    traced = trace(lambda x: function(*x), {"x": (4,)})
    algebra = read_algebra(source(traced.graph, traced.roots))
    assert (pair(algebra, 100) > 0) == (after < before)
    graph, roots = write_algebra(algebra)
    program = linear("paired", graph, traced.inputs, traced.outputs, roots)
    assert count(traced.program()).total == before
    assert count(program).total == after
    x = np.random.default_rng(8).normal(size=4)
    np.testing.assert_allclose(program.evaluate(x.tolist()), function(*x), rtol=1e-13)
