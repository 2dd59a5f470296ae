"""Reference numbers of self-tests: vectors of an entry, samples in a row of a controller.

Vectors are states, what they give with 50 digits, and how exact an evaluation must be.

The inputs are numbers of single precision, so that one set of vectors tests double and float. An error
counts relative to the largest entry of its output over all states. What is tolerated is a multiple of the
error that the same program makes here, operation by operation in that precision.

An iteration that closes the legs ends with gaps g(y) of the loops below its tolerance t, so its result is as
far from the solution as the condition of the legs allows. With J = dg/dy at the solution, in double,

    |y - y*| <= c (t + e),    c = sum over gaps of |J^+|,

e the rounding error of a gap in that precision. Such an error counts relative to c, for each state and
unknown, and t + e is tolerated, twice for what is not linear.

Samples in a row of a controller: what goes in, and what comes out with 50 digits, memory carried on.

The platform moves along a straight line from a pose at rest, the readings follow it with an error, some are
missing for a while, and at the end all are, until the controller has stopped. Inputs are numbers of single
precision, so that one record tests double and float. What is tolerated is a multiple of the error that the
same programs make here, operation by operation in that precision; where an iteration solves the legs at the
start, also what their y is not known to there (as above), times the derivative by y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.blocks.signals import BRIDGED, FINE, STOPPED, StopReason
from nacelle.control.controller import Controller
from nacelle.elastic.named import ELASTIC_NAMES, random_inputs
from nacelle.errors import ExportError
from nacelle.export.entry import Entry
from nacelle.export.loop import LAW, REST, memory_fields
from nacelle.export.states import SampleStates, model_inputs
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.solve.newton_steps import loop_gaps
from nacelle.model.robot import Robot
from nacelle.program import precise
from nacelle.program.precise import evaluate_decimal
from nacelle.program.program import Program, variable_slices
from nacelle.simulation.flow import pose_from_coordinates, reference_orientation
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.scalar import Array

# ---- vectors of an entry


TYPES: dict[str, Any] = {"double": np.float64, "float": np.float32}
_FACTOR = 30.0
# Smallest tolerance, in units of rounding; beyond the limit a model is of no use.
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
class ClosedLoops:
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

    def worst_error(self, real: str) -> float:
        """The error of y that is tolerated at the state with the worst condition."""
        return self.limit[real] * float(np.max(self.condition, initial=0.0))


@dataclass(frozen=True, eq=False)
class ReferenceVectors:
    """Reference vectors of an entry.

    Attributes:
        inputs: by name (states, size).
        outputs: by name (states, size).
        scale: for every output its largest entry.
        tolerance: for "double" and "float", for every output the largest error over the scale.
        closed: solution of the step that closes the legs.
    """

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    scale: Mapping[str, float]
    tolerance: Mapping[str, Mapping[str, float]]
    closed: ClosedLoops | None = None

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(next(iter(self.outputs.values())))


def reference_vectors(entry: Entry, states: SampleStates) -> ReferenceVectors:
    """Compute the reference vectors of an entry at some states.

    Raises:
        ExportError: if the program gives no number there.
    """
    program = entry.program
    if entry.closes:
        # Where the legs are closed there is no step to compare.
        states = replace(states, y=perturb_starts(states))
    shapes = {variable.name: variable.shape for variable in program.inputs}
    if entry.at is not None:
        inputs = {**entry.at(states)}
    elif entry.model is not None and entry.model.name in ELASTIC_NAMES:
        inputs = random_inputs(entry.model, len(states.x))
    else:
        inputs = {**model_inputs(states, {k: s for k, s in shapes.items() if k not in entry.fixed_inputs})}
    inputs |= {name: np.tile(values, (len(states.x), 1)) for name, values in entry.fixed_inputs.items()}
    inputs = {name: np.asarray(inputs[name], dtype=np.float32).astype(float) for name in shapes}
    rows = np.concatenate(list(inputs.values()), axis=1)
    expected = np.array([precise.evaluate(program, row.tolist()) for row in rows])
    if not np.all(np.isfinite(expected)):
        raise ExportError(f"{entry.label} gives no number at a state around the reference")
    outputs = _split_outputs(program, expected)
    scale = {name: float(np.max(np.abs(values), initial=0.0)) or 1.0 for name, values in outputs.items()}
    tolerance = {real: _tolerance(program, rows, outputs, scale, kind) for real, kind in TYPES.items()}
    result = ReferenceVectors(inputs, outputs, scale, tolerance)
    return replace(result, closed=_closed_loops(entry, states.robot, result)) if entry.closes else result


def perturb_starts(states: SampleStates) -> Array:
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
    gaps = loop_gaps(robot, from_samples(rows, 1), from_samples(np.repeat(x, 2 * ny, axis=0), 1))["gaps"]
    open_by = np.broadcast_to(to_samples(gaps), (len(rows), len(gaps))).reshape(count, 2, ny, -1)
    J = np.swapaxes(open_by[:, 0] - open_by[:, 1], 1, 2) / (2.0 * _DIFFERENCE)
    return np.asarray(np.sum(np.abs(np.linalg.pinv(J, rcond=_NOTHING)), axis=2))


def relation_error(states: SampleStates) -> float:
    """How far relations of unknowns are off at states where float knows them no better, rad or m."""
    most = float(np.max(closing_condition(states.robot, states.x, states.y), initial=1.0))
    return float(f"{3.0 * TOLERANCES['float'] * most:.1e}")


def _closed_loops(entry: Entry, robot: Robot, reference: ReferenceVectors) -> ClosedLoops:
    """The solutions of the iteration from the starts among vectors, with 50 digits, and how exactly."""
    x, rows = reference.inputs["x"], []
    for start, pose in zip(reference.inputs["y"], x, strict=True):
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
    rounding = {real: reference.tolerance[real]["error"] * reference.scale["error"] for real in TYPES}
    tolerance = {real: float(f"{max(TOLERANCES[real], rounding[real]):.1e}") for real in TYPES}
    limit = {real: float(f"{2.0 * (tolerance[real] + rounding[real]):.1e}") for real in TYPES}
    starts, steps = np.concatenate(list(reference.inputs.values()), axis=1), {}
    for real, kind in TYPES.items():
        off = np.abs(evaluate_rounded(entry.program, starts, kind)[:, : y.shape[1]] - reference.outputs["dy"])
        steps[real] = error_tolerance(float(np.max(off / condition, initial=0.0)), kind, _LEAST_GAP)
    return ClosedLoops(y, condition, tolerance, limit, steps)


def _tolerance(
    program: Program, rows: Array, outputs: Mapping[str, Array], scale: Mapping[str, float], kind: Any
) -> dict[str, float]:
    results = _split_outputs(program, evaluate_rounded(program, rows, kind))
    limits = {}
    for name, values in outputs.items():
        worst = float(np.max(np.abs(results[name] - values), initial=0.0)) / scale[name]
        limits[name] = error_tolerance(worst, kind)
    return limits


def error_tolerance(worst: float, kind: Any, least: float = _LEAST) -> float:
    """What is tolerated where a program in a type of NumPy is off by so much, over the scale.

    It is at least `least` units of rounding.
    """
    limit = max(_FACTOR * worst, least * float(np.finfo(kind).eps)) if np.isfinite(worst) else _LIMIT
    # Two digits, as written down.
    return float(f"{min(limit, _LIMIT):.1e}")


def evaluate_rounded(program: Program, rows: Array, kind: Any) -> Array:
    """Evaluate on rows (states, inputs), every operation rounded to a type of NumPy."""
    columns = [np.asarray(column, dtype=kind) for column in rows.T]
    code = tuple(
        (op, kind(operands[0])) if op == "const" else (op, *operands) for op, *operands in program.code
    )
    with np.errstate(all="ignore"):
        same = Program(program.name, program.inputs, program.outputs, code, program.results)
        results = same.evaluate(columns)
    return np.stack([np.broadcast_to(np.asarray(value, dtype=float), len(rows)) for value in results], axis=1)


def _split_outputs(program: Program, values: Array) -> dict[str, Array]:
    """Results (states, all) by output."""
    return {variable.name: values[:, span] for variable, span in variable_slices(program.outputs)}


# ---- samples in a row of a controller


# Samples with readings; of which, by number, one is missing; and those without any at the end.
_SAMPLES, _GAPS, _SILENT = 24, (9, 10), 14
# Largest speed: the robot's size, or 1 rad, per second; error of the readings, and their noise, rad or m.
_SPEED, _ERROR, _NOISE = 0.02, 2e-3, 2e-4
# Step of the differences that derivatives by y are found by.
_SAMPLE_DIFFERENCE = 1e-6


@dataclass(frozen=True, eq=False)
class RecordedSamples:
    """Samples of a controller.

    Attributes:
        inputs: readings q, desired x, v and a, by name (samples, size).
        start: pose at rest (nx,).
        first: memory there (nz,).
        tau: (samples, actuators).
        memory: after each sample (samples, nz).
        status: of each sample.
        scale: the largest entry of "force" and of every part of the memory.
        tolerance: for "double" and "float" the largest error of these over the scale.
    """

    inputs: Mapping[str, Array]
    start: Array
    first: Array
    tau: Array
    memory: Array
    status: Sequence[int]
    scale: Mapping[str, float]
    tolerance: Mapping[str, Mapping[str, float]]


def record_samples(
    controller: Controller, entries: Sequence[Entry], closed: ClosedLoops | None = None
) -> RecordedSamples:
    """Record samples of a controller by the programs of a package.

    Args:
        controller: the controller.
        entries: the functions of the package.
        closed: how exactly legs are closed, where they are solved numerically.
    """
    programs = {entry.label: entry.program for entry in entries}
    inputs = sample_inputs(controller)
    start = inputs["x"][0]
    y = inverse_kinematics(controller.robot, start, limits=False).y
    starts = np.concatenate([start, y])[None]
    rows = np.concatenate(list(inputs.values()), axis=1)
    (expected,) = _run(controller, programs, starts, rows)
    parts = _result_parts(controller, expected)
    scale = {name: float(np.max(np.abs(values), initial=0.0)) or 1.0 for name, values in parts.items()}
    sensitivity = {} if closed is None else _sensitivity(controller, programs, starts, rows)
    tolerance = {}
    for real, kind in TYPES.items():
        with np.errstate(all="ignore"):
            computed = _result_parts(controller, _run(controller, programs, starts, rows, kind)[0])
            off = {name: values - parts[name] for name, values in computed.items()}
        worst = {name: float(np.max(np.abs(values), initial=0.0)) for name, values in off.items()}
        tolerance[real] = {name: error_tolerance(worst[name] / scale[name], kind) for name in parts}
        if closed is not None:
            for name, most in sensitivity.items():
                tolerance[real][name] += float(f"{closed.limit[real] * most / scale[name]:.1e}")
    first, force, memory = expected
    return RecordedSamples(inputs, start, first, force, memory, _status(controller, memory), scale, tolerance)


def sample_inputs(controller: Controller) -> dict[str, Array]:
    """Readings and desired motion (samples, size), in single precision."""
    robot, T = controller.robot, controller.period
    mechanism, rng = mechanism_of(robot), np.random.default_rng(13)
    count = _SAMPLES + _SILENT
    t = np.minimum(np.arange(count) / (_SAMPLES - 1), 1.0)
    span = T * (_SAMPLES - 1)
    # From rest to rest, with its rate and its acceleration.
    along = np.stack(
        [
            t**3 * (10.0 - 15.0 * t + 6.0 * t**2),
            30.0 * (t * (1.0 - t)) ** 2 / span,
            60.0 * t * (1.0 - t) * (1.0 - 2.0 * t) / span**2,
        ]
    )
    way = rng.choice([-1.0, 1.0], robot.motion.n) * rng.uniform(0.5, 1.0, robot.motion.n)
    way = way * twist_scales(robot) * (_SPEED * span / 1.875)
    quat_0 = reference_orientation(mechanism)
    # Rotations begin at the reference orientation and keep their axis: rates are those of the vector.
    middle = np.array(mechanism.reference[0])
    angular, quaternion = mechanism.layout.angular, mechanism.layout.quaternion
    if quaternion is not None and angular is not None:
        middle = np.concatenate([middle[: quaternion.start], np.zeros(3), middle[quaternion.stop :]])
    x = np.array([pose_from_coordinates(mechanism, middle + s * way, quat_0) for s in along[0]]).astype(
        np.float32
    )
    q = controller.coordinates(x.astype(float))
    q += _ERROR * rng.uniform(-1.0, 1.0, q.shape[1]) + _NOISE * rng.uniform(-1.0, 1.0, q.shape)
    q[_GAPS[0] : _GAPS[1] + 1, 0] = np.nan
    q[_SAMPLES:] = np.nan
    tables = {"q": q, "x": x, "v": np.outer(along[1], way), "a": np.outer(along[2], way)}
    return {name: values.astype(np.float32).astype(float) for name, values in tables.items()}


class _Run(NamedTuple):
    """Samples of a controller one after the other.

    Attributes:
        start: memory before the first (memory,).
        tau: of the actuators (samples, actuators), N or N m.
        memory: after each (samples, memory).
    """

    start: Array
    tau: Array
    memory: Array


def _run(
    controller: Controller, programs: Mapping[str, Program], starts: Array, rows: Array, kind: Any = None
) -> list[_Run]:
    """Runs of all samples, for starts x, y (starts, size).

    With 50 digits, or in a type of NumPy.
    """

    def evaluate(label: str, table: Array) -> Array:
        if kind is None:
            exactly = [
                evaluate_decimal(programs[label], [Decimal(value) for value in row]) for row in table.tolist()
            ]
            return np.array(exactly, dtype=object)
        return evaluate_rounded(programs[label], np.asarray(table, dtype=float), kind)

    m, count = len(controller.robot.actuators), len(starts)
    memory = first = evaluate(REST, starts)
    forces, memories = [], []
    for row in rows:
        same = np.tile(np.concatenate([row, controller.gains]), (count, 1))
        result = evaluate(LAW, np.concatenate([memory, same], axis=1))
        forces.append(result[:, :m])
        memory = result[:, m:]
        memories.append(memory)
    force, after, start = (np.array(values, dtype=float) for values in (forces, memories, first))
    return [_Run(start[k], force[:, k], after[:, k]) for k in range(count)]


def _sensitivity(
    controller: Controller, programs: Mapping[str, Program], starts: Array, rows: Array
) -> dict[str, float]:
    """By how much forces and parts of the memory move where the loops at the start open by their size."""
    nx = mechanism_of(controller.robot).layout.nx
    condition = closing_condition(controller.robot, starts[:, :nx], starts[:, nx:])[0]
    ny = condition.size
    steps = np.zeros((2 * ny, starts.shape[1]))
    steps[:, nx:] = _SAMPLE_DIFFERENCE * np.concatenate([np.eye(ny), -np.eye(ny)])
    with np.errstate(all="ignore"):
        runs = _run(controller, programs, starts + steps, rows, np.float64)
    parts = [_result_parts(controller, run) for run in runs]
    return {
        name: float(
            np.max(
                sum(
                    np.abs(parts[j][name] - parts[ny + j][name]) * (condition[j] / (2.0 * _SAMPLE_DIFFERENCE))
                    for j in range(ny)
                ),
                initial=0.0,
            )
        )
        for name in parts[0]
    }


def _result_parts(controller: Controller, run: _Run) -> dict[str, Array]:
    """Forces, and the memory by its parts, the start among them."""
    memory = np.concatenate([run.start[None], run.memory])
    return {"force": run.tau, **memory_fields(controller).split(memory)}


def _status(controller: Controller, memory: Array) -> list[int]:
    """What each sample returns."""
    parts = memory_fields(controller).split(memory)
    missed = parts.get("missed", np.zeros((len(memory), 1)))[:, 0] > 0.0
    stopped = parts["stopped"][:, 0]
    # The reason is returned once.
    before = np.concatenate([[0.0], stopped[:-1]])
    status = np.array([StopReason(int(reason)).status for reason in stopped])
    reason = np.where(before > 0.0, STOPPED, status)
    return [int(k) for k in np.where(stopped > 0.0, reason, np.where(missed, BRIDGED, FINE))]


def accuracy_note(closed: ClosedLoops, precisions: Sequence[str]) -> list[str]:
    """Say how exactly an iteration knows what it finds."""
    least, most = float(np.min(closed.condition)), float(np.max(closed.condition))
    known = ", ".join(f"{closed.worst_error(real):.1e} in {real}" for real in precisions)
    return [
        "Loops are closed to the tolerance, relative to the robot's size, and y is known to the tolerance "
        "times its condition: by how much y moves where the loops open by that size. At the states of the "
        f"self-test the condition is {least:.2g} to {most:.2g}; it grows towards a singularity of a leg. The "
        "self-test tolerates for every unknown and state twice the tolerance and the rounding of a gap, "
        f"times the condition: at worst {known} (rad, m)."
    ]
