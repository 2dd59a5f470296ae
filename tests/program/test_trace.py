"""A traced function has the values of the function itself, over all operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacelle.program.trace import graph_of, linear, trace
from nacelle.spatial.scalar import (
    absolute,
    atan2,
    cos,
    cross,
    exp,
    maximum,
    minimum,
    product,
    sign,
    sin,
    sqrt,
    tanh,
)
from nacelle.spatial.scalar import where as choose
from nacelle.spatial.solve import solve


def function(A: Any, b: Any, s: Any) -> dict[str, Any]:
    return {
        "vector": cross(product(A, b), b) + sin(s) * b,
        "solved": solve(A, b),
        "scalar": atan2(exp(-s), cos(s)) * minimum(s, b[0]) - maximum(b[1], tanh(s)) / sqrt(absolute(b[2])),
        "chosen": choose(b[0] - s, A[0] * sign(s), A[1] ** 3),
    }


@pytest.mark.parametrize("seed", range(4))
def test_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, b, s = rng.normal(size=(3, 3)) + 2.0 * np.eye(3), rng.normal(size=3), float(rng.normal())
    program = trace(function, {"A": (3, 3), "b": (3,), "s": ()}).program()
    assert [(out.name, out.shape) for out in program.outputs] == [
        ("vector", (3,)), ("solved", (3,)), ("scalar", ()), ("chosen", (3,)),
    ]  # fmt: skip
    flat = [*A.ravel().tolist(), *b.tolist(), s]
    expected = np.concatenate([np.ravel(value) for value in function(A, b, s).values()])
    np.testing.assert_allclose(program.evaluate(flat), expected, rtol=1e-12)
    np.testing.assert_allclose(program.evaluate(flat)[3:6], np.linalg.solve(A, b), rtol=1e-12)
    graph, roots = graph_of(program)
    again = linear(program.name, graph, program.inputs, program.outputs, roots)
    assert again.evaluate(flat) == program.evaluate(flat)
