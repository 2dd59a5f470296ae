"""Recorded floats: what was computed at one sample is computed again at others."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.program.graph import Graph
from nacelle.program.program import Variable
from nacelle.program.trace import linear
from nacelle.spatial.recorded import Recorded
from nacelle.spatial.scalar import atan2, cos, maximum, sin, sqrt


def function(a: Any, b: Any, c: Any) -> Any:
    d = (a - 2.0) * b / (1.0 + c**2)
    return abs(d) * sin(a) + cos(b) * maximum(a, c) - atan2(sqrt(c), 3.0 - d)


def test_a_tape_is_run_at_other_numbers() -> None:
    graph, sample = Graph(), (0.3, 1.7, 2.5)
    value = function(*(Recorded(number, graph, graph.input(k)) for k, number in enumerate(sample)))
    inputs = [Variable(name) for name in "abc"]
    program = linear("f", graph, inputs, [Variable("f")], [value.node])
    rng = np.random.default_rng(5)
    for numbers in (sample, *rng.uniform(0.1, 1.9, (20, 3)).tolist()):
        a, b, c = numbers
        d = (a - 2.0) * b / (1.0 + c * c)
        # The negation that abs takes away is that of the sample, where d < 0.
        expected = -d * np.sin(a) + np.cos(b) * max(a, c) - np.arctan2(np.sqrt(c), 3.0 - d)
        np.testing.assert_allclose(program.evaluate(numbers)[0], expected, rtol=1e-13)


def test_a_recorded_number_is_a_float() -> None:
    graph = Graph()
    a = Recorded(2.0, graph, graph.input(0))
    assert isinstance(a, float)
    assert a * a == 4.0
    assert type(a * 0.0) is float
    assert np.array_equal(a * np.array([1.0, 3.0]), [2.0, 6.0])
