"""What moves in a scenario: the true robot, its friction and drives, loads and wrenches by time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nacelle.control.loop.closed_loop import Change
from nacelle.control.scenario.fields import for_actuators, quantity_of
from nacelle.control.scenario.paths import CarriedMass
from nacelle.control.scenario.spec import ChangeSpec, DrivesSpec, LoadSpec, PlantSpec, RobotSpec, WrenchSpec
from nacelle.dynamics.base_parameters.moved import moved
from nacelle.errors import KinematicsError
from nacelle.library import load
from nacelle.model.leg import PLATFORM
from nacelle.model.payload import with_payload
from nacelle.model.robot import Robot
from nacelle.simulation.drives.drives import Drives
from nacelle.simulation.drives.plant import DrivenPlant
from nacelle.simulation.drives.stiction import stiction_of
from nacelle.simulation.plant import RigidPlant
from nacelle.simulation.protocol import Plant
from nacelle.spatial.scalar import Array

# Makes a plant with flexible links of (robot, friction=, smooth=): of another wing, so handed over.
Elastic = Callable[..., Any]


def robot_of_spec(robot: Robot, spec: RobotSpec, folder: Path) -> Robot:
    """The robot of a scenario's `model` or `plant`: from a file, with moved parameters, with a load."""
    result = robot
    if spec.file is not None:
        given = folder / spec.file
        result = load(str(given) if given.exists() else spec.file)
    elif spec.moved:
        result = moved(robot, 100.0 * spec.moved, seed=spec.seed)
    return result if spec.load is None else _loaded(result, spec.load)


def _loaded(robot: Robot, spec: LoadSpec) -> Robot:
    return with_payload(robot, spec.mass, com=spec.com, inertia=spec.inertia, on=spec.on)


# ---- drives


def drives_of(robot: Robot, spec: DrivesSpec) -> tuple[Robot, Drives]:
    """A robot without the friction that its drives have, and the drives."""
    given: dict[str, Any] = {"lag": spec.lag or 0.0, "bandwidth": spec.bandwidth}
    if spec.limits in (None, "none"):
        given["limits"] = None
    elif spec.limits != "described":
        given["limits"] = for_actuators(robot, spec.limits, ("force", "torque"))
    if spec.cogging is not None:
        amplitude = for_actuators(robot, spec.cogging.amplitude, ("force", "torque"))
        cycles = for_actuators(robot, spec.cogging.cycles, ("gear ratio per length", "number"))
        table = np.broadcast_arrays(amplitude, cycles, np.full(len(robot.actuators), spec.cogging.phase))
        given["cogging"] = np.stack(table, axis=-1)
    more = spec.stiction
    if more is not None:
        options: dict[str, Any] = {"static": more.static}
        kinds = {"rate": ("speed", "angular speed"), "stiffness": ("stiffness", "angular stiffness")}
        for key, of in kinds.items():
            if getattr(more, key) is not None:
                options[key] = for_actuators(robot, getattr(more, key), of)
        robot, given["stiction"] = stiction_of(robot, **options)
    return robot, Drives(**given)


# ---- plants over time


class _Extra(NamedTuple):
    """A load or a wrench, and when it is there, s."""

    start: float
    end: float
    load: LoadSpec | None = None
    wrench: WrenchSpec | None = None


class PlantPlan(NamedTuple):
    """What moves at first, and later."""

    plant: Plant
    changes: tuple[Change, ...]


def plants_of(
    true: Robot,
    spec: PlantSpec,
    changes: Sequence[ChangeSpec],
    loads: Sequence[CarriedMass],
    elastic: Elastic | None,
) -> PlantPlan:
    """Plants of a scenario over time.

    Args:
        true: the robot that moves.
        spec: friction and drives.
        changes: loads and wrenches as written.
        loads: that the path picks up.
        elastic: makes a plant with flexible links; None if none can be.

    Raises:
        NacelleError: if something does not fit the robot.
    """
    extras = [
        _Extra(change.at, np.inf if change.until is None else change.until, change.load, change.wrench)
        for change in changes
    ]
    extras += [_Extra(start, end, LoadSpec(mass=mass)) for start, end, mass in loads]
    times = sorted({time for extra in extras for time in (extra.start, extra.end) if np.isfinite(time)})
    # What is there before all changes; equal sets of extras are one plant, compiled once.
    made: dict[tuple[int, ...], Plant] = {}

    def at(time: float) -> Plant:
        there = tuple(k for k, extra in enumerate(extras) if extra.start <= time < extra.end)
        if there not in made:
            made[there] = _plant(true, spec, [extras[k] for k in there], elastic)
        return made[there]

    return PlantPlan(at(-np.inf), tuple(Change(time, at(time)) for time in times))


def _plant(true: Robot, spec: PlantSpec, extras: list[_Extra], elastic: Elastic | None) -> Plant:
    robot, drives = drives_of(true, spec.drives)
    external: dict[str, Array] = {}
    for extra in extras:
        if extra.load is not None:
            robot = _loaded(robot, extra.load)
        if extra.wrench is not None:
            on = extra.wrench.on or robot.bodies[PLATFORM].name
            external[on] = external.get(on, np.zeros(6)) + _wrench(extra.wrench)
    inner: Any
    if spec.elastic:
        if elastic is None:
            raise KinematicsError(
                "a plant with flexible links is handed over: run(..., elastic=nacelle.ElasticPlant)"
            )
        if external:
            raise KinematicsError("wrenches act on rigid robots: leave them out, or `elastic`")
        inner = elastic(robot, friction=spec.friction, smooth=spec.smooth)
    else:
        inner = RigidPlant(robot, friction=spec.friction, smooth=spec.smooth, external=external)
    return DrivenPlant(inner, drives)


def _wrench(spec: WrenchSpec) -> Array:
    """[f; n] (6,), N and N m."""
    parts = []
    for given, kind in ((spec.force, "force"), (spec.torque, "torque")):
        entries: Any = given
        if isinstance(given, str):
            *numbers, unit = given.split()
            entries = [f"{number} {unit}" for number in numbers]
        if len(entries) != 3:
            raise KinematicsError(f'a {kind} has three entries: write "0 0 -20 N", got {given!r}')
        parts += [quantity_of(entry, kind) for entry in entries]
    return np.array(parts)
