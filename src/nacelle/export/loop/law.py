"""A controller as functions of a package: its law, and its memory at rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.compile import make_program
from nacelle.control.controller import Controller
from nacelle.control.fields import Fields
from nacelle.control.kind import ControllerKind
from nacelle.control.law import law_of
from nacelle.export.entry import CLOSING, Entry, pose_words
from nacelle.export.loop.assembly import pose_entry
from nacelle.export.states import SampleStates
from nacelle.kinematics.iteration.branch import WRONG
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.spatial.physics import declared_like
from nacelle.spatial.scalar import Array, pack

LAW, REST = "controller_law", "controller_rest"
"""What the functions are called."""

# How far readings are from the desired motion in reference vectors, and their noise, rad or m.
_AWAY, _NOISE = 2e-3, 2e-4


def memory_of(controller: Controller) -> Fields:
    """The parts of the memory."""
    return controller.kind.memory(controller.robot)


def gains_of(controller: Controller) -> Fields:
    """The parts of the gains."""
    return controller.kind.gains(controller.robot)


def controller_entries(controller: Controller, prefix: str, wrong: float = WRONG) -> list[Entry]:
    """The law of a controller, and its memory at rest at a pose; relations may be off by `wrong`."""
    return [_law(controller, prefix, wrong), _rest(controller, prefix)]


def _law(controller: Controller, prefix: str, wrong: float) -> Entry:
    robot, kind = controller.robot, controller.kind
    m, n = len(robot.actuators), robot.motion.n
    shapes = {
        "z": (memory_of(controller).size,),
        "q": (m,),
        "x": (mechanism_of(robot).layout.nx,),
        "v": (n,),
        "a": (n,),
        "gains": (gains_of(controller).size,),
    }
    drives = ", ".join(actuator.name for actuator in robot.actuators)
    words = {
        "z": "memory before the sample",
        "q": f"readings of the actuators {drives}; rad, m; NaN where there is none",
        "x": f"desired {pose_words(robot)}",
        "v": "desired reduced twist; m/s, rad/s",
        "a": "its derivative; m/s^2, rad/s^2",
        "gains": "gains",
        "force": f"forces of the actuators {drives}; N, N m",
        "memory": "memory after the sample",
    }
    program = replace(make_program(_unpacked(kind, wrong), robot, shapes), name=f"{prefix}_{LAW}")
    title = f"a sample of the controller {controller.name}, without a look at what it finds"
    return Entry(LAW, title, program, words, None, at=lambda states: _inputs(controller, program, states))


def _unpacked(kind: ControllerKind, wrong: float) -> Callable[..., Any]:
    """The law with the desired motion as three arrays: the same program."""
    law = law_of(kind, wrong)

    def unpacked(robot: Robot, z: Array, q: Array, *others: Array) -> Any:
        *motion, gains = others
        return law(robot, z, q, pack([entry for part in motion for entry in part]), gains)

    return declared_like(law)(unpacked)


def _rest(controller: Controller, prefix: str) -> Entry:
    robot, kind = controller.robot, controller.kind

    def rest(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
        return {"memory": kind.memory(robot).join(kind.start(robot, x, y))}

    words = {
        "x": pose_words(robot),
        "y": f"what {CLOSING} finds at the pose x",
        "memory": "memory of the controller at rest at the pose",
    }
    return pose_entry(robot, prefix, REST, "memory of the controller at rest", rest, words)


def _inputs(controller: Controller, program: Program, states: SampleStates) -> Mapping[str, Array]:
    """Inputs of the law at states: readings beside those of the motion, the memory of a first sample."""
    rng = np.random.default_rng(5)
    fields, kind, robot = memory_of(controller), controller.kind, controller.robot
    q = controller.coordinates(states.x)
    q = q + _AWAY * rng.uniform(-1.0, 1.0, q.shape)
    starts = [fields.join(kind.start(robot, x, y)) for x, y in zip(states.x, states.y, strict=True)]
    gains = np.tile(controller.gains, (len(q), 1))
    given = [q, states.x, states.v, states.a, gains]
    first = [program.evaluate([*z, *np.concatenate(row)]) for z, *row in zip(starts, *given, strict=True)]
    z = np.array(first, dtype=float)[:, q.shape[1] :]
    later = q + _NOISE * rng.uniform(-1.0, 1.0, q.shape)
    return dict(zip(("z", "q", "x", "v", "a", "gains"), (z, later, *given[1:]), strict=True))
