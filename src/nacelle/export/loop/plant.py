"""The robot as a plant in a package: its flow, what its encoders show, its state at a pose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nacelle.compile import make_program
from nacelle.dynamics.settings import Settings
from nacelle.export.entry import CLOSING, Entry, pose_words
from nacelle.export.loop.assembly import pose_entry
from nacelle.export.states import SampleStates
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.simulation.feedback import rigid_signals
from nacelle.simulation.flow import coordinates_of, flow, reference_orientation, state_size
from nacelle.spatial.scalar import Array, pack

PLANT, STATE = "plant", "plant_state"
"""What the flow and the state at a pose are called."""


def plant_entries(robot: Robot, prefix: str, *, friction: bool, smooth: float | None) -> list[Entry]:
    """The flow of a robot, its encoders, its pose and twist, and the state at these."""
    quat_0 = reference_orientation(mechanism_of(robot))
    options = Settings(friction, smooth).options
    size, m = state_size(robot), (len(robot.actuators),)
    drives = ", ".join(actuator.name for actuator in robot.actuators)
    words = {
        "state": _state_words(robot),
        "tau": f"forces of the actuators {drives}; N, N m",
        "derivative": "derivative of the state by time",
        "q": f"coordinates of the actuators {drives}; rad, m",
        "x": pose_words(robot),
        "y": f"what {CLOSING} finds at the pose x",
        "v": "reduced twist; m/s, rad/s",
    }

    def made(
        label: str, title: str, function: Callable[..., Any], shapes: Mapping[str, Any], driver: str = ""
    ) -> Entry:
        program = replace(make_program(function, robot, shapes), name=f"{prefix}_{label}")
        return Entry(
            label, title, program, words, None, at=_with_forces if driver else _states, driver=driver
        )

    def derivative(robot: Robot, s: Array, tau: Array) -> dict[str, Array]:
        return {"derivative": flow(robot, s, tau, quat_0, **options)}

    def encoders(robot: Robot, s: Array) -> dict[str, Array]:
        return {"q": rigid_signals(robot, s, quat_0, ("q",))["q"]}

    def pose(robot: Robot, s: Array) -> dict[str, Array]:
        signals = rigid_signals(robot, s, quat_0, ())
        return {"x": signals["x"], "v": signals["v"]}

    def state(robot: Robot, x: Array, y: Array, v: Array) -> dict[str, Array]:
        return {"state": pack([*coordinates_of(mechanism_of(robot), x, quat_0), *v, *y])}

    return [
        made(
            PLANT,
            "the robot under its actuators' forces",
            derivative,
            {"state": size, "tau": m},
            driver="rk4",
        ),
        made("plant_encoders", "what the encoders show", encoders, {"state": size}),
        made("plant_pose", "pose and twist of the platform", pose, {"state": size}),
        pose_entry(
            robot, prefix, STATE, "the state at a pose and a twist", state, words, v=(robot.motion.n,)
        ),
    ]


def _state_words(robot: Robot) -> str:
    mechanism = mechanism_of(robot)
    texts = ["reduced pose"]
    if mechanism.layout.quaternion is not None:
        texts = ["reduced pose, with a rotation vector from the reference orientation for the quaternion"]
    texts += ["reduced twist", *(["what iteration finds"] if mechanism.ny else [])]
    return f"{'; '.join(texts)}; m, rad, m/s, rad/s"


def _states(states: SampleStates) -> dict[str, Array]:
    """States of the plant."""
    mechanism = mechanism_of(states.robot)
    quat_0 = reference_orientation(mechanism)
    c = [coordinates_of(mechanism, x, quat_0) for x in states.x]
    return {"state": np.concatenate([np.array(c), states.v, states.y], axis=1)}


def _with_forces(states: SampleStates) -> dict[str, Array]:
    """States of the plant, and the actuators' forces along the motion."""
    return {**_states(states), "tau": states.tau}
