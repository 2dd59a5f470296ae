"""Graphs read as sums and products of many terms."""

from __future__ import annotations

from nacelle.program.algebra.read import read_algebra, source
from nacelle.program.graph import Graph
from nacelle.program.symbol import symbols


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
