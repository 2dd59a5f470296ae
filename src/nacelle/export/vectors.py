"""Reference vectors of an entry: states, what they give with 50 digits, and how exact an evaluation must be.

The inputs are numbers of single precision, so that one set of vectors tests double and float. An error
counts relative to the largest entry of its output over all states. What is tolerated is a multiple of the
error that the same program makes here, operation by operation in that precision.

An iteration that closes the legs ends with gaps g(y) of the loops below its tolerance t, so its result is as
far from the solution as the condition of the legs allows. With J = dg/dy at the solution, in double,

    |y - y*| <= c (t + e),    c = sum over gaps of |J^+|,

e the rounding error of a gap in that precision. Such an error counts relative to c, for each state and
unknown, and t + e is tolerated, twice for what is not linear.
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
from nacelle.kinematics.iteration.newton_steps import closing_gaps
from nacelle.model.robot import Robot
from nacelle.program import precise
from nacelle.program.program import Program
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.scalar import Array

TYPES: dict[str, Any] = {"double": np.float64, "float": np.float32}
_FACTOR = 30.0
# No tolerance is below so many units of rounding; beyond the limit a model is of no use.
_LEAST, _LIMIT = 200.0, 0.1
# The same of gaps, to which the condition refers.
_LEAST_GAP = 20.0
# How far from its solution an iteration starts, at most, and as a part of where its steps turn round.
_AWAY, _TURN = 0.01, 0.25
CAP = 20
"""The most steps of an iteration."""
# Steps of the differences that the condition is found by, and what counts as no singular value.
_DIFFERENCE, _NOTHING = 1e-6, 1e-8
TOLERANCES = {"double": 1e-12, "float": 1e-5}
"""To what legs are closed, if rounding lets them."""


@dataclass(frozen=True, eq=False)
class ClosedLegs:
    """What the iteration of which an entry is the step finds from the starts among its vectors.

    Attributes:
        y: the unknowns (states, ny).
        condition: by how much each moves where the loops open by their size, to first order (states, ny).
        tolerance: for "double" and "float" the gap to which loops are closed.
        limit: for "double" and "float" the largest error of y over the condition.
        step: for "double" and "float" the largest error of the step dy over the condition.
    """

    y: Array
    condition: Array
    tolerance: Mapping[str, float]
    limit: Mapping[str, float]
    step: Mapping[str, float]

    def known(self, real: str) -> float:
        """The error of y that is tolerated at the state with the worst condition."""
        return self.limit[real] * float(np.max(self.condition, initial=0.0))


@dataclass(frozen=True, eq=False)
class Vectors:
    """Reference vectors of an entry.

    Attributes:
        inputs: by name (states, size).
        outputs: by name (states, size).
        scale: for every output its largest entry.
        tolerance: for "double" and "float", for every output the largest error over the scale.
        closed: of the step that closes the legs what its iteration finds.
    """

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    scale: Mapping[str, float]
    tolerance: Mapping[str, Mapping[str, float]]
    closed: ClosedLegs | None = None

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
        states = replace(states, y=away(states))
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
    found = Vectors(inputs, outputs, scale, tolerance)
    return replace(found, closed=_closed_legs(entry, states.robot, found)) if entry.closes else found


def away(states: SampleStates) -> Array:
    """Starts of an iteration away from its solutions, and nearer than what its steps turn round."""
    most = np.max(closing_condition(states.robot, states.x, states.y), axis=1, keepdims=True, initial=0.0)
    far = np.minimum(_AWAY, _TURN / np.maximum(most, 1.0))
    return np.asarray(states.y + far * np.random.default_rng(3).uniform(-1.0, 1.0, states.y.shape))


def closing_condition(robot: Robot, x: Array, y: Array) -> Array:
    """By how much the unknowns y (N, ny) at poses x (N, nx) move where the loops open by their size (N, ny).

    The sum over all gaps of |J^+|, J the derivative of the gaps by y, from central differences in double.
    Directions that open nothing, as the spin of a rod between ball joints, do not count.
    """
    count, ny = y.shape
    steps = _DIFFERENCE * np.concatenate([np.eye(ny), -np.eye(ny)])
    rows = (y[:, None] + steps).reshape(-1, ny)
    gaps = closing_gaps(robot, from_samples(rows, 1), from_samples(np.repeat(x, 2 * ny, axis=0), 1))["gaps"]
    open_by = np.broadcast_to(to_samples(gaps), (len(rows), len(gaps))).reshape(count, 2, ny, -1)
    J = np.swapaxes(open_by[:, 0] - open_by[:, 1], 1, 2) / (2.0 * _DIFFERENCE)
    return np.asarray(np.sum(np.abs(np.linalg.pinv(J, rcond=_NOTHING)), axis=2))


def relation_error(states: SampleStates) -> float:
    """How far relations of unknowns are off at states where float knows them no better, rad or m."""
    most = float(np.max(closing_condition(states.robot, states.x, states.y), initial=1.0))
    return float(f"{3.0 * TOLERANCES['float'] * most:.1e}")


def _closed_legs(entry: Entry, robot: Robot, found: Vectors) -> ClosedLegs:
    """What the iteration finds from the starts among vectors, with 50 digits, and how exactly."""
    x, rows = found.inputs["x"], []
    for start, pose in zip(found.inputs["y"], x, strict=True):
        y = start
        for _ in range(CAP):
            step = np.array(precise.evaluate(entry.program, [*y.tolist(), *pose.tolist()])[: y.size])
            y = y + step
            if not np.any(np.abs(step) > np.finfo(float).eps * np.maximum(np.abs(y), 1.0)):
                break
        rows.append(y)
    y = np.array(rows)
    # An unknown is not known better than to its own rounding.
    condition = np.maximum(closing_condition(robot, x, y), np.abs(y))
    rounding = {real: found.tolerance[real]["error"] * found.scale["error"] for real in TYPES}
    tolerance = {real: float(f"{max(TOLERANCES[real], rounding[real]):.1e}") for real in TYPES}
    limit = {real: float(f"{2.0 * (tolerance[real] + rounding[real]):.1e}") for real in TYPES}
    starts, steps = np.concatenate(list(found.inputs.values()), axis=1), {}
    for real, kind in TYPES.items():
        off = np.abs(rounded(entry.program, starts, kind)[:, : y.shape[1]] - found.outputs["dy"])
        steps[real] = tolerated(float(np.max(off / condition, initial=0.0)), kind, _LEAST_GAP)
    return ClosedLegs(y, condition, tolerance, limit, steps)


def _tolerance(
    program: Program, rows: Array, outputs: Mapping[str, Array], scale: Mapping[str, float], kind: Any
) -> dict[str, float]:
    results = _split(program, rounded(program, rows, kind))
    limits = {}
    for name, values in outputs.items():
        worst = float(np.max(np.abs(results[name] - values), initial=0.0)) / scale[name]
        limits[name] = tolerated(worst, kind)
    return limits


def tolerated(worst: float, kind: Any, least: float = _LEAST) -> float:
    """What is tolerated where a program in a type of NumPy is off by so much, over the scale.

    It is no less than so many units of rounding.
    """
    limit = max(_FACTOR * worst, least * float(np.finfo(kind).eps)) if np.isfinite(worst) else _LIMIT
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
