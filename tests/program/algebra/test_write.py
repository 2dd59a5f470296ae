"""A graph read as sums and products and written back has the value of the function it was traced from."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from nacelle.program.algebra.read import read_algebra, source
from nacelle.program.algebra.write import write_algebra
from nacelle.program.trace import linear, trace
from nacelle.spatial.scalar import sin, sqrt


def function(x: Any) -> Any:
    a, b, c, d = x
    s = sqrt(a * a + b * b)
    u = (a - 3.0 * b) / s - (c + d) * (c - d) / (s * s * s)
    return [u, u * u * u - 0.25 * (a + 2.0 * (b - (c - u))), sin(-u) * (-a) / (d * s), s * s - a * a]


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("spread", [True, False])
def test_values_stay(keep: bool, spread: bool) -> None:
    traced = trace(function, {"x": (4,)})
    graph, roots = write_algebra(read_algebra(source(traced.graph, traced.roots), keep, spread))
    program = linear("written", graph, traced.inputs, traced.outputs, roots)
    program.check()
    with mpmath.workdps(40):
        for row in np.random.default_rng(7).normal(size=(5, 4)).tolist():
            x = [mpmath.mpf(value) for value in row]
            for found, expected in zip(program.evaluate(x), function(x), strict=True):
                assert abs(found - expected) < 1e-37 * (1 + abs(expected))
