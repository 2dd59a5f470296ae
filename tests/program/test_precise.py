"""Programs with 50 digits: against mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from nacelle.program.precise import evaluate
from nacelle.program.program import ARITY, Program, Variable

VALUES = (0.3, -0.7, 1e-9, -1e-20, 2.5, -31.0, 1234.5, 1e6, math.pi, math.pi / 2, 0.5)


def program_of(op: str) -> Program:
    count = ARITY[op]
    code = (*(("input", k) for k in range(count)), (op, *range(count)))
    return Program(op, tuple(Variable(f"x{k}") for k in range(count)), (Variable("y"),), code, (count,))


@pytest.mark.parametrize("op", ["sqrt", "sin", "cos", "tanh", "exp", "atan2", "div"])
def test_functions_are_correctly_rounded(op: str) -> None:
    program = program_of(op)
    functions = {"div": mpmath.fdiv}
    with mpmath.workdps(60):
        for a in VALUES:
            pairs = [(a,)] if ARITY[op] == 1 else [(a, b) for b in (*VALUES, -2.5)]
            for arguments in pairs:
                if (op == "sqrt" and a < 0) or (op == "exp" and a > 700):
                    continue
                wanted = float(functions.get(op, getattr(mpmath, op, None))(*map(mpmath.mpf, arguments)))
                assert evaluate(program, arguments) == [wanted], (op, arguments)


@pytest.mark.parametrize(
    ("op", "arguments", "wanted"),
    [
        ("sign", (-0.0,), 0.0),
        ("sign", (-3.0,), -1.0),
        ("sign", (math.nan,), math.nan),
        ("floor", (-0.5,), -1.0),
        ("floor", (-3.0,), -3.0),
        ("floor", (2.75,), 2.0),
        ("floor", (1e300,), 1e300),
        ("floor", (-math.inf,), -math.inf),
        ("floor", (math.nan,), math.nan),
        ("where", (math.nan, 1.0, 2.0), 2.0),
        ("where", (1e-300, 1.0, 2.0), 1.0),
        ("min", (1.0, math.nan), math.nan),
        ("max", (1.0, 2.0), 2.0),
        ("sqrt", (-1.0,), math.nan),
        ("div", (1.0, 0.0), math.inf),
        ("div", (0.0, 0.0), math.nan),
        ("sin", (math.inf,), math.nan),
        ("tanh", (-math.inf,), -1.0),
        ("atan2", (0.0, -1.0), math.pi),
        ("abs", (-2.0,), 2.0),
        ("neg", (2.0,), -2.0),
    ],
)
def test_specials_as_in_every_target(op: str, arguments: tuple[float, ...], wanted: float) -> None:
    np.testing.assert_equal(evaluate(program_of(op), arguments), [wanted])


def test_digits_are_kept_where_doubles_lose_them() -> None:
    # (1 + 1e-30) - 1 in 50 digits.
    code = (("input", 0), ("const", 1.0), ("add", 0, 1), ("sub", 2, 1))
    program = Program("p", (Variable("x"),), (Variable("y"),), code, (3,))
    assert evaluate(program, [1e-30]) == [1e-30]
