"""The smallest form as physics functions: what is traced, counted, exported and run.

How the form is written (`Choice`) comes as plain options.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.dynamics.general.bars.demand import Counts
from nacelle.dynamics.compact.forward import forward as forward_form
from nacelle.dynamics.compact.forward import inertia as inertia_form
from nacelle.dynamics.compact.measured import element_shapes, inverse_from_elements, inverse_from_encoders
from nacelle.dynamics.compact.model import Choice
from nacelle.dynamics.compact.model import inverse as inverse_form
from nacelle.dynamics.compact.points import Platform
from nacelle.kinematics.mechanism import mechanism
from nacelle.kinematics.shapes import of_actuators, of_pose, of_twist, of_unknowns
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, pack


def _spread(values: Array, axes: tuple[int, ...]) -> Array:
    entries: list[Scalar] = [0.0] * 6
    for value, k in zip(values, axes, strict=True):
        entries[k] = value
    return pack(entries)


def _settings(options: dict[str, Any]) -> tuple[Counts, Choice]:
    counts = Counts(bool(options.pop("friction", True)), options.pop("smooth", None))
    return counts, Choice(**options)


def inverse_dynamics_from_elements(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Any]:
    """Actuator forces from the state of the kinematic elements (`element_shapes`)."""
    elements = dict(zip(element_shapes(robot), arrays, strict=True))
    return {"force": inverse_from_elements(robot, elements, *_settings(options))["force"]}


def inverse_dynamics_from_encoders(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Any]:
    """Actuator forces from coordinates, rates and accelerations of the actuators."""
    q, q_dot, q_ddot = arrays
    return {"force": inverse_from_encoders(robot, q, q_dot, q_ddot, *_settings(options))["force"]}


@physics(x=of_pose, y=of_unknowns, v=of_twist, a=of_twist, load=of_twist)
def inverse(
    robot: Robot, x: Array, y: Array, v: Array, a: Array, load: Array, **options: Any
) -> dict[str, Array]:
    """Actuator forces at a reduced pose x, as `nacelle.dynamics.functions.inverse`; y is not needed."""
    del y
    pose, axes = mechanism(robot).chart.pose(x), robot.motion.twist_axes
    V, A = _spread(v, axes), _spread(a, axes)
    platform = Platform(pose.R, pose.p, V[:3], V[3:], A[:3], A[3:])
    found = inverse_form(robot, platform, load, *_settings(options))
    return {"force": found["force"], "pivot": pack([found["pivot"]])[0], "gates": found["gates"]}


@physics(x=of_pose, y=of_unknowns, v=of_twist, tau=of_actuators, load=of_twist)
def forward(
    robot: Robot, x: Array, y: Array, v: Array, tau: Array, load: Array, **options: Any
) -> dict[str, Array]:
    """Derivative of the reduced twist at a reduced pose x; y is not needed."""
    del y
    pose, axes = mechanism(robot).chart.pose(x), robot.motion.twist_axes
    V, still = _spread(v, axes), np.zeros(3)
    platform = Platform(pose.R, pose.p, V[:3], V[3:], still, still)
    return forward_form(robot, platform, tau, load, *_settings(options))


@physics(x=of_pose, y=of_unknowns)
def inertia(robot: Robot, x: Array, y: Array) -> dict[str, Array]:
    """Mass matrix and J_r^-1 at a reduced pose x; y is not needed."""
    del y
    pose, still = mechanism(robot).chart.pose(x), np.zeros(3)
    return inertia_form(robot, Platform(pose.R, pose.p, still, still, still, still))
