"""External wrenches: what acts from outside on bodies and tools, [f; n] in base axes.

On a body it acts about the body's origin, on a tool about the tool's: then the moment about the body's
origin is n + arm x f, and the arm turns with the body. In arrays the tools follow the bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.dynamics.state import State
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, cross, pack


def load_names(robot: Robot) -> list[str]:
    """Names of all bodies, then of all tools: where wrenches may act."""
    return [body.name for body in robot.bodies] + [tool.name for tool in robot.tools]


def load_count(robot: Robot) -> int:
    """Number of bodies and tools."""
    return len(robot.bodies) + len(robot.tools)


def along_twist(state: State, wrenches: Mapping[int, Array]) -> Array:
    """Wrenches (6,) on bodies and tools, by index, as a force along the reduced twist (n,)."""
    robot = state.robot
    total: Array = np.zeros(robot.motion.n)
    for place, wrench in wrenches.items():
        body = place
        if place >= len(robot.bodies):
            tool = robot.tools[place - len(robot.bodies)]
            body = tool.body
            arm = state.now.motion.poses[body].R @ tool.frame.p
            wrench = pack([*wrench[:3], *(wrench[3:] + cross(arm, wrench[:3]))])
        total = total + (state.now.motion.jacobian(body) @ state.moving.U).T @ wrench
    return np.asarray(total)


def checked_wrenches(robot: Robot, external: Mapping[str, Any] | None) -> dict[int, Array]:
    """Take wrenches (..., 6) by name of the body or tool: by its index.

    Raises:
        KinematicsError: if a name, a shape or a number is wrong.
    """
    names = load_names(robot)
    given: dict[int, Array] = {}
    for name, value in (external or {}).items():
        if name not in names or names.index(name) == 0:
            raise KinematicsError(
                f"{robot.name} has no body {name!r}"
                + (" and no such tool" if robot.tools else "")
                + f"; {did_you_mean(name, names[1:])}"
            )
        wrench = np.asarray(value, dtype=float)
        if wrench.shape[-1:] != (6,):
            raise KinematicsError(f"a wrench [f; n] has the shape (..., 6), that on {name} {wrench.shape}")
        if wrench.ndim == 1 and not np.all(np.isfinite(wrench)):
            raise KinematicsError(f"the wrench on {name} is not finite: {wrench.tolist()}")
        given[names.index(name)] = wrench
    return given


def stacked_wrenches(robot: Robot, external: Mapping[str, Any] | None) -> Array:
    """Wrenches on all bodies and tools (..., bodies + tools, 6), zero where there is none."""
    given = checked_wrenches(robot, external)
    batch = np.broadcast_shapes(*(wrench.shape[:-1] for wrench in given.values()))
    stacked = np.zeros((*batch, load_count(robot), 6))
    for place, wrench in given.items():
        stacked[..., place, :] = wrench
    return stacked


def body_wrenches(robot: Robot, x: Array, y: Array, external: Mapping[str, Any] | None) -> Array:
    """The same on bodies alone (..., bodies, 6), about their origins at poses x with unknowns y."""
    stacked = stacked_wrenches(robot, external)
    count = len(robot.bodies)
    if not np.any(stacked[..., count:, :]):
        return stacked[..., :count, :]
    R = native(kinematic_model.body_poses, robot)(x, y)["R"]
    batch = np.broadcast_shapes(stacked.shape[:-2], R.shape[:-3])
    result = np.broadcast_to(stacked[..., :count, :], (*batch, count, 6)).copy()
    for tool, wrench in zip(robot.tools, np.moveaxis(stacked[..., count:, :], -2, 0), strict=True):
        arm = R[..., tool.body, :, :] @ tool.frame.p
        moment = wrench[..., 3:] + np.cross(arm, wrench[..., :3])
        result[..., tool.body, :3] += wrench[..., :3]
        result[..., tool.body, 3:] += moment
    return result
