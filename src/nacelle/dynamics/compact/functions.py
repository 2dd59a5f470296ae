"""The smallest form as physics functions: what is traced, counted, exported and run.

Inputs from the platform's pose are as few as its motion has: "rotation" (the matrix, or cosine and sine of
one angle, or nothing), "position" (its coordinates), "twist" and "acceleration" (n,). How the form is written
(`Choice`) comes as plain options.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.dynamics.compact.demand import Counts
from nacelle.dynamics.compact.form import clean
from nacelle.dynamics.compact.forward import forward as forward_form
from nacelle.dynamics.compact.forward import inertia as inertia_form
from nacelle.dynamics.compact.measured import element_shapes, inverse_from_elements, inverse_from_encoders
from nacelle.dynamics.compact.model import Choice, platform_wrench, read
from nacelle.dynamics.compact.model import inverse as inverse_form
from nacelle.dynamics.compact.points import Platform
from nacelle.kinematics.mechanism import mechanism
from nacelle.kinematics.shapes import of_actuators, of_pose, of_twist, of_unknowns
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, Scalar, pack, product


def pose_shapes(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the numbers that place the platform."""
    axes = robot.motion.twist_axes
    turns = sum(k >= 3 for k in axes)
    shapes: dict[str, tuple[int, ...]] = {}
    if turns:
        shapes["rotation"] = (3, 3) if turns == 3 else (2,)
    if turns < len(axes):
        shapes["position"] = (len(axes) - turns,)
    return shapes


def platform_at(robot: Robot, arrays: dict[str, Array], v: Array, a: Array | None) -> Platform:
    """The platform's motion from the inputs of `pose_shapes`, a twist (n,) and its derivative (n,)."""
    known, axes = mechanism(robot), robot.motion.twist_axes
    reference = known.assembly.platform
    turns = [k - 3 for k in axes if k >= 3]
    R: Array = np.asarray(reference.R)
    if len(turns) == 3:
        R = arrays["rotation"]
    elif turns:
        c, s = arrays["rotation"]
        k, i, j = turns[0], (turns[0] + 1) % 3, (turns[0] + 2) % 3
        about: list[list[Scalar]] = [[0.0] * 3 for _ in range(3)]
        about[k][k], about[i][i], about[j][j], about[i][j], about[j][i] = 1.0, c, c, -s, s
        R = product(pack(about), clean(known.chart.turned_from))
    where = iter(arrays.get("position", ()))
    p = pack([next(where) if k in axes else reference.p[k] for k in range(3)])
    V = _spread(v, axes)
    A = np.zeros(6) if a is None else _spread(a, axes)
    return Platform(R, p, V[:3], V[3:], A[:3], A[3:])


def _spread(values: Array, axes: tuple[int, ...]) -> Array:
    entries: list[Scalar] = [0.0] * 6
    for value, k in zip(values, axes, strict=True):
        entries[k] = value
    return pack(entries)


def _settings(options: dict[str, Any]) -> tuple[Counts, Choice]:
    counts = Counts(bool(options.pop("friction", True)), options.pop("smooth", None))
    return counts, Choice(**options)


def inverse_dynamics(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Any]:
    """Actuator forces from the pose (`pose_shapes`), twist and acceleration."""
    *pose, v, a = arrays
    platform = platform_at(robot, dict(zip(pose_shapes(robot), pose, strict=True)), v, a)
    return {"force": inverse_form(robot, platform, None, *_settings(options))["force"]}


def inverse_stage(robot: Robot, *arrays: Array, stage: str, **options: Any) -> dict[str, Any]:
    """What inverse dynamics has found when it comes to a stage's end: "legs", or "platform" with the legs."""
    *pose, v, a = arrays
    platform = platform_at(robot, dict(zip(pose_shapes(robot), pose, strict=True)), v, a)
    counts, choice = _settings(options)
    legs = read(robot, platform, choice)
    found: dict[str, Any] = {}
    for k, demand in enumerate(legs.demands(robot, counts, choice)):
        found |= {f"r{k}": demand.r, f"G{k}": demand.G, f"gain{k}": demand.gain, f"own{k}": demand.own}
    if stage == "platform":
        found["force"], found["moment"] = platform_wrench(robot, legs)
    return found


def guarded_inverse_dynamics(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Any]:
    """The same with its smallest scaled pivot and the gates of the legs, for controllers that watch them."""
    *pose, v, a = arrays
    platform = platform_at(robot, dict(zip(pose_shapes(robot), pose, strict=True)), v, a)
    found = inverse_form(robot, platform, None, *_settings(options))
    return {"force": found["force"], "pivot": pack([found["pivot"]])[0], "gates": found["gates"]}


def forward_dynamics(robot: Robot, *arrays: Array, **options: Any) -> dict[str, Any]:
    """Derivative of the reduced twist from the pose (`pose_shapes`), twist and actuator forces."""
    *pose, v, tau = arrays
    platform = platform_at(robot, dict(zip(pose_shapes(robot), pose, strict=True)), v, None)
    found = forward_form(robot, platform, tau, None, *_settings(options))
    return {"acceleration": found["acceleration"]}


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
