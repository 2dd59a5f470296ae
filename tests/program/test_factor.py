"""Factoring saves the products that it says, and no value changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import pytest

from nacelle.program.algebra.read import read_algebra, source
from nacelle.program.algebra.write import write_algebra
from nacelle.program.cost import count
from nacelle.program.factor import factor
from nacelle.program.trace import linear, trace

X = (1.25, -0.75, 3.5, 0.625, 2.0)


@pytest.mark.parametrize(
    ("function", "products"),
    [
        (lambda a, b, c, d, e: a * b + a * c - a * d, 1),
        (lambda a, b, c, d, e: a * b * c + a * b * d + a * e, 3),
        (lambda a, b, c, d, e: b / a + c / a - d / a, 1),
        (lambda a, b, c, d, e: a * c + a * d + b * c + b * d, 1),
        (lambda a, b, c, d, e: a * b + c * d + e, 2),
        (lambda a, b, c, d, e: 2.0 * a * b - 2.0 * a * c, 2),
    ],
)
def test_a_common_factor_is_taken_out(function: Callable[..., Any], products: int) -> None:
    traced = trace(lambda x: function(*x), {"x": (5,)})
    algebra = read_algebra(source(traced.graph, traced.roots))
    saved = factor(algebra)
    graph, roots = write_algebra(algebra)
    program = linear("factored", graph, traced.inputs, traced.outputs, roots)
    assert count(program).mul == products
    assert count(traced.program()).mul - products == saved
    assert abs(program.evaluate([mpmath.mpf(x) for x in X])[0] - function(*X)) < 1e-15
