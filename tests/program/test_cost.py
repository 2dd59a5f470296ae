"""Counts of operations against a count by hand."""

from __future__ import annotations

from typing import Any

from nacelle.program.cost import WEIGHTS, Count, cost, cost_of, count
from nacelle.program.trace import trace
from nacelle.spatial.scalar import atan2, cos, floor, maximum, sign, sin, sqrt


def function(x: Any) -> Any:
    a, b, c = x
    # 3 products, 1 quotient, 4 sums and differences; negations are free, what is written twice counts once.
    r = sqrt(a * a + b * b)
    return [-(a - b) / r, sin(c) * r, atan2(a - b, cos(c)), maximum(sign(c) + 2.0, a + b), floor(c)]


def test_count_and_cost() -> None:
    traced = trace(function, {"x": (3,)})
    program = traced.program()
    found = count(program)
    assert found == Count(add=4, mul=4, div=1, sqrt=1, trig=3, sign=1, other=2)
    assert found.total == 8
    assert str(found) == "8 operations: 4 +/-, 4 ×/÷ (1 ÷), 1 sqrt, 3 trig, 1 sign, 2 other"
    names = ["add"] * 4 + ["mul"] * 3 + ["div", "sqrt", "sin", "cos", "atan2", "sign", "max", "floor"]
    assert cost(program) == cost_of(traced.graph, traced.roots) == sum(WEIGHTS[name] for name in names)
