"""Compliance of the platform or a tool, actuators locked.

A wrench W = [f; n] on it displaces it by the small motion [d; theta] = c W, base axes, about its origin:

    c = J N (N^T K N)^-1 N^T J^T        (6, 6): m/N, 1/N, rad/(N m)

J (6, r) its Jacobian, N the rates that closures and locked actuators allow. A point has no rotation: rows
of zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nacelle.elastic.linear.frequencies import linear_model, model_jacobian
from nacelle.elastic.linear.matrices import place_of
from nacelle.elastic.linear.subspace import null_spaces, rate_scales
from nacelle.errors import KinematicsError
from nacelle.kinematics.flags import failed
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def compliance(
    robot: Robot,
    x: Any,
    *,
    tool: str | None = None,
    gravity: bool = False,
    external: Mapping[str, Any] | None = None,
    planar: bool | None = None,
) -> Array:
    """Compliance (..., 6, 6) of the platform, or of a named body or tool, with locked actuators.

    Args:
        robot: the robot.
        x: reduced poses (..., nx); out of reach gives NaN, of a single pose an error.
        tool: name of a tool or body; the platform if None.
        gravity: whether it is that about the equilibrium under gravity.
        external: wrenches that act already, as in `inverse_dynamics`.
        planar: whether links deform in the robot's plane only; None: where the robot is planar.

    Raises:
        KinematicsError: if no link is flexible, shapes are wrong, or something moves freely at a single pose.
        UnreachableError, SingularError, BucklingError: as in `natural_frequencies`.
    """
    place = place_of(robot, tool)
    model, load = linear_model(robot, x, gravity=gravity, external=external, planar=planar)
    J = model_jacobian(model, load, place, planar)
    batch = model.flags.shape
    result = np.full((*batch, 6, 6), np.nan)
    K = np.broadcast_to(model.K, model.M.shape)
    rows = model.rows(True)
    for where in np.ndindex(batch):
        if failed(model.flags[where]):
            continue
        (space,) = null_spaces(rows[where][None], rate_scales(model.extended))
        N = space.basis
        Kr = N.T @ K[where] @ N
        moved = N.T @ J[where].T
        # A motion without stiffness counts only if it moves the place.
        values, vectors = np.linalg.eigh(0.5 * (Kr + Kr.T))
        soft = values < 1e-13 * values[-1] if len(values) else np.zeros(0, dtype=bool)
        along = vectors.T @ moved
        if np.any(np.abs(along[soft]) > 1e-9 * np.max(np.abs(along), initial=1e-300)):
            if not batch:
                raise KinematicsError(
                    f"{robot.name} is not held by its locked actuators here: its compliance is infinite"
                )
            result[where] = np.inf
            continue
        stiff = ~soft
        result[where] = along[stiff].T @ (along[stiff] / values[stiff, None])
    return result
