"""A program is checked before it answers: against the physics by the tree, in plain NumPy, at a few states.

What a program gives at sample states is compared with what its physics function gives there when it is run
as it is written, on floats, in the form of the tree (`nacelle.spatial.physics`). No tracing, pass, plan or
emitter is shared. Figures that say how far a form is from its own limits (pivots, margins) differ between
forms: they are compared with the program as it was traced. An entry of the results may differ by rounding
times condition,

    |result - expected| <= C eps (largest entry of the output + |df / d inputs| . |inputs|)

with the derivative by one difference of the program as it was traced, along a random change of all inputs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.errors import CompileError
from nacelle.program.program import Program, Variable, variable_slices
from nacelle.spatial import scalar

FORM_FIGURES = frozenset({"pivot", "margins", "squares", "distances", "branch", "dy", "error", "status"})
"""Outputs that belong to the form of a program, or to a step of an iteration."""

# Checks with more numbers are not compared again with functions as they are written.
_MANY = 20_000
# So few states are evaluated quicker one by one, on Python's floats.
_FEW = 3
# Units of rounding that may be lost: fixed pivots lose up to 1e3 of them, long programs some more.
_LOST = 2.0**12
# How many times more where inputs are no states of a robot, whatever that does to the condition.
_AT_RANDOM = 1e4
ROUNDING = _LOST * float(np.finfo(float).eps)
"""By what part of the largest results may differ where nothing is ill-conditioned."""
# Results below this part of the largest input are nothing but rounding.
_ZERO = 64.0 * float(np.finfo(float).eps)
# The relative change of the inputs by which the condition is found.
_CHANGE = 2.0**-20

_Array = NDArray[np.float64]
Evaluate = Callable[[_Array], Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class ProgramCheck:
    """What a program must give at some states.

    Attributes:
        inputs: all inputs in their order, a row a state (K, size).
        outputs: what is expected (K, results); NaN where nothing is.
        allowed: by how much results may differ (K, results).
        numbers: of the second of two parts, the robot's numbers that its inputs were prepared from (K, p).
    """

    inputs: _Array
    outputs: _Array
    allowed: _Array
    numbers: _Array | None = None

    def disagreement_reason(self, results: _Array, variables: Sequence[Variable]) -> str:
        """In what results (K, results) differ from what is expected; empty where they do not."""
        with np.errstate(all="ignore"):
            off = ~(np.abs(results - self.outputs) <= self.allowed) & np.isfinite(self.outputs)
        if not np.any(off):
            return ""
        for variable, part in variable_slices(variables):
            if np.any(off[:, part]):
                error = np.abs(results - self.outputs)[:, part][off[:, part]]
                worst = float(np.max(np.where(np.isfinite(error), error, np.inf)))
                largest = float(np.nanmax(np.abs(self.outputs[:, part])))
                return f"{variable.name} is off by {worst:.2g}, its largest entry is {largest:.2g}"
        worst, largest = (float(np.max(np.abs(a[off]))) for a in (results - self.outputs, self.outputs))
        return f"a result is off by {worst:.2g} of {largest:.2g}"

    def staleness_reason(self, evaluate: Evaluate, variables: Sequence[Variable]) -> str:
        """In what a function at the first state differs from what is expected there; empty where it does not.

        Large robots, whose function takes long as it is written, are not asked.
        """
        if self.outputs.size > _MANY or self.inputs.shape[1] > _MANY:
            return ""
        outputs = _evaluate_function(evaluate, self.inputs[:1], variables, True)
        if outputs is None:
            return ""
        for variable, part in variable_slices(variables):
            if variable.name in FORM_FIGURES or variable.name not in outputs:
                continue
            first = ProgramCheck(self.inputs[:1], self.outputs[:1, part], self.allowed[:1, part])
            reason = first.disagreement_reason(outputs[variable.name], [variable])
            if reason:
                return reason
        return ""


def evaluate_program(program: Program, rows: _Array) -> _Array:
    """Results (K, results) of a program at inputs (K, size), instruction by instruction, not compiled."""
    if len(rows) <= _FEW:
        try:
            with np.errstate(all="ignore"):
                samples = [_interpret(program, row, _ON_FLOATS) for row in rows.tolist()]
            return np.array(samples, dtype=float).reshape(len(rows), -1)
        except (ArithmeticError, ValueError):
            # Divisions by zero and the like: NumPy has infinities for them.
            pass
    with np.errstate(all="ignore"):
        values = _interpret(program, list(np.ascontiguousarray(rows.T)), _ON_ARRAYS)
    results = np.empty((len(rows), len(values)))
    for k, value in enumerate(values):
        results[:, k] = value
    return results


_ON_FLOATS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "abs": abs,
    "sign": scalar.sign,
    "floor": scalar.floor,
    "min": scalar.minimum,
    "max": scalar.maximum,
    "where": scalar.where,
    **{name: getattr(math, name) for name in ("sqrt", "sin", "cos", "tanh", "exp", "atan2")},
}
_ON_ARRAYS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.absolute,
    "atan2": np.arctan2,
    "min": np.minimum,
    "max": np.maximum,
    "where": lambda condition, a, b: np.where(condition > 0.0, a, b),
    **{name: getattr(np, name) for name in ("sqrt", "sin", "cos", "tanh", "exp", "sign", "floor")},
}


def _interpret(program: Program, inputs: Sequence[Any], operations: Mapping[str, Callable[..., Any]]) -> Any:
    """Results of a program: `Program.evaluate` without its overhead, which checks would feel."""
    values: list[Any] = []
    append = values.append
    for instruction in program.code:
        op, first = instruction[0], instruction[1]
        size = len(instruction)
        if size == 3:
            append(operations[op](values[first], values[instruction[2]]))
        elif op == "const":
            append(first)
        elif op == "input":
            append(inputs[first])
        elif size == 2:
            append(operations[op](values[first]))
        else:
            append(operations[op](values[first], values[instruction[2]], values[instruction[3]]))
    return [values[k] for k in program.results]


class InterpretedKernel:
    """A program instruction by instruction: nothing is made of it first, and each evaluation takes longer."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def run(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]], threads: int = 1) -> None:
        """Evaluate all samples (rows) into the outputs; an input of one row holds for all samples."""
        del threads
        count = len(outputs[0]) if outputs else 0
        rows = [np.broadcast_to(array, (count, array.shape[1])) for array in inputs]
        results = evaluate_program(self._program, np.concatenate([np.empty((count, 0)), *rows], axis=1))
        for array, (_, part) in zip(outputs, variable_slices(self._program.outputs), strict=True):
            array[...] = results[:, part]

    def bind(self, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> Callable[[], None]:
        """Give a function without arguments that evaluates the first sample of these very buffers."""
        return lambda: self.run([array[:1] for array in inputs], [array[:1] for array in outputs])


def split_row(row: _Array, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[Any]:
    """The inputs of some shapes from a row (size,) of all of them; a float for the shape ()."""
    start = 0
    for shape in shapes.values():
        size = int(np.prod(shape))
        yield row[start : start + size].reshape(shape) if shape else float(row[start])
        start += size


def random_rows(shapes: Mapping[str, tuple[int, ...]], count: int = 3) -> _Array:
    """Inputs at random, 0.5 to 1.5 in size, of either sign, for functions that say nothing about theirs."""
    rng = np.random.default_rng(13)
    size = sum(int(np.prod(shape)) for shape in shapes.values())
    return np.asarray(rng.uniform(0.5, 1.5, (count, size)) * rng.choice([-1.0, 1.0], (count, size)))


def expected_results(
    evaluate: Evaluate,
    rows: _Array,
    variables: Sequence[Variable],
    raw: Callable[[_Array], _Array],
    *,
    rounding: float = ROUNDING,
    fixed: int = 0,
    at_random: bool = False,
    may_refuse: bool = False,
    reference_states: int | None = None,
) -> ProgramCheck:
    """What a program must give at rows (K, size).

    Args:
        evaluate: the physics function as it is written, at a row: its outputs by name.
        rows: the inputs.
        variables: the program's outputs.
        raw: the program as it was traced, at rows, for slopes, and for outputs that the function cannot be
            asked for: those of derivatives, which are taken on the graph.
        rounding: by what part of the largest results may differ where nothing is ill-conditioned.
        fixed: how many of the first inputs are numbers of the robot, the same in all rows.
        at_random: whether inputs are any numbers, so that results may be ill-conditioned.
        may_refuse: whether the function may refuse the inputs: it declares none, or needs symbols.
        reference_states: at how many of the rows the function is evaluated, at all of them if None; at the
            others the program as it was traced stands for it.
    """
    changed = rows.copy()
    if fixed < rows.shape[1]:
        rng = np.random.default_rng(17)
        step = rng.uniform(0.5, 1.0, rows.shape[1] - fixed) * rng.choice([-1.0, 1.0], rows.shape[1] - fixed)
        changed[:, fixed:] += _CHANGE * np.max(np.abs(rows[:, fixed:]), axis=0) * step
    both = np.concatenate([rows, changed])
    by_tree = _evaluate_function(evaluate, rows[:reference_states], variables, may_refuse) or {}
    traced = raw(both)
    outputs, allowed = [], []
    size = float(np.max(np.abs(rows), initial=0.0))
    for variable, part in variable_slices(variables):
        traced_part = traced[:, part]
        here, there = traced_part[: len(rows)], traced_part[len(rows) :]
        values = here
        if variable.name in by_tree and variable.name not in FORM_FIGURES:
            values = np.concatenate([by_tree[variable.name], here[len(by_tree[variable.name]) :]])
        with np.errstate(all="ignore"):
            scale = np.max(np.abs(np.where(np.isfinite(values), values, 0.0)), initial=0.0)
            if scale <= _ZERO * size or variable.name in FORM_FIGURES:
                # What is zero everywhere (gaps of closed loops, the last step of an iteration) is the
                # rounding of terms that cancel.
                scale = max(scale, size)
            # A program that is wrong could hide behind its own slope only if that were 1e6 of its results.
            change = np.abs(there - here)
            slope = np.max(np.where(np.isfinite(change), change, 0.0), initial=0.0) / _CHANGE
        bound = (_AT_RANDOM if at_random else 1.0) * rounding * (scale + slope)
        outputs.append(values)
        allowed.append(np.full(values.shape, bound))
    empty = np.zeros((len(rows), 0))
    return ProgramCheck(rows, np.concatenate([empty, *outputs], 1), np.concatenate([empty, *allowed], 1))


def _evaluate_function(
    evaluate: Evaluate, rows: _Array, variables: Sequence[Variable], may_refuse: bool
) -> dict[str, _Array] | None:
    """The function at rows, (K, size) by name; None where it may refuse them, and does."""
    sizes = {variable.name: variable.size for variable in variables}
    collected: dict[str, list[_Array]] = {}
    with np.errstate(all="ignore"):
        for row in rows:
            try:
                outputs = evaluate(row)
            except Exception:
                # It needs symbols (derivatives on the graph), or states of a robot: its trace is compared.
                if may_refuse:
                    return None
                raise
            for name, value in outputs.items():
                flat = np.ravel(np.asarray(value, dtype=float))
                if flat.size != sizes.get(name):
                    if may_refuse:
                        return None
                    raise CompileError(f"{name} has {flat.size} numbers, its program {sizes.get(name)}")
                collected.setdefault(name, []).append(flat)
    return {name: np.array(values).reshape(len(rows), -1) for name, values in collected.items()}
