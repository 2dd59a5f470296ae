"""Operations of a program as C: expressions, and parts that a compiler can take in reasonable time.

Compilers need time that grows much faster than the length of a function, so a long program is cut into
parts of some hundred operations. What a later part needs passes through an array `w` on the stack of the
caller, whose places are used again.
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
"""Operations that are calls of library functions; a root is an instruction."""

LINE = 100
"""Length of a line up to which the arguments of a function are on it."""

MOST_PHASES = 8
"""Phases of calls and arithmetic up to which they are kept apart."""

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

# Comparisons with NaN are false; nothing here may be compiled with an option that assumes NaN away.
_HELPERS = {
    "min": "(a < b || a != a) ? a : b",
    "max": "(a > b || a != a) ? a : b",
    "sign": "(a > 0) ? 1 : ((a < 0) ? -1 : ((a != a) ? a : 0))",
}
_HELPER_REMARKS = {
    "min": "Smaller of two numbers; NaN if either is.",
    "max": "Larger of two numbers; NaN if either is.",
    "sign": "-1, 0 or 1; NaN stays NaN.",
}


def c_constant(value: float, real: str) -> str:
    """Write a constant so that C reads the same number back, rounded to `real` here and not there."""
    if real == "float":
        with np.errstate(all="ignore"):
            single = np.float32(value)
        value = float(single)
        text = f"{single!s}f"
    else:
        value = float(value)
        text = repr(value)
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    return f"({text})" if math.copysign(1.0, value) < 0 else text


def format_call(head: str, arguments: list[str], indent: int = 0) -> str:
    """Write a head with its arguments in parentheses, on lines of their own if one line is too long."""
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
        f"    return {_HELPERS[op]};",
        "}",
        "",
    ]


def helpers_used(program: Program, order: list[int]) -> list[str]:
    """List the operations of a program that need a function of their own."""
    used = {program.code[k][0] for k in order}
    return [op for op in _HELPERS if op in used]


def expression(op: str, texts: list[str], name: str, real: str) -> str:
    """Write one operation on operands that are written already."""
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
        operations: the instructions, in order.
        fetched: values of earlier parts that it uses.
        kept: its values that later parts use.
        inputs: places of the inputs that it reads, counted through.
        outputs: places of the outputs that it writes, counted through.
    """

    operations: list[int]
    fetched: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ProgramCut:
    """A program cut into parts, and the places of the values that pass between them."""

    parts: list[ProgramPart]
    passed: Slots
    order: list[int]


def cut_program(program: Program, length: int, *, apart: bool = False) -> ProgramCut:
    """Cut a program into parts of about `length` operations, where few values are alive.

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
        # What needs no operation is written by the last part.
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
    """Number the phases: even ones of arithmetic, odd ones of calls that depend on what is before."""
    phase: dict[int, int] = {}
    for k in order:
        before = max((phase.get(a, 0) for a in operands(program, k)), default=0)
        if program.code[k][0] in LIBRARY_CALLS:
            phase[k] = before + 2 if before % 2 else before + 1
        else:
            phase[k] = before + before % 2
    return phase if max(phase.values(), default=0) <= MOST_PHASES else {}


def _cut_positions(order: list[int], last: dict[int, int], start: int, end: int, length: int) -> list[int]:
    """Choose where to cut a stretch: near equal lengths, where the fewest values are alive."""
    count = end - start
    pieces = max(1, round(count / length)) if count > 1.5 * length else 1
    if pieces == 1:
        return [start, end]
    alive = [0] * (len(order) + 2)  # at a cut before each place
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
