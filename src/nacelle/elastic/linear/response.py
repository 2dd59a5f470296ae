"""Frequency response and compliance of a robot with flexible links, at its platform or a tool.

Frequency response, from forces of actuators or a wrench to a tool:

    H(w) = J N (-w^2 N^T M N + i w N^T C N + N^T K N)^-1 N^T B        (6, inputs): m/N, rad/N, ...

J (6, r) of the output, B (r, inputs) the actuators' rates or the Jacobian of the tool that is pushed,
transposed; velocities are i w H and accelerations -w^2 H. Friction does not count; without damping of beams
H is infinite at natural frequencies.

Compliance, actuators locked. A wrench W = [f; n] on the platform or a tool displaces it by the small motion
[d; theta] = c W, base axes, about its origin:

    c = J N (N^T K N)^-1 N^T J^T        (6, 6): m/N, 1/N, rad/(N m)

J (6, r) its Jacobian, N the rates that closures and locked actuators allow. A point has no rotation: rows
of zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.elastic.linear.frequencies import linear_model, model_jacobian
from nacelle.elastic.linear.matrices import body_index
from nacelle.errors import KinematicsError
from nacelle.kinematics.flags import Flagged
from nacelle.model.robot import Robot
from nacelle.results import Plottable
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

    delta = C [f; n].

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame; out of reach gives NaN, of a
            single pose an error.
        tool: name of a tool or body; the platform if None.
        gravity: whether it is that about the equilibrium under gravity.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.
        planar: whether links deform in the robot's plane only; None: where the robot is planar.

    Returns:
        Matrix C (..., 6, 6) in base axes: m/N, rad/N, m/(N m), rad/(N m).

    Raises:
        KinematicsError: if no link is flexible, shapes are wrong, or something moves freely at a single pose.
        UnreachableError, SingularError, BucklingError: as in `natural_frequencies`.
    """
    index = body_index(robot, tool)
    model, load = linear_model(robot, x, gravity=gravity, external=external, planar=planar)
    J = model_jacobian(model, load, index, planar)
    batch = model.flags.shape
    result = np.full((*batch, 6, 6), np.nan)
    for where, K, N in model.stiffness_and_subspaces(True):
        Kr = N.T @ K @ N
        projected = N.T @ J[where].T
        # A motion without stiffness counts only if it moves the place.
        values, vectors = np.linalg.eigh(0.5 * (Kr + Kr.T))
        soft = values < 1e-13 * values[-1] if len(values) else np.zeros(0, dtype=bool)
        along = vectors.T @ projected
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


# ---- frequency response of a robot with flexible links, from forces of actuators or a wrench to a tool


OUTPUTS = ("x", "y", "z", "rx", "ry", "rz")
WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")


@dataclass(frozen=True, eq=False, repr=False)
class FrequencyResponse(Flagged, Plottable):
    """A frequency response at poses (...).

    Attributes:
        robot: the robot.
        x: poses (..., nx).
        frequencies: (F,), Hz.
        response: H (..., F, 6, inputs), complex: translation (m) and rotation (rad) in base axes for a unit
            input.
        inputs: names of the inputs: actuators, or fx ... nz of a wrench.
        outputs: x, y, z, rx, ry, rz.
        locked: whether the actuators are locked.
        flags: for every pose what was found (`Flag`).
    """

    robot: Robot
    x: Array
    frequencies: Array
    response: Array
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    locked: bool
    flags: Array


def frequency_response(
    robot: Robot,
    x: Any,
    frequencies: Any,
    *,
    tool: str | None = None,
    source: str = "actuators",
    gravity: bool = False,
    external: Mapping[str, Any] | None = None,
    planar: bool | None = None,
) -> FrequencyResponse:
    """Response of a tool to forces of the actuators, which then move freely, or to a wrench, they locked.

    H(w) = C_out (K + i w C - w^2 M)^-1 B.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        frequencies: (F,), Hz.
        tool: name of the tool or body that is watched; the platform if None.
        source: "actuators", or the name of the body or tool on which a wrench acts.
        gravity: whether the response is that about the equilibrium under gravity.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.
        planar: whether links deform in the robot's plane only; None: where the robot is planar.

    Returns:
        Complex responses (..., frequencies, outputs, inputs), m and rad in base axes for one N or N m.

    Raises:
        KinematicsError: if no link is flexible, shapes are wrong, or a frequency is not above zero.
        UnreachableError, SingularError, BucklingError: as in `natural_frequencies`.
    """
    grid = np.atleast_1d(np.asarray(frequencies, dtype=float))
    if grid.ndim != 1 or not np.all(np.isfinite(grid)) or not np.all(grid > 0.0):
        raise KinematicsError("frequencies are numbers (F,) above zero, Hz")
    locked = source != "actuators"
    output = body_index(robot, tool)
    pushed = body_index(robot, source) if locked else 0
    model, load = linear_model(robot, x, gravity=gravity, external=external, planar=planar)
    J = model_jacobian(model, load, output, planar)
    B = np.swapaxes(model_jacobian(model, load, pushed, planar) if locked else model.actuators, -1, -2)
    batch, inputs = model.flags.shape, B.shape[-1]
    H = np.full((*batch, len(grid), 6, inputs), np.nan + 0j)
    w = 2.0 * np.pi * grid[:, None, None]
    for where, K, N in model.stiffness_and_subspaces(locked):
        M, C, S = (N.T @ matrix @ N for matrix in (model.M[where], model.C, K))
        with np.errstate(all="ignore"):
            try:
                amplitudes = np.linalg.solve(S - w**2 * M + 1j * w * C, (N.T @ B[where]).astype(complex))
            except np.linalg.LinAlgError:
                raise KinematicsError(
                    f"{robot.name} is undamped and a frequency is natural: its response is infinite"
                ) from None
        H[where] = (J[where] @ N) @ amplitudes
    names = WRENCH if locked else tuple(actuator.name for actuator in robot.actuators)
    return FrequencyResponse(robot, model.x, grid, H, names, OUTPUTS, locked, model.flags)
