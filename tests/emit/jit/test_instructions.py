"""LLVM IR of each operation, at widths of one and of four, against the semantics of programs."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.library import Library, address, aligned_memory
from nacelle.emit.jit.target import DEFAULT, JitOptions, compile_text, make_plan, module
from nacelle.program.program import ARITY, Program, Variable, apply

VALUES = (0.0, -0.0, 0.5, -1.5, 2.5, math.inf, -math.inf, math.nan, 1e300, -7.0)
OPERATIONS = (
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "sqrt",
    "abs",
    "sign",
    "floor",
    "min",
    "max",
    "where",
    "sin",
    "atan2",
)


def every_operation() -> Program:
    """Each operation of the same three inputs."""
    code = [("input", k) for k in range(3)]
    code += [(op, *range(ARITY[op])) for op in OPERATIONS]
    results = tuple(range(3, len(code)))
    inputs, outputs = (Variable("x", (3,)),), (Variable("y", (len(results),)),)
    return Program("all", inputs, outputs, tuple(code), results)


@pytest.mark.parametrize("width", [1, 4])
def test_operations(width: int) -> None:
    program = every_operation()
    plan = make_plan(program, JitOptions(fma=False))
    text = module([evaluation(plan, width, "w_")], DEFAULT).replace(
        "define internal void @w_tiles", "define void @w_tiles"
    )
    library = Library(compile_text(text), ("w_tiles",))
    pointer = ctypes.c_void_p
    run = ctypes.CFUNCTYPE(None, pointer, ctypes.c_int64)(library.address("w_tiles"))
    grid = [(a, b, c) for a in VALUES for b in VALUES for c in (1.25,)]
    for start in range(0, len(grid) - width + 1, width):
        tile = aligned_memory(stride(plan, width))
        numbers = tile.view(np.float64)
        numbers[: 3 * width] = np.array(grid[start : start + width]).T.ravel()
        run(address(tile), 1)
        first = plan.result * width
        found = numbers[first : first + len(OPERATIONS) * width].reshape(-1, width)
        for lane in range(width):
            for op, value in zip(OPERATIONS, found[:, lane], strict=True):
                with np.errstate(all="ignore"):
                    expected = float(apply(op, *(np.float64(v) for v in grid[start + lane][: ARITY[op]])))
                assert value == pytest.approx(expected, rel=4e-16, nan_ok=True), (op, grid[start + lane])
