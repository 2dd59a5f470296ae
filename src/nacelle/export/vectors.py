"""Reference vectors of an entry: states, what they give with 50 digits, and how exact an evaluation must be.

The inputs are numbers of single precision, so that one set of vectors tests double and float. An error
counts relative to the largest entry of its output over all states. What is tolerated is a multiple of the
error that the same program makes here, operation by operation in that precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nacelle.elastic.named import ELASTIC_NAMES, random_inputs
from nacelle.errors import ExportError
from nacelle.export.entry import Entry
from nacelle.export.states import SampleStates, inputs_at
from nacelle.program import precise
from nacelle.program.program import Program
from nacelle.spatial.scalar import Array

TYPES: dict[str, Any] = {"double": np.float64, "float": np.float32}
_FACTOR = 30.0
# No tolerance is below so many units of rounding; beyond the limit a model is of no use.
_LEAST, _LIMIT = 200.0, 0.1
# How far from its solution an iteration starts, and after how many steps it has found it.
_AWAY, _STEPS = 0.01, 8


@dataclass(frozen=True, eq=False)
class Vectors:
    """Reference vectors of an entry.

    Attributes:
        inputs: by name (states, size).
        outputs: by name (states, size).
        scale: for every output its largest entry.
        tolerance: for "double" and "float", for every output the largest error over the scale.
    """

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    scale: Mapping[str, float]
    tolerance: Mapping[str, Mapping[str, float]]

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(next(iter(self.outputs.values())))


def vectors(entry: Entry, states: SampleStates) -> Vectors:
    """Compute the reference vectors of an entry at some states.

    Raises:
        ExportError: if the program gives no number there.
    """
    program = entry.program
    if entry.closes:
        # Where the legs are closed there is no step to compare.
        states = replace(states, y=away(states.y))
    shapes = {variable.name: variable.shape for variable in program.inputs}
    if entry.at is not None:
        given = {**entry.at(states)}
    elif entry.model is not None and entry.model.name in ELASTIC_NAMES:
        given = random_inputs(entry.model, len(states.x))
    else:
        given = {**inputs_at(states, {k: s for k, s in shapes.items() if k not in entry.given})}
    given |= {name: np.tile(values, (len(states.x), 1)) for name, values in entry.given.items()}
    inputs = {name: np.asarray(given[name], dtype=np.float32).astype(float) for name in shapes}
    rows = np.concatenate(list(inputs.values()), axis=1)
    wanted = np.array([precise.evaluate(program, row.tolist()) for row in rows])
    if not np.all(np.isfinite(wanted)):
        raise ExportError(f"{entry.label} gives no number at a state around the reference")
    outputs = _split(program, wanted)
    scale = {name: float(np.max(np.abs(values), initial=0.0)) or 1.0 for name, values in outputs.items()}
    tolerance = {real: _tolerance(program, rows, outputs, scale, kind) for real, kind in TYPES.items()}
    return Vectors(inputs, outputs, scale, tolerance)


def away(y: Array) -> Array:
    """Starts of an iteration beside its solutions."""
    return np.asarray(y + _AWAY * np.random.default_rng(3).uniform(-1.0, 1.0, y.shape))


def iteration_results(entry: Entry, vectors: Vectors) -> Array:
    """What the iteration of which an entry is the step finds from the starts among its vectors."""
    x, rows = vectors.inputs["x"], []
    for start, pose in zip(vectors.inputs["y"], x, strict=True):
        y = start
        for _ in range(_STEPS):
            y = y + np.array(precise.evaluate(entry.program, [*y.tolist(), *pose.tolist()])[: y.size])
        rows.append(y)
    return np.array(rows)


def _tolerance(
    program: Program, rows: Array, outputs: Mapping[str, Array], scale: Mapping[str, float], kind: Any
) -> dict[str, float]:
    results = _split(program, rounded(program, rows, kind))
    limits = {}
    for name, values in outputs.items():
        worst = float(np.max(np.abs(results[name] - values), initial=0.0)) / scale[name]
        limits[name] = tolerated(worst, kind)
    return limits


def tolerated(worst: float, kind: Any) -> float:
    """What is tolerated where a program in a type of NumPy is off by so much, over the scale."""
    limit = max(_FACTOR * worst, _LEAST * float(np.finfo(kind).eps)) if np.isfinite(worst) else _LIMIT
    # Two digits, as written down.
    return float(f"{min(limit, _LIMIT):.1e}")


def rounded(program: Program, rows: Array, kind: Any) -> Array:
    """Evaluate on rows (states, inputs), every operation rounded to a type of NumPy."""
    columns = [np.asarray(column, dtype=kind) for column in rows.T]
    code = tuple(
        (op, kind(operands[0])) if op == "const" else (op, *operands) for op, *operands in program.code
    )
    with np.errstate(all="ignore"):
        same = Program(program.name, program.inputs, program.outputs, code, program.results)
        results = same.evaluate(columns)
    return np.stack([np.broadcast_to(np.asarray(value, dtype=float), len(rows)) for value in results], axis=1)


def _split(program: Program, values: Array) -> dict[str, Array]:
    """Results (states, all) by output."""
    results, start = {}, 0
    for variable in program.outputs:
        results[variable.name] = values[:, start : start + variable.size]
        start += variable.size
    return results
