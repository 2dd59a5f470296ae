"""States of a robot around its reference, as the inputs of its models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.measured.inputs import flat_axes
from nacelle.dynamics.poses import sample_poses
from nacelle.kinematics.bars.form import LegForm
from nacelle.kinematics.bars.reading import read_legs
from nacelle.kinematics.iteration.unknowns import unknowns
from nacelle.kinematics.jacobian import twist_units
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.motion import joint_motion
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

STATES = 12
# Largest rates: the robot's size, or 1 rad, per second; and their derivatives.
_RATE, _ACCELERATION = 1.0, 5.0


@dataclass(frozen=True, eq=False)
class States:
    """States of a robot, a row each: pose x, unknowns y, twist v, its derivative a, forces tau."""

    robot: Robot
    x: Array
    y: Array
    v: Array
    a: Array
    options: Mapping[str, Any]

    @cached_property
    def tau(self) -> Array:
        """Forces of the actuators that the motion needs."""
        return inverse_dynamics(self.robot, self.x, self.v, self.a, **self.options).force


def sample_states(robot: Robot, count: int = STATES, *, seed: int = 0, **options: Any) -> States:
    """Seeded states around the reference pose, far from singularities.

    Args:
        robot: the robot.
        count: how many.
        seed: of the random numbers.
        **options: `friction` and `smooth` of the forces.
    """
    rng = np.random.default_rng([seed, 7])
    x = sample_poses(robot, count, seed=seed)
    units = twist_units(robot)
    v = rng.uniform(-_RATE, _RATE, (count, robot.motion.n)) * units
    a = rng.uniform(-_ACCELERATION, _ACCELERATION, (count, robot.motion.n)) * units
    y, _ = unknowns(mechanism_of(robot), x)
    return States(robot, x, y, v, a, options)


def inputs_at(states: States, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """The inputs of a model at some states, by name, a row each."""
    values = {
        "x": states.x,
        "y": states.y,
        "v": states.v,
        "a": states.a,
        # A reference that differs from the motion: that of the state before.
        "v_ref": np.roll(states.v, 1, axis=0),
        "a_ref": np.roll(states.a, 1, axis=0),
    }
    values |= {"tau": states.tau} if "tau" in shapes else {}
    if not set(shapes) <= set(values):
        values |= _encoders(states) if "q_ddot" in shapes else _elements(states)
    return {name: np.asarray(values[name]).reshape(len(states.x), -1) for name in shapes}


def _encoders(states: States) -> dict[str, Array]:
    q, q_dot, q_ddot = joint_motion(states.robot, states.x, states.v, states.a).actuators
    return {"q": q, "q_dot": q_dot, "q_ddot": q_ddot}


def _elements(states: States) -> dict[str, Array]:
    """Directions and lengths of the elements of all legs with two derivatives; the platform does not turn."""
    robot = states.robot
    mechanism, axes = mechanism_of(robot), list(flat_axes(robot))
    reference = mechanism.assembly.platform
    motion: list[Array] = [np.tile(np.asarray(reference.p, dtype=float), (len(states.x), 1))]
    motion += [np.zeros_like(motion[0]), np.zeros_like(motion[0])]
    for column, axis in enumerate(robot.motion.twist_axes):
        for rows, values in zip(motion, (states.x, states.v, states.a), strict=True):
            rows[:, axis] = values[:, column]
    drives = joint_motion(robot, states.x, states.v, states.a).actuators
    elements: dict[str, Array] = {}
    for form in read_legs(robot.numeric):
        q = [values[:, form.drive.number, None] for values in drives]
        end = [motion[0] + np.asarray(reference.R) @ form.B - form.A, motion[1], motion[2]]
        elements |= _leg_elements(form, end, q, axes)
    return elements


def _leg_elements(form: LegForm, end: list[Array], q: list[Array], axes: list[int]) -> dict[str, Array]:
    if form.kind == "strut":
        u = _direction(end)
        return {
            f"{form.name}_strut": np.stack(u, axis=1)[:, :, axes],
            f"{form.name}_length": np.concatenate(q, axis=1),
        }
    if form.drive.revolute:
        side = np.cross(form.axis, form.carriage.start)
        u = np.cos(q[0]) * form.carriage.start + np.sin(q[0]) * side
        turned = np.cos(q[0]) * side - np.sin(q[0]) * form.carriage.start
        arm = [u, q[1] * turned, q[2] * turned - q[1] * q[1] * u]
        elements = {f"{form.name}_arm": np.stack(arm, axis=1)[:, :, axes]}
        reach = [form.carriage.arm * part for part in arm]
    else:
        elements = {f"{form.name}_slide": np.concatenate(q, axis=1)}
        reach = [part * form.axis for part in q]
    rod = [(b - a) / form.length for a, b in zip(reach, end, strict=True)]
    return elements | {f"{form.name}_rod": np.stack(rod, axis=1)[:, :, axes]}


def _direction(r: list[Array]) -> list[Array]:
    """The unit vector along r with its two derivatives, from r with its own."""
    length = np.linalg.norm(r[0], axis=1, keepdims=True)
    u = r[0] / length
    rate = np.sum(u * r[1], axis=1, keepdims=True)
    du = (r[1] - rate * u) / length
    second = np.sum(du * r[1] + u * r[2], axis=1, keepdims=True)
    ddu = (r[2] - second * u - 2.0 * rate * du) / length
    return [u, du, ddu]
