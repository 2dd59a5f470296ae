"""A controller and the robot that it moves, as functions of a package.

The controller: its law, and its memory at rest. The robot as a plant: its flow, what its encoders show, its
state at a pose. And whether a pose is reached: the number that a package looks at before it starts anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nacelle.compile import make_program
from nacelle.control.controller import Controller, law_function
from nacelle.control.kind import ControlLaw, VectorLayout
from nacelle.dynamics.physics import Physics
from nacelle.export.entry import CLOSING_STEP, Entry, pose_description
from nacelle.export.states import SampleStates
from nacelle.kinematics.branch import RELATION_TOLERANCE
from nacelle.kinematics.kinematic_model import actuator_positions, branch_signs
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.simulation.flow import (
    coordinates_from_pose,
    flow,
    reference_orientation,
    rigid_signals,
    state_size,
)
from nacelle.spatial.physics import copy_declarations
from nacelle.spatial.scalar import Array, minimum, pack

# ---- whether a pose is reached


ASSEMBLY = "assembly"
"""What the function is called."""


def pose_function(
    robot: Robot, function: Callable[..., Any], **more: tuple[int, ...]
) -> tuple[Callable[..., Any], dict[str, tuple[int, ...]]]:
    """A function of (robot, x, y, ...) without y where nothing is solved numerically, and its inputs' shapes.

    Args:
        robot: the robot.
        function: the function.
        **more: shapes of what it takes in addition to x and y.
    """
    mechanism = mechanism_of(robot)

    def call(robot: Robot, x: Array, *others: Array) -> Any:
        return function(robot, x, *(others if mechanism.unknown_count else (np.zeros(0), *others)))

    unknown = {"y": (mechanism.unknown_count,)} if mechanism.unknown_count else {}
    return call, {"x": (mechanism.layout.nx,), **unknown, **more}


def pose_entry(
    robot: Robot,
    prefix: str,
    label: str,
    title: str,
    function: Callable[..., Any],
    labels: Mapping[str, str],
    **more: tuple[int, ...],
) -> Entry:
    """The entry of a function of (robot, x, y, ...): `pose_function`.

    Args:
        robot: the robot.
        prefix: of all names.
        label: name behind the prefix.
        title: what it computes.
        function: the function.
        labels: what its inputs and outputs are.
        **more: shapes of what it takes in addition to x and y.
    """
    call, shapes = pose_function(robot, function, **more)
    program = make_program(call, robot, shapes)
    return Entry(label, title, replace(program, name=f"{prefix}_{label}"), labels, None)


def smallest_margin(robot: Robot, x: Array, y: Array, wrong: float) -> dict[str, Array]:
    """The smallest of the reach margins and of the numbers that are positive on the reference's branch."""
    values = [*actuator_positions(robot, x, y)["margins"], *branch_signs(robot, x, y, wrong)["branch"]]
    smallest = values[0]
    for value in values[1:]:
        smallest = minimum(smallest, value)
    return {"margin": np.array([smallest])}


def assembly_entry(robot: Robot, prefix: str, wrong: float = RELATION_TOLERANCE) -> Entry:
    """The function that says whether a pose is reached; relations of unknowns may be off by `wrong`."""
    labels = {
        "x": pose_description(robot),
        "y": f"what {CLOSING_STEP} finds at the pose x",
        "margin": "above 0 where the robot reaches the pose, assembled as in the reference pose",
    }
    title = "whether a pose is reached: the smallest reach margin, or number of the branch"
    return pose_entry(robot, prefix, ASSEMBLY, title, partial(smallest_margin, wrong=wrong), labels)


# ---- the controller: its law, and its memory at rest


LAW, REST = "controller_law", "controller_rest"
"""What the functions are called."""

# How far readings are from the desired motion in reference vectors, and their noise, rad or m.
_AWAY, _NOISE = 2e-3, 2e-4


def memory_fields(controller: Controller) -> VectorLayout:
    """The parts of the memory."""
    return controller.kind.memory(controller.robot)


def gain_fields(controller: Controller) -> VectorLayout:
    """The parts of the gains."""
    return controller.kind.gains(controller.robot)


def controller_entries(controller: Controller, prefix: str, wrong: float = RELATION_TOLERANCE) -> list[Entry]:
    """The law of a controller, and its memory at rest at a pose; relations may be off by `wrong`."""
    return [_law_entry(controller, prefix, wrong), _rest_entry(controller, prefix)]


def _law_entry(controller: Controller, prefix: str, wrong: float) -> Entry:
    robot, kind = controller.robot, controller.kind
    m, n = len(robot.actuators), robot.motion.n
    shapes = {
        "z": (memory_fields(controller).size,),
        "q": (m,),
        "x": (mechanism_of(robot).layout.nx,),
        "v": (n,),
        "a": (n,),
        "gains": (gain_fields(controller).size,),
    }
    drives = ", ".join(actuator.name for actuator in robot.actuators)
    labels = {
        "z": "memory before the sample",
        "q": f"readings of the actuators {drives}; rad, m; NaN for a missing reading",
        "x": f"desired {pose_description(robot)}",
        "v": "desired reduced twist; m/s, rad/s",
        "a": "its derivative; m/s^2, rad/s^2",
        "gains": "gains",
        "force": f"forces of the actuators {drives}; N, N m",
        "memory": "memory after the sample",
    }
    program = replace(make_program(_unpack_motion(kind, wrong), robot, shapes), name=f"{prefix}_{LAW}")
    title = f"a sample of the controller {controller.name}, without a look at what it finds"
    return Entry(
        LAW, title, program, labels, None, at=lambda states: _law_inputs(controller, program, states)
    )


def _unpack_motion(kind: ControlLaw, wrong: float) -> Callable[..., Any]:
    """The law with the desired motion as three arrays: the same program."""
    law = law_function(kind, wrong)

    def unpack(robot: Robot, z: Array, q: Array, *others: Array) -> Any:
        *motion, gains = others
        return law(robot, z, q, pack([entry for part in motion for entry in part]), gains)

    return copy_declarations(law)(unpack)


def _rest_entry(controller: Controller, prefix: str) -> Entry:
    robot, kind = controller.robot, controller.kind

    def rest(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
        return {"memory": kind.memory(robot).join(kind.start(robot, x, y))}

    labels = {
        "x": pose_description(robot),
        "y": f"what {CLOSING_STEP} finds at the pose x",
        "memory": "memory of the controller at rest at the pose",
    }
    return pose_entry(robot, prefix, REST, "memory of the controller at rest", rest, labels)


def _law_inputs(controller: Controller, program: Program, states: SampleStates) -> Mapping[str, Array]:
    """Inputs of the law at states: readings close to those of the motion, the memory of a first sample."""
    rng = np.random.default_rng(5)
    fields, kind, robot = memory_fields(controller), controller.kind, controller.robot
    q = controller.coordinates(states.x)
    q = q + _AWAY * rng.uniform(-1.0, 1.0, q.shape)
    starts = [fields.join(kind.start(robot, x, y)) for x, y in zip(states.x, states.y, strict=True)]
    gains = np.tile(controller.gains, (len(q), 1))
    tables = [q, states.x, states.v, states.a, gains]
    first = [program.evaluate([*z, *np.concatenate(row)]) for z, *row in zip(starts, *tables, strict=True)]
    z = np.array(first, dtype=float)[:, q.shape[1] :]
    later = q + _NOISE * rng.uniform(-1.0, 1.0, q.shape)
    return dict(zip(("z", "q", "x", "v", "a", "gains"), (z, later, *tables[1:]), strict=True))


# ---- the robot as a plant: its flow, what its encoders show, its state at a pose


PLANT, STATE = "plant", "plant_state"
"""What the flow and the state at a pose are called."""


def plant_entries(robot: Robot, prefix: str, physics: Physics) -> list[Entry]:
    """The flow of a robot, its encoders, its pose and twist, and the state at these."""
    quat_0 = reference_orientation(mechanism_of(robot))
    size, m = state_size(robot), (len(robot.actuators),)
    drives = ", ".join(actuator.name for actuator in robot.actuators)
    labels = {
        "state": _state_description(robot),
        "tau": f"forces of the actuators {drives}; N, N m",
        "derivative": "derivative of the state by time",
        "q": f"coordinates of the actuators {drives}; rad, m",
        "x": pose_description(robot),
        "y": f"what {CLOSING_STEP} finds at the pose x",
        "v": "reduced twist; m/s, rad/s",
    }

    def make(
        label: str, title: str, function: Callable[..., Any], shapes: Mapping[str, Any], driver: str = ""
    ) -> Entry:
        program = replace(make_program(function, robot, shapes), name=f"{prefix}_{label}")
        return Entry(
            label,
            title,
            program,
            labels,
            None,
            at=_states_with_forces if driver else _plant_states,
            driver=driver,
        )

    def derivative(robot: Robot, s: Array, tau: Array) -> dict[str, Array]:
        return {"derivative": flow(robot, s, tau, quat_0, physics=physics)}

    def encoders(robot: Robot, s: Array) -> dict[str, Array]:
        return {"q": rigid_signals(robot, s, quat_0, ("q",))["q"]}

    def pose(robot: Robot, s: Array) -> dict[str, Array]:
        signals = rigid_signals(robot, s, quat_0, ())
        return {"x": signals["x"], "v": signals["v"]}

    def state(robot: Robot, x: Array, y: Array, v: Array) -> dict[str, Array]:
        return {"state": pack([*coordinates_from_pose(mechanism_of(robot), x, quat_0), *v, *y])}

    return [
        make(
            PLANT,
            "the robot under its actuators' forces",
            derivative,
            {"state": size, "tau": m},
            driver="rk4",
        ),
        make("plant_encoders", "what the encoders show", encoders, {"state": size}),
        make("plant_pose", "pose and twist of the platform", pose, {"state": size}),
        pose_entry(
            robot, prefix, STATE, "the state at a pose and a twist", state, labels, v=(robot.motion.n,)
        ),
    ]


def _state_description(robot: Robot) -> str:
    mechanism = mechanism_of(robot)
    texts = ["reduced pose"]
    if mechanism.layout.quaternion is not None:
        texts = ["reduced pose, with a rotation vector from the reference orientation for the quaternion"]
    texts += ["reduced twist", *(["passive coordinates"] if mechanism.unknown_count else [])]
    return f"{'; '.join(texts)}; m, rad, m/s, rad/s"


def _plant_states(states: SampleStates) -> dict[str, Array]:
    """States of the plant."""
    mechanism = mechanism_of(states.robot)
    quat_0 = reference_orientation(mechanism)
    c = [coordinates_from_pose(mechanism, x, quat_0) for x in states.x]
    return {"state": np.concatenate([np.array(c), states.v, states.y], axis=1)}


def _states_with_forces(states: SampleStates) -> dict[str, Array]:
    """States of the plant, and the actuators' forces along the motion."""
    return {**_plant_states(states), "tau": states.tau}
