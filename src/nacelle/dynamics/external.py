"""External wrenches: what acts from outside on bodies and tools, [f; n] in base axes.

A wrench W = [f; n] (6,), f in N and n in N m, acts on a body about its origin. On a tool it acts about the
tool's origin, at t in the body's frame; about the body's origin it is then, R (3, 3) the body's orientation,

    [f; n + (R t) x f]                            the arm R t turns with the body

The twist of the body at its origin is J_b U v, J_b (6, rates) its Jacobian by the tree's rates, U (rates, n)
these from the reduced twist v. Equal power, W . (J_b U v) = L . v for all v, gives the force along v:

    L = sum over bodies of (J_b U)^T W            (n,), on the side of the actuators: F = J_r^-T Gamma + L

In arrays (..., bodies + tools, 6) the tools follow the bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.dynamics.state import State
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import check_actuators
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, cross, pack


def load_names(robot: Robot) -> list[str]:
    """Names of all bodies, then of all tools: where wrenches may act."""
    return [body.name for body in robot.bodies] + [tool.name for tool in robot.tools]


def project_wrenches(state: State, wrenches: Mapping[int, Array]) -> Array:
    """Wrenches [f; n] (6,) on bodies and tools, by index, as a force L (n,) along the reduced twist.

    L = sum of (J_b U)^T W in N or N m, W about the body's origin in base axes.
    """
    robot = state.robot
    total: Array = np.zeros(robot.motion.n)
    for index, wrench in wrenches.items():
        body = index
        if index >= len(robot.bodies):
            tool = robot.tools[index - len(robot.bodies)]
            body = tool.body
            arm = state.now.motion.poses[body].R @ tool.frame.p
            wrench = pack([*wrench[:3], *(wrench[3:] + cross(arm, wrench[:3]))])
        total = total + (state.now.motion.jacobian(body) @ state.moving.U).T @ wrench
    return np.asarray(total)


def check_wrenches(robot: Robot, external: Mapping[str, Any] | None) -> dict[int, Array]:
    """Take wrenches (..., 6) by name of the body or tool: by its index.

    Raises:
        KinematicsError: if a name, a shape or a number is wrong.
    """
    names = load_names(robot)
    wrenches: dict[int, Array] = {}
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
        wrenches[names.index(name)] = wrench
    return wrenches


def stack_wrenches(robot: Robot, external: Mapping[str, Any] | None) -> Array:
    """Wrenches [f; n] on bodies and tools (..., bodies + tools, 6), base axes; zero where none acts."""
    wrenches = check_wrenches(robot, external)
    batch = np.broadcast_shapes(*(wrench.shape[:-1] for wrench in wrenches.values()))
    stacked = np.zeros((*batch, len(load_names(robot)), 6))
    for index, wrench in wrenches.items():
        stacked[..., index, :] = wrench
    return stacked


def wrenches_on_bodies(robot: Robot, x: Array, y: Array, external: Mapping[str, Any] | None) -> Array:
    """The same on bodies alone (..., bodies, 6), about their origins at poses x (..., nx).

    y (..., ny) are the passive coordinates. Base axes, N and N m: a tool's wrench adds n + (R t) x f to its
    body's moment.
    """
    stacked = stack_wrenches(robot, external)
    count = len(robot.bodies)
    if not np.any(stacked[..., count:, :]):
        return stacked[..., :count, :]
    R = compile_native(kinematic_model.body_poses, robot)(x, y)["R"]
    batch = np.broadcast_shapes(stacked.shape[:-2], R.shape[:-3])
    result = np.broadcast_to(stacked[..., :count, :], (*batch, count, 6)).copy()
    for tool, wrench in zip(robot.tools, np.moveaxis(stacked[..., count:, :], -2, 0), strict=True):
        arm = R[..., tool.body, :, :] @ tool.frame.p
        moment = wrench[..., 3:] + np.cross(arm, wrench[..., :3])
        result[..., tool.body, :3] += wrench[..., :3]
        result[..., tool.body, 3:] += moment
    return result


def check_forces(robot: Robot, forces: Any, what: str = "tau") -> Array:
    """Take actuator forces (..., actuators), N or N m; zero if None.

    Raises:
        KinematicsError: if the shape is wrong.
    """
    return check_actuators(robot, np.zeros(len(robot.actuators)) if forces is None else forces, what)
