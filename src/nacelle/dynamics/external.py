"""External wrenches: what acts on bodies from outside, [f; n] about a body's origin in base axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.dynamics.state import State
from nacelle.errors import KinematicsError, did_you_mean
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def along_twist(state: State, wrenches: Mapping[int, Array]) -> Array:
    """Wrenches (6,) on bodies, by index, as a force along the reduced twist (n,)."""
    total: Array = np.zeros(state.robot.motion.n)
    for body, wrench in wrenches.items():
        total = total + (state.now.motion.jacobian(body) @ state.moving.U).T @ wrench
    return np.asarray(total)


def checked_wrenches(robot: Robot, external: Mapping[str, Any] | None) -> dict[int, Array]:
    """Take wrenches (..., 6) by name of the body: by its index.

    Raises:
        KinematicsError: if a name, a shape or a number is wrong.
    """
    names = [body.name for body in robot.bodies]
    given: dict[int, Array] = {}
    for name, value in (external or {}).items():
        if name not in names or names.index(name) == 0:
            raise KinematicsError(f"{robot.name} has no body {name!r}; {did_you_mean(name, names[1:])}")
        wrench = np.asarray(value, dtype=float)
        if wrench.shape[-1:] != (6,):
            raise KinematicsError(f"a wrench [f; n] has the shape (..., 6), that on {name} {wrench.shape}")
        if wrench.ndim == 1 and not np.all(np.isfinite(wrench)):
            raise KinematicsError(f"the wrench on {name} is not finite: {wrench.tolist()}")
        given[names.index(name)] = wrench
    return given


def stacked_wrenches(robot: Robot, external: Mapping[str, Any] | None) -> Array:
    """Wrenches on all bodies (..., bodies, 6), zero where there is none."""
    given = checked_wrenches(robot, external)
    batch = np.broadcast_shapes(*(wrench.shape[:-1] for wrench in given.values()))
    stacked = np.zeros((*batch, len(robot.bodies), 6))
    for body, wrench in given.items():
        stacked[..., body, :] = wrench
    return stacked
