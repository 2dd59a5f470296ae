"""Which functions are written, and that programs take sine and cosine of a value from one call."""

from __future__ import annotations

import numpy as np

from nacelle.emit.jit.functions.texts import function_texts
from nacelle.emit.jit.target import JitOptions, kernel, module_texts
from nacelle.program.program import Program, Variable
from support.functions import FUNCTIONS, values


def test_only_what_is_used_is_written() -> None:
    assert function_texts({"add", "sqrt"}, 4, "v_", fma=True) == []
    both = function_texts({"sin", "cos"}, 4, "v_", fma=True)
    assert both == function_texts({"cos"}, 4, "v_", fma=True)
    assert "@v_sincos(" in both[0]
    assert len(function_texts(set(FUNCTIONS), 4, "v_", fma=True)) == 4


def test_programs_call_once_for_a_pair() -> None:
    """A whole program gives the functions' values, for a sample alone and in a batch."""
    code = (("input", 0), ("input", 1), *((op, 0) for op in FUNCTIONS[:-1]), ("atan2", 0, 1))
    inputs, outputs = (Variable("x", (2,)),), (Variable("y", (5,)),)
    program = Program("functions", inputs, outputs, code, tuple(range(2, 7)))
    many, _ = module_texts(program, JitOptions(width=2))
    assert many.count(" @v_sincos(") == 2  # its definition, and one call
    made = kernel(program, JitOptions(width=2))
    x, y = np.random.default_rng(0).normal(size=(16, 2)), np.empty((16, 5))
    made.run([x], [y])
    for k, op in enumerate(FUNCTIONS):
        arguments = (x[:, 0], x[:, 1]) if op == "atan2" else (x[:, 0],)
        assert y[:, k].tobytes() == values(op, *arguments).tobytes()
    one_x, one_y = np.empty((1, 2)), np.empty((1, 5))
    bound = made.bind([one_x], [one_y])
    for row, results in zip(x, y, strict=True):
        one_x[0] = row
        bound()
        assert one_y[0].tobytes() == results.tobytes()
