"""Samples in a row of a controller: what goes in, and what comes out with 50 digits, memory carried on.

The platform moves along a straight line from a pose at rest, the readings follow it with an error, some are
missing for a while, and at the end all are, until the controller has stopped. Inputs are numbers of single
precision, so that one record tests double and float. What is tolerated is a multiple of the error that the
same programs make here, operation by operation in that precision; where an iteration finds the legs at the
start, also what their y is not known to there (`nacelle.export.vectors`), times the derivative by y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from nacelle.control.controller import Controller
from nacelle.control.pieces.signals import BRIDGED, FINE, STOPPED
from nacelle.export.entry import Entry
from nacelle.export.loop.law import LAW, REST, memory_of
from nacelle.export.vectors import TYPES, ClosedLegs, closing_condition, rounded, tolerated
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.jacobian import twist_units
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.program.precise import exact
from nacelle.program.program import Program
from nacelle.simulation.flow import pose_from_coordinates, reference_orientation
from nacelle.spatial.scalar import Array

# Samples with readings; of which, by number, one is missing; and those without any at the end.
_SAMPLES, _GAPS, _SILENT = 24, (9, 10), 14
# Largest speed: the robot's size, or 1 rad, per second; error of the readings, and their noise, rad or m.
_SPEED, _ERROR, _NOISE = 0.02, 2e-3, 2e-4
# Step of the differences that derivatives by y are found by.
_DIFFERENCE = 1e-6


@dataclass(frozen=True, eq=False)
class RecordedSamples:
    """Samples of a controller.

    Attributes:
        inputs: readings q, desired x, v and a, by name (samples, size).
        start: pose at rest (nx,).
        first: memory there (nz,).
        force: (samples, actuators).
        memory: after each sample (samples, nz).
        status: of each sample.
        scale: the largest entry of "force" and of every part of the memory.
        tolerance: for "double" and "float" the largest error of these over the scale.
    """

    inputs: Mapping[str, Array]
    start: Array
    first: Array
    force: Array
    memory: Array
    status: Sequence[int]
    scale: Mapping[str, float]
    tolerance: Mapping[str, Mapping[str, float]]


def record(
    controller: Controller, entries: Sequence[Entry], closed: ClosedLegs | None = None
) -> RecordedSamples:
    """Record samples of a controller by the programs of a package.

    Args:
        controller: the controller.
        entries: the functions of the package.
        closed: how exactly legs are closed, where iteration finds them.
    """
    programs = {entry.label: entry.program for entry in entries}
    inputs = sample_inputs(controller)
    start = inputs["x"][0]
    y = inverse_kinematics(controller.robot, start, limits=False).y
    given = np.concatenate([start, y])[None]
    rows = np.concatenate(list(inputs.values()), axis=1)
    (wanted,) = _run(controller, programs, given, rows)
    parts = _parts(controller, wanted)
    scale = {name: float(np.max(np.abs(values), initial=0.0)) or 1.0 for name, values in parts.items()}
    moved = {} if closed is None else _sensitivity(controller, programs, given, rows)
    tolerance = {}
    for real, kind in TYPES.items():
        with np.errstate(all="ignore"):
            computed = _parts(controller, _run(controller, programs, given, rows, kind)[0])
            off = {name: values - parts[name] for name, values in computed.items()}
        worst = {name: float(np.max(np.abs(values), initial=0.0)) for name, values in off.items()}
        tolerance[real] = {name: tolerated(worst[name] / scale[name], kind) for name in parts}
        if closed is not None:
            for name, most in moved.items():
                tolerance[real][name] += float(f"{closed.limit[real] * most / scale[name]:.1e}")
    first, force, memory = wanted
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
    way = way * twist_units(robot) * (_SPEED * span / 1.875)
    quat_0 = reference_orientation(mechanism)
    # Rotations begin at the reference orientation and keep their axis: rates are those of the vector.
    middle = np.array(mechanism.reference[0])
    angular, place = mechanism.layout.angular, mechanism.layout.quaternion
    if place is not None and angular is not None:
        middle = np.concatenate([middle[: place.start], np.zeros(3), middle[place.stop :]])
    x = np.array([pose_from_coordinates(mechanism, middle + s * way, quat_0) for s in along[0]]).astype(
        np.float32
    )
    q = controller.coordinates(x.astype(float))
    q += _ERROR * rng.uniform(-1.0, 1.0, q.shape[1]) + _NOISE * rng.uniform(-1.0, 1.0, q.shape)
    q[_GAPS[0] : _GAPS[1] + 1, 0] = np.nan
    q[_SAMPLES:] = np.nan
    tables = {"q": q, "x": x, "v": np.outer(along[1], way), "a": np.outer(along[2], way)}
    return {name: values.astype(np.float32).astype(float) for name, values in tables.items()}


def _run(
    controller: Controller, programs: Mapping[str, Program], given: Array, rows: Array, kind: Any = None
) -> list[tuple[Array, Array, Array]]:
    """Memory at the start, forces and memories, for starts x, y (starts, size).

    With 50 digits, or in a type of NumPy.
    """

    def evaluate(label: str, table: Array) -> Array:
        if kind is None:
            exactly = [exact(programs[label], [Decimal(value) for value in row]) for row in table.tolist()]
            return np.array(exactly, dtype=object)
        return rounded(programs[label], np.asarray(table, dtype=float), kind)

    m, count = len(controller.robot.actuators), len(given)
    memory = first = evaluate(REST, given)
    forces, memories = [], []
    for row in rows:
        same = np.tile(np.concatenate([row, controller.gains]), (count, 1))
        result = evaluate(LAW, np.concatenate([memory, same], axis=1))
        forces.append(result[:, :m])
        memory = result[:, m:]
        memories.append(memory)
    force, after, start = (np.array(values, dtype=float) for values in (forces, memories, first))
    return [(start[k], force[:, k], after[:, k]) for k in range(count)]


def _sensitivity(
    controller: Controller, programs: Mapping[str, Program], given: Array, rows: Array
) -> dict[str, float]:
    """By how much forces and parts of the memory move where the loops at the start open by their size."""
    nx = mechanism_of(controller.robot).layout.nx
    condition = closing_condition(controller.robot, given[:, :nx], given[:, nx:])[0]
    ny = condition.size
    steps = np.zeros((2 * ny, given.shape[1]))
    steps[:, nx:] = _DIFFERENCE * np.concatenate([np.eye(ny), -np.eye(ny)])
    with np.errstate(all="ignore"):
        runs = _run(controller, programs, given + steps, rows, np.float64)
    found = [_parts(controller, run) for run in runs]
    return {
        name: float(
            np.max(
                sum(
                    np.abs(found[j][name] - found[ny + j][name]) * (condition[j] / (2.0 * _DIFFERENCE))
                    for j in range(ny)
                ),
                initial=0.0,
            )
        )
        for name in found[0]
    }


def _parts(controller: Controller, found: tuple[Array, Array, Array]) -> dict[str, Array]:
    """Forces, and the memory by its parts, the start among them."""
    first, force, memory = found
    return {"force": force, **memory_of(controller).split(np.concatenate([first[None], memory]))}


def _status(controller: Controller, memory: Array) -> list[int]:
    """What each sample returns."""
    parts = memory_of(controller).split(memory)
    missed = parts.get("missed", np.zeros((len(memory), 1)))[:, 0] > 0.0
    stopped = parts["stopped"][:, 0]
    # The reason is returned once.
    before = np.concatenate([[0.0], stopped[:-1]])
    reason = np.where(before > 0.0, STOPPED, stopped)
    return [int(k) for k in np.where(stopped > 0.0, reason, np.where(missed, BRIDGED, FINE))]
