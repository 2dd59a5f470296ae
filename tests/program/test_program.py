"""Programs: every operation against Python's own, over floats, batches and mpmath; faults are refused."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from nacelle.program.program import ARITY, Program, Variable

PLAIN: dict[str, Any] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a, "abs": abs, "min": min, "max": max, "sqrt": math.sqrt, "sin": math.sin,
    "cos": math.cos, "tanh": math.tanh, "exp": math.exp, "atan2": math.atan2,
    "sign": lambda a: (a > 0.0) - (a < 0.0), "floor": lambda a: a // 1.0,
    "where": lambda c, a, b: a if c > 0.0 else b,
}  # fmt: skip


@pytest.mark.parametrize("op", PLAIN)
def test_operations(op: str) -> None:
    n = ARITY[op]
    code = (*(("input", k) for k in range(n)), (op, *range(n)))
    program = Program(op, (Variable("x", (n,)),), (Variable("y"),), code, (n,))
    program.check()
    x = np.random.default_rng(6).normal(size=(n, 20))
    x[0] = np.abs(x[0]) if op == "sqrt" else x[0]
    expected = [float(PLAIN[op](*map(float, column))) for column in x.T]
    np.testing.assert_allclose([program.evaluate(column.tolist())[0] for column in x.T], expected, rtol=1e-15)
    np.testing.assert_allclose(program.evaluate(list(x))[0], expected, rtol=1e-15)
    precise = [float(program.evaluate([mpmath.mpf(value) for value in column])[0]) for column in x.T]
    np.testing.assert_allclose(precise, expected, rtol=1e-14)


@pytest.mark.parametrize("step", [("add", 0, 1), ("cube", 0), ("input", 1), ("mul", 0), ("neg", -1)])
def test_faults(step: tuple[Any, ...]) -> None:
    program = Program("faulty", (Variable("x"),), (Variable("y"),), (("input", 0), step), (1,))
    with pytest.raises(ValueError, match="instruction 1 of faulty"):
        program.check()
