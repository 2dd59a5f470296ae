"""Operations of a program as C expressions, and long programs cut into parts, one C function each.

The time of a C compiler grows much faster than the length of a function, so a long program is cut into parts
of some hundred operations. Values that a later part uses pass through an array `w` on the caller's stack; an
entry of `w` is used again once its value is dead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import groupby, pairwise

import numpy as np

from nacelle.emit.schedule import Slots, assign_slots, is_operation, last_uses, operands, schedule
from nacelle.program.program import ARITY, Program

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
LIBRARY_CALLS = frozenset(("sin", "cos", "tanh", "exp", "atan2"))
"""Operations that are calls of library functions, which keep a loop from being vectorised.

A square root is a single instruction.
"""

LINE = 100
"""Longest line; a function whose arguments do not fit has each on a line of its own."""

MOST_PHASES = 8
"""Largest number of a phase up to which library calls get parts of their own (`_phases`)."""

_LIBRARY = {
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "exp": "exp",
    "abs": "fabs",
    "floor": "floor",
    "atan2": "atan2",
}

# These count on comparisons with NaN being false: no compiler option may assume that there is no NaN
# (-ffinite-math-only, -ffast-math).
_HELPERS = {
    # What is added is a if that is NaN, and nothing else; compilers write no branches, which would be guessed
    # wrong.
    "min": "((a < b) ? a : b) + ((a != a) ? a : -({real})0)",
    "max": "((a > b) ? a : b) + ((a != a) ? a : -({real})0)",
    "sign": "(a > 0) ? 1 : ((a < 0) ? -1 : ((a != a) ? a : 0))",
}
_HELPER_REMARKS = {
    "min": "Smaller of two numbers; NaN if either is.",
    "max": "Larger of two numbers; NaN if either is.",
    "sign": "-1, 0 or 1; NaN stays NaN.",
}


def c_constant(value: float, real: str) -> str:
    """Write a constant so that C reads the same number back; it is rounded to `real` here, not by C."""
    if real == "float":
        with np.errstate(all="ignore"):
            single = np.float32(value)
        value = float(single)
        text = f"{single!s}f"
    else:
        value = float(value)
        text = repr(value)
    if not math.isfinite(value):
        # The macros are floats, and C++ would not know which function of two real types is meant.
        macro = "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
        return f"(({real}){macro})"
    return f"({text})" if math.copysign(1.0, value) < 0 else text


def format_call(head: str, arguments: list[str], indent: int = 0) -> str:
    """Write a call or a function's head: arguments in parentheses, one a line if they exceed `LINE`.

    Args:
        head: the text before the parentheses.
        arguments: the arguments.
        indent: columns by which the caller will indent the text.
    """
    line = f"{head}({', '.join(arguments)})"
    if len(line) + indent <= LINE:
        return line
    joint = ",\n" + " " * (indent + 4)
    return f"{head}(\n{' ' * (indent + 4)}{joint.join(arguments)})"


def helper_function(op: str, name: str, real: str) -> list[str]:
    """Write the function of an operation that C has no operator or function for."""
    parameters = f"{real} a" if ARITY[op] == 1 else f"{real} a, {real} b"
    return [
        f"/* {_HELPER_REMARKS[op]} */",
        f"static inline {real} {name}_{op}({parameters})",
        "{",
        f"    return {_HELPERS[op].format(real=real)};",
        "}",
        "",
    ]


def helpers_used(program: Program, order: list[int]) -> list[str]:
    """List the operations of a program that need a function of their own."""
    used = {program.code[k][0] for k in order}
    return [op for op in _HELPERS if op in used]


def expression(op: str, texts: list[str], name: str, real: str) -> str:
    """Write one operation as an expression.

    Args:
        op: the operation.
        texts: its operands, as expressions.
        name: prefix of the helper functions.
        real: type of the numbers, "double" or "float".
    """
    if op in _INFIX:
        return f"{texts[0]} {_INFIX[op]} {texts[1]}"
    if op == "neg":
        return f"-{texts[0]}"
    if op == "where":
        return f"({texts[0]} > 0) ? {texts[1]} : {texts[2]}"
    if op in _HELPERS:
        return f"{name}_{op}({', '.join(texts)})"
    return f"{_LIBRARY[op]}{'f' if real == 'float' else ''}({', '.join(texts)})"


@dataclass
class ProgramPart:
    """A run of operations that becomes one function.

    Attributes:
        operations: indices of its instructions in the program, in their order of evaluation.
        fetched: instructions of earlier parts whose values it uses.
        kept: its instructions whose values later parts use.
        inputs: indices of the input numbers that it reads, counted over all input arrays.
        outputs: indices of the output numbers that it writes, counted over all output arrays.
    """

    operations: list[int]
    fetched: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ProgramCut:
    """A program cut into parts.

    Attributes:
        parts: the parts, in their order of evaluation.
        passed: slots in `w` of the values that pass from part to part.
        order: indices of all operations, in their order of evaluation.
    """

    parts: list[ProgramPart]
    passed: Slots
    order: list[int]


def cut_program(program: Program, length: int, *, apart: bool = False) -> ProgramCut:
    """Cut a program into parts of about `length` operations, at positions where few values are alive.

    Args:
        program: the program.
        length: operations of a part; a program of up to 1.5 times as many stays whole.
        apart: whether calls of library functions have parts of their own, unless that makes too many.
    """
    order = schedule(program)
    phase = _phases(program, order) if apart else {}
    order.sort(key=lambda k: phase.get(k, 0))
    last = last_uses(program, order)
    parts: list[ProgramPart] = []
    start = 0
    for _, group in groupby(order, key=lambda k: phase.get(k, 0)):
        end = start + len(list(group))
        bounds = _cut_positions(order, last, start, end, length)
        parts += [ProgramPart(order[a:b]) for a, b in pairwise(bounds)]
        start = end
    parts = parts or [ProgramPart([])]
    part_of = {k: p for p, part in enumerate(parts) for k in part.operations}
    part_at = [part_of[k] for k in order]
    deaths = {k: part_at[position] for k, position in last.items()}
    result_positions: dict[int, list[int]] = {}
    for position, k in enumerate(program.results):
        # A result that is an input or a constant belongs to no part: the last one writes it.
        result_positions.setdefault(part_of.get(k, len(parts) - 1), []).append(position)
    births: list[tuple[int, int]] = []
    for p, part in enumerate(parts):
        used = [a for k in part.operations for a in operands(program, k)]
        fetched = {a for a in used if is_operation(program, a) and part_of[a] != p}
        part.fetched = sorted(fetched, key=lambda k: (part_of[k], k))
        part.kept = [k for k in part.operations if deaths[k] > p]
        births += [(p, k) for k in part.kept]
        part.outputs = result_positions.get(p, [])
        used += [program.results[position] for position in part.outputs]
        part.inputs = sorted({program.code[a][1] for a in used if program.code[a][0] == "input"})
    return ProgramCut(parts, assign_slots(births, deaths), order)


def _phases(program: Program, order: list[int]) -> dict[int, int]:
    """The phase of every operation: even for arithmetic, odd for library calls; {} if there are too many.

    A library call is in the first odd phase after those of its operands, so that the calls of a phase are
    independent; arithmetic is in the first even phase that is not before its operands'.
    """
    phase: dict[int, int] = {}
    for k in order:
        before = max((phase.get(a, 0) for a in operands(program, k)), default=0)
        if program.code[k][0] in LIBRARY_CALLS:
            phase[k] = before + 2 if before % 2 else before + 1
        else:
            phase[k] = before + before % 2
    return phase if max(phase.values(), default=0) <= MOST_PHASES else {}


def _cut_positions(order: list[int], last: dict[int, int], start: int, end: int, length: int) -> list[int]:
    """Choose where to cut operations `start` to `end`: near equal lengths, where the fewest values are alive.

    Args:
        order: all operations, in their order of evaluation.
        last: for every operation the position in the order that uses it last.
        start: position of the first operation.
        end: position after the last one.
        length: wanted operations of a part.
    """
    count = end - start
    pieces = max(1, round(count / length)) if count > 1.5 * length else 1
    if pieces == 1:
        return [start, end]
    alive = [0] * (len(order) + 2)  # number of live values at a cut before each position
    for position, k in enumerate(order):
        alive[position + 1] += 1
        alive[last[k] + 1] -= 1
    for position in range(len(order)):
        alive[position + 1] += alive[position]
    bounds = [start]
    slack = length // 5
    for piece in range(1, pieces):
        middle = start + piece * count // pieces
        near = range(max(bounds[-1] + 1, middle - slack), min(end - 1, middle + slack) + 1)
        bounds.append(min((alive[position], abs(position - middle), position) for position in near)[2])
    return [*bounds, end]
