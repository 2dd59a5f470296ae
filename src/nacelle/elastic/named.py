"""Named models of robots with flexible links: what is counted and exported.

Each is the smallest that there is for the robot:

    lengths     inputs are coordinates of actuators and all elastic ones, and their rates ([BK2013] section V)
    condensed   positions and rates without closures (`condensed.reduced`)
    general     positions that close all loops, and independent rates (`dynamics.plan`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nacelle.dynamics.models import Model
from nacelle.dynamics.physics import Physics
from nacelle.elastic.condensed.models import (
    condensed_forward,
    condensed_inverse,
    lengths_forward,
    lengths_inverse,
    reason_no_closed_form,
    reference_actuators,
)
from nacelle.elastic.condensed.reduced import reduced_coordinates
from nacelle.elastic.dynamics.models import elastic_forward, elastic_inverse
from nacelle.elastic.flexible_tree import flexible_tree
from nacelle.elastic.forms import RigidConfiguration, form_of
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from nacelle.model_names import ELASTIC_MODEL_NAMES
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array

ELASTIC_NAMES = ELASTIC_MODEL_NAMES
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "lengths": (lengths_inverse, lengths_forward),
    "condensed": (condensed_inverse, condensed_forward),
    "general": (elastic_inverse, elastic_forward),
}
_INCLUDES = {
    "lengths": "the platform from lengths of links, motion, elastic forces and all solves",
    "condensed": "motion of all links, elastic forces and all solves; there is no closure",
    "general": "motion of all links, closures of rates, elastic forces and all solves; positions are closed",
}


def elastic_model(
    robot: Robot, name: str, *, friction: bool = True, smooth: float | None = None, form: str | None = None
) -> Model:
    """A named model of a robot with flexible links.

    Args:
        robot: the robot.
        name: "elastic_inverse_dynamics" or "elastic_forward_dynamics".
        friction: whether friction counts.
        smooth: rate over which Coulomb friction changes its sign smoothly.
        form: "lengths", "condensed" or "general"; the smallest that there is if None.

    Raises:
        KinematicsError: if there is no such model of this robot.
    """
    if name not in ELASTIC_NAMES:
        raise KinematicsError(f"no elastic model is called {name!r}; {did_you_mean(name, ELASTIC_NAMES)}")
    if form is not None and form not in _FUNCTIONS:
        raise KinematicsError(f"no form is called {form!r}; {did_you_mean(form, tuple(_FUNCTIONS))}")
    robot = robot.without_rounding_differences
    chosen = form or _default_form(robot)
    function = _FUNCTIONS[chosen][ELASTIC_NAMES.index(name)]
    inputs = input_shapes(function, robot)
    assert inputs is not None
    options = {"physics": Physics(friction, smooth)}
    return Model(
        name, robot, chosen, function, inputs, options, _input_meanings(robot, chosen), _INCLUDES[chosen]
    )


def _default_form(robot: Robot) -> str:
    form = form_of(robot)
    if form.name != "condensed":
        return "general"
    return "condensed" if reason_no_closed_form(reduced_coordinates(robot)) else "lengths"


def _input_meanings(robot: Robot, form: str) -> dict[str, str]:
    drives = ", ".join(actuator.name for actuator in robot.actuators)
    coordinates = ", ".join(flexible_tree(robot).names)
    meaning = {
        "qa": f"coordinates of the actuators {drives}; rad, m",
        "va": "their rates",
        "qe": f"elastic coordinates {coordinates}; m, rad",
        "ve": "their rates",
        "a": f"accelerations of the actuators {drives}; rad/s^2, m/s^2",
        "tau": f"forces of the actuators {drives}; N, N m",
        "force": f"forces of the actuators {drives}; N, N m",
        "elastic": "accelerations of the elastic coordinates; m/s^2, rad/s^2",
        "acceleration": "accelerations of the actuators; rad/s^2, m/s^2",
    }
    if form != "lengths":
        meaning |= {
            "p": "positions: platform (m, quat_xyzw), joints, elastic coordinates"
            + (", closing all loops" if form == "general" else " of the legs, then the links' bending"),
            "y": f"independent rates: actuators {drives}, then all others",
            "acceleration": "accelerations of the independent rates that are not given",
        }
    return meaning


def random_inputs(model: Model, count: int, seed: int = 0) -> dict[str, Array]:
    """Random inputs (count, ...) of an elastic model near the reference pose, by name."""
    robot = model.robot
    random = np.random.default_rng([seed, 16])
    if model.form == "lengths":
        return _random_lengths(robot, model.inputs, count, random)
    form = form_of(robot, model.form)
    assembly = mechanism_of(robot).assembly
    undeformed_robot = RigidConfiguration(
        assembly.platform, assembly.q_tree, np.zeros(robot.platform_nv + robot.nv)
    )
    start, _ = form.start(undeformed_robot)
    bent = 1e-3 * robot.size * random.standard_normal((count, form.n))
    values = {"p": np.stack([form.step_positions(start, row) for row in bent])}
    for name, shape in model.inputs.items():
        if name != "p":
            values[name] = 0.3 * random.standard_normal((count, *shape))
    return values


def _random_lengths(
    robot: Robot, inputs: Mapping[str, tuple[int, ...]], count: int, random: np.random.Generator
) -> dict[str, Array]:
    values = {}
    for name, shape in inputs.items():
        size = {"qa": 0.05, "qe": 1e-3}.get(name, 0.3) * (robot.size if name in ("qa", "qe") else 1.0)
        values[name] = size * random.standard_normal((count, *shape))
    values["qa"] = values["qa"] + np.array(reference_actuators(robot))
    return values
