"""Buckling of a robot with flexible links: by what factor a load may grow.

To first order a load adds the stiffness G to that of the straight robot (axial forces in beams, forces of
closures and loads that act on what moves). The robot buckles at the factors mu of the load where

    (K + mu G) phi = 0 on the rates N that closures and locked actuators allow: -G phi = (1 / mu) K phi

The smallest positive factor counts; below 1 the robot has buckled under the load, and near 1 it is about to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.external import checked_wrenches
from nacelle.elastic.extended import Extended, extended
from nacelle.elastic.linear.equilibrium import constraint_rows, load_stiffness
from nacelle.elastic.linear.state import Deformed, undeformed_at
from nacelle.elastic.linear.subspace import null_spaces, rate_scales
from nacelle.elastic.linear.tangent import ExternalLoads, LoadedRobot
from nacelle.errors import KinematicsError
from nacelle.kinematics.flags import failed
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.pictures import Drawn
from nacelle.spatial.scalar import Array

# A robot whose load may grow by less than this factor is near buckling.
NEAR = 1.25


@dataclass(frozen=True, eq=False, repr=False)
class Buckling(Drawn):
    """Load factors at which a robot buckles, at poses (...).

    Attributes:
        robot: the robot.
        x: poses (..., nx).
        factors: (..., modes), ascending positive load factors; infinite where there are no more of them.
        shapes: buckling shapes (..., r, modes) over r = [z; e], largest scaled rate 1.
        flags: for every pose what was found (`Flag`).
    """

    robot: Robot
    x: Array
    factors: Array
    shapes: Array
    flags: Array

    @property
    def factor(self) -> Array:
        """The smallest factor (...), a pure number, by which the load may grow until the robot buckles."""
        return np.asarray(self.factors[..., 0])

    @property
    def near(self) -> Array:
        """Where (...) the load may grow by less than a quarter before the robot buckles, or not at all."""
        return np.asarray(self.factor < NEAR)


def buckling(
    robot: Robot,
    x: Any,
    *,
    gravity: bool = True,
    external: Mapping[str, Any] | None = None,
    modes: int = 3,
    planar: bool | None = None,
) -> Buckling:
    """Load factors at which a robot with locked actuators buckles under gravity and external wrenches.

    Args:
        robot: the robot.
        x: reduced poses (..., nx).
        gravity: whether its gravity is part of the load.
        external: wrenches on bodies and tools, as in `inverse_dynamics`.
        modes: how many factors.
        planar: whether links deform in the robot's plane only; None: where the robot is planar.

    Raises:
        KinematicsError: if no link is flexible, there is no load, or shapes are wrong.
        UnreachableError: of a single pose, as in `inverse_kinematics`.
    """
    if modes < 1:
        raise KinematicsError(f"modes={modes} must be above zero")
    own = extended(robot, planar=planar)
    loads = loads_of(robot, gravity, external)
    if not np.any(loads.gravity) and not any(np.any(w) for w in loads.wrenches.values()):
        raise KinematicsError(
            f"{robot.name} has no load to buckle under: its gravity is zero or left out, and no wrench acts"
        )
    solution = inverse_kinematics(robot, x, limits=False)
    batch, size = solution.flags.shape, own.embedding.shape[1]
    factors = np.full((*batch, modes), np.nan)
    shapes = np.full((*batch, size, modes), np.nan)
    for place in np.ndindex(batch):
        if failed(solution.flags[place]):
            continue
        start = undeformed_at(own, solution.x[place], solution.y[place])
        factors[place], shapes[place] = buckling_modes(start, at(loads, place), modes)
    return Buckling(robot, solution.x, factors, shapes, solution.flags)


def loads_of(robot: Robot, gravity: bool, external: Mapping[str, Any] | None) -> ExternalLoads:
    """The loads as given by a user; wrenches (..., 6)."""
    return ExternalLoads(
        np.array(robot.numeric.gravity) if gravity else np.zeros(3), checked_wrenches(robot, external)
    )


def at(loads: ExternalLoads, place: tuple[int, ...]) -> ExternalLoads:
    """The loads at one place of a batch."""
    return ExternalLoads(
        loads.gravity,
        {k: wrench[place] if wrench.ndim > 1 else wrench for k, wrench in loads.wrenches.items()},
    )


def buckling_modes(start: Deformed, loads: ExternalLoads, modes: int) -> tuple[Array, Array]:
    """Load factors (modes,) and shapes (r, modes) of a straight robot."""
    own: Extended = start.extended
    loaded, scale = LoadedRobot(start), rate_scales(start.extended)
    (space,) = null_spaces(constraint_rows(loaded)[None], scale)
    N = space.basis
    K = N.T @ (loaded.strained().D + loaded.springs(preload=False).D) @ N
    G = N.T @ load_stiffness(start, loads) @ N
    factors = np.full(modes, np.inf)
    shapes = np.full((own.embedding.shape[1], modes), np.nan)
    try:
        W = np.linalg.inv(np.linalg.cholesky(0.5 * (K + K.T))).T
    except np.linalg.LinAlgError:
        # Something moves freely: no load factor is determined.
        return np.full(modes, np.nan), shapes
    values, vectors = np.linalg.eigh(-0.5 * W.T @ (G + G.T) @ W)
    order = np.argsort(-values)[:modes]
    # A factor that is larger by this many decades is rounding.
    order = order[values[order] > 1e-9 * max(1.0, float(np.max(np.abs(values), initial=0.0)))]
    factors[: len(order)] = 1.0 / values[order]
    moved = N @ (W @ vectors[:, order])
    shapes[:, : len(order)] = moved / np.max(np.abs(moved / scale[:, None]), axis=0, initial=1e-300)
    return factors, shapes
