"""Programs at 77 digits over many states: `wide.c`, compiled where it is used.

mpmath evaluates a program of some thousand operations in some ten milliseconds, so 1e5 states take it half an
hour. Numbers of 256 bits in C do it in seconds; mpmath confirms them on some of the states.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

import mpmath
import numpy as np

from nacelle.program.program import Program
from support.cc import compile_shared

Array = np.ndarray

OPERATIONS = (
    "const",
    "input",
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "sqrt",
    "sin",
    "cos",
    "abs",
    "sign",
    "min",
    "max",
    "where",
)
# Doubles whose sum is a result: 212 bits, 63 digits.
PARTS = 4


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    text = (Path(__file__).parent / "wide.c").read_text()
    return compile_shared({"wide.c": text}, flags=("-O3", "-std=gnu11", "-Wall", "-Wextra", "-Werror"))


def evaluate(program: Program, inputs: Array, constants: Array | None = None) -> Array:
    """Results of a program (states, outputs, PARTS), as unevaluated sums.

    Args:
        program: the program.
        inputs: doubles (states, inputs), or unevaluated sums (states, inputs, PARTS).
        constants: unevaluated sums (instructions, PARTS) for the program's own constants.
    """
    code = np.zeros((len(program.code), 4), dtype=np.int32)
    for k, (op, *rest) in enumerate(program.code):
        code[k, 0] = OPERATIONS.index(op)
        if op != "const":
            code[k, 1 : 1 + len(rest)] = rest
    numbers = np.ascontiguousarray(constants_of(program) if constants is None else constants)
    results = np.array(program.results, dtype=np.int32)
    x = np.ascontiguousarray(split_into_parts(inputs) if inputs.ndim == 2 else inputs)
    assert x.shape[1:] == (program.input_size, PARTS)
    assert numbers.shape == (len(code), PARTS)
    y = np.empty((len(x), len(results), PARTS))
    sizes = [ctypes.c_size_t(n) for n in (len(code), len(results), len(x), x.shape[1], PARTS)]
    at = [ctypes.c_void_p(array.ctypes.data) for array in (code, numbers, results, x, y)]
    failed = _library().wide_run(
        sizes[0], at[0], at[1], sizes[1], at[2], sizes[2], sizes[3], at[3], sizes[4], at[4]
    )
    assert not failed, "no memory"
    return y


def split_into_parts(values: Array, further: Array | None = None) -> Array:
    """Doubles as unevaluated sums (..., PARTS), with a further, far smaller part where there is one."""
    values = np.asarray(values, dtype=float)
    parts = np.zeros((*values.shape, PARTS))
    parts[..., 0] = values
    if further is not None:
        parts[..., 1] = further
    return parts


def constants_of(program: Program) -> Array:
    """The constants of a program (instructions, PARTS), zero for instructions that are none."""
    return split_into_parts(np.array([entry[1] if entry[0] == "const" else 0.0 for entry in program.code]))


def difference(values: Array, exact: Array) -> Array:
    """Values less exact results, right to rounding of the difference."""
    found = values - exact[..., 0]
    for part in range(1, exact.shape[-1]):
        found = found - exact[..., part]
    return found


def by_mpmath(program: Program, inputs: Array, digits: int = 50) -> list[mpmath.mpf]:
    """Results of a program at one state by mpmath."""
    with mpmath.workdps(digits):
        return [mpmath.mpf(value) for value in program.evaluate([mpmath.mpf(float(v)) for v in inputs])]


def largest_disagreement(program: Program, inputs: Array, digits: int = 50) -> float:
    """The largest relative difference between both evaluations over some states (states, inputs)."""
    worst = 0.0
    found = evaluate(program, inputs)
    with mpmath.workdps(digits + 15):
        for row, own in zip(inputs, found, strict=True):
            theirs = by_mpmath(program, row, digits)
            apart = max(abs(mpmath.fsum(map(mpmath.mpf, o)) - t) for o, t in zip(own, theirs, strict=True))
            worst = max(worst, float(apart / max(abs(t) for t in theirs)))
    return worst
