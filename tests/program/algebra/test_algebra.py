"""Algebra: algebra, read, write."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from nacelle.program.algebra.algebra import ONE, Algebra
from nacelle.program.algebra.read import read_algebra, source
from nacelle.program.algebra.write import write_algebra
from nacelle.program.graph import Graph
from nacelle.program.symbol import symbols
from nacelle.program.trace import linear, trace
from nacelle.spatial.scalar import sin, sqrt

# ---- Linear forms and powers: signs and factors are taken out, equal items are one


def test_equal_forms_are_one_item() -> None:
    algebra = Algebra()
    x, y = algebra.add_atom("input", 0), algebra.add_atom("input", 1)
    assert algebra.add_atom("input", 0) == x
    plain, doubled = algebra.add_linear({x: 1.0, y: -1.0}), algebra.add_linear({x: -2.0, y: 2.0})
    assert plain[1] == doubled[1]
    assert doubled[0] == -2.0 * plain[0]
    assert algebra.add_power({x: 2, y: -1}) == algebra.add_power({y: -1, x: 2})
    assert ONE == 0


def test_what_no_root_needs_is_forgotten() -> None:
    algebra = Algebra()
    x, y = algebra.add_atom("input", 0), algebra.add_atom("input", 1)
    scale, kept = algebra.add_linear({x: 1.0, y: 1.0})
    lost = algebra.add_power({x: 3})
    algebra.roots.append((scale, kept))
    copy = algebra.copy()
    algebra.prune()
    assert lost not in algebra.power
    assert lost in copy.power
    assert set(algebra.below(kept)) == {x, y}
    assert algebra.uses()[kept] == 1


# ---- Graphs read as sums and products of many terms


def test_sums_are_merged_and_products_are_powers() -> None:
    graph = Graph()
    a, b, c = symbols(graph, 0, (3,))
    root = (a + b) + (c - 2.0 * a) + a * a * b / c
    algebra = read_algebra(source(graph, [root.index]))
    _, item = algebra.roots[0]
    form = algebra.linear[item]
    # a + b + c - 2 a is b + c - a, beside the product.
    assert sorted(abs(value) for value in form.values()) == [1.0, 1.0, 1.0, 1.0]
    (product,) = [k for k in form if k in algebra.power]
    assert sorted(algebra.power[product].values()) == [-1, 1, 2]


def test_what_is_used_twice_is_known() -> None:
    graph = Graph()
    a, b = symbols(graph, 0, (2,))
    shared = a + b
    given = source(graph, [(shared * a).index, (shared * b).index])
    assert [given.shared[k] for k in (shared.index, given.roots[0])] == [True, False]


# ---- write
#
# A graph read as sums and products and written back has the value of the function it was traced from.


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
