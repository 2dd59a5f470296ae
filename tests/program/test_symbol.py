"""Symbols record what is done with them: traced and evaluated, array code gives what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacelle.program.graph import Graph
from nacelle.program.symbol import Symbol, node_of, symbols
from nacelle.program.trace import trace
from nacelle.spatial import scalar
from support.random_programs import evaluate


def formula(x: Any) -> Any:
    a, b, c = x
    angle = scalar.atan2(a, b)
    return np.array([scalar.sin(angle) * c - b / (1.0 + a * a), scalar.maximum(a, -c), scalar.sqrt(c * c)])


def test_array_code_is_recorded() -> None:
    x = np.random.default_rng(0).normal(size=(5, 3))
    found = evaluate(trace(formula, {"x": (3,)}).program(), [x])[0]
    np.testing.assert_allclose(found, [formula(row) for row in x], rtol=1e-14)


def test_symbols_count_their_inputs() -> None:
    graph = Graph()
    table = symbols(graph, 3, (2, 2))
    assert table.shape == (2, 2)
    assert node_of(graph, table[1, 0]) == graph.input(5)
    assert isinstance(symbols(graph, 0, ()), Symbol)


def test_a_constant_has_its_value_and_an_input_none() -> None:
    graph = Graph()
    x = symbols(graph, 0, ())
    assert (x.sample, x.settled) == (None, x)
    two = Symbol(graph, node_of(graph, 2.0))
    assert (two.sample, two.settled) == (2.0, 2.0)
    assert node_of(graph, 2.0) == two.index
    for branch in (bool, float, lambda s: s < 1.0):
        with pytest.raises(TypeError, match="traced value"):
            branch(x)
