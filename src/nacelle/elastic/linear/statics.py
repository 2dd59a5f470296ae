"""Static deflection of a robot with flexible links under gravity and external wrenches, actuators locked.

Linear: on the rates r = N s that closures and locked actuators allow (`subspace`),

    N^T K N s = N^T f,      f = sum over bodies of J^T [m g; 0] + sum of J^T w        (r,): N, N m

with external wrenches w at bodies or tools. The displacement of a body is J r (6,): m, rad, base axes.
Nonlinear: the equilibrium of the deformed robot with von Karman's stretch (`equilibrium`), about which the
loaded natural frequencies are; its tangent is the stiffness there. The load factor says by how much the load
may grow before that tangent is singular (`buckling`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.elastic.extended import extended
from nacelle.elastic.linear.buckling import NEAR, at, buckling_modes, loads_of
from nacelle.elastic.linear.equilibrium import Balance, balanced, linear_balance
from nacelle.elastic.linear.matrices import Matrices, damping_matrix, place_jacobian, place_of, weights
from nacelle.elastic.linear.state import Deformed, undeformed_at
from nacelle.elastic.linear.tangent import ExternalLoads
from nacelle.errors import BucklingError
from nacelle.kinematics.flags import Flag, failed
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.pictures import Drawn
from nacelle.progress import task
from nacelle.spatial.rotation_path import quat_from_matrices, quat_log
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False, repr=False)
class StaticDeflection(Drawn):
    """A robot deformed by its load, at poses (...).

    Attributes:
        robot: the robot.
        x: poses (..., nx) of the rigid robot with the same actuator coordinates.
        nonlinear: whether the equilibrium is that of the deformed robot.
        motion: small motion (..., r) over r = [z; e] from the rigid pose, of a linear deflection the whole
            of it.
        elastic: elastic coordinates (..., ne).
        force: forces of the actuators (..., actuators) that hold the robot, N or N m.
        factor: by which the load may grow before the robot buckles (...), to first order; below 1 it has
            buckled.
        flags: for every pose what was found (`Flag`); SINGULAR where there is no stable equilibrium.
        balances: the equilibrium at each pose, by its place in the batch.
        starts: the straight robot there.
        planar: in which directions links deform, as given.
    """

    robot: Robot
    x: Array
    nonlinear: bool
    motion: Array
    elastic: Array
    force: Array
    factor: Array
    flags: Array
    balances: Mapping[tuple[int, ...], Balance]
    starts: Mapping[tuple[int, ...], Deformed]
    planar: bool | None = None

    @property
    def near_buckling(self) -> Array:
        """Where (...) the load may grow by less than a quarter before the robot buckles."""
        return np.asarray(self.factor < NEAR)

    def displacement(self, place: str | None = None) -> Array:
        """Displacement (..., 6) of a body or tool: translation (m), rotation vector (rad).

        Base axes; the platform if None.
        """
        index = place_of(self.robot, place)
        result = np.full((*self.flags.shape, 6), np.nan)
        for where, start in self.starts.items():
            if where not in self.balances:
                continue
            frames = start.frames()
            if not self.nonlinear:
                result[where] = place_jacobian(frames, index) @ self.motion[where]
                continue
            R0, p0 = _pose(self.robot, frames.motion.poses, index)
            R, p = _pose(self.robot, self.balances[where].state.frames().motion.poses, index)
            result[where] = np.concatenate([p - p0, quat_log(quat_from_matrices(R @ R0.T))])
        return result

    def jacobian(self, place: int) -> Array:
        """Jacobian (..., 6, r) of a body or tool of the deformed robot: from rates to [v; w], base axes."""
        size = self.motion.shape[-1]
        result = np.full((*self.flags.shape, 6, size), np.nan)
        for where, balance in self.balances.items():
            result[where] = place_jacobian(balance.state.frames(), place)
        return result

    @cached_property
    def weights(self) -> Array:
        """What gravity acts on, sum over bodies of m J (..., 3, r), base axes."""
        result = np.full((*self.flags.shape, 3, self.motion.shape[-1]), np.nan)
        for where, balance in self.balances.items():
            result[where] = weights(balance.state.frames())
        return result

    @cached_property
    def model(self) -> Matrices:
        """The linear model about the deformed robot: its mass matrix, tangent stiffness and constraints."""
        own = extended(self.robot, planar=self.planar)
        size, count = own.embedding.shape[1], len(self.robot.actuators)
        batch = self.flags.shape
        M, K = np.full((*batch, size, size), np.nan), np.full((*batch, size, size), np.nan)
        A: Array = np.zeros((*batch, 0, size))
        rows = np.full((*batch, count, size), np.nan)
        for where, balance in self.balances.items():
            frames = balance.state.frames()
            constraints = np.asarray(frames.constraints(), dtype=float)
            if A.shape[-2] != len(constraints):
                A = np.full((*batch, len(constraints), size), np.nan)
            M[where], A[where] = frames.mass_matrix(), constraints
            rows[where] = frames.actuator_rows()
            K[where] = 0.5 * (balance.tangent + balance.tangent.T)
        return Matrices(own, self.x, np.zeros(0), M, K, damping_matrix(own), A, rows, self.flags)


def _pose(robot: Robot, poses: Any, place: int) -> tuple[Array, Array]:
    if place < len(robot.bodies):
        return poses[place].R, poses[place].p
    tool = robot.tools[place - len(robot.bodies)]
    pose = poses[tool.body] @ tool.frame
    return pose.R, pose.p


def static_deflection(
    robot: Robot,
    x: Any,
    *,
    gravity: bool = True,
    external: Mapping[str, Any] | None = None,
    nonlinear: bool = True,
    planar: bool | None = None,
) -> StaticDeflection:
    """How a robot with locked actuators deforms under gravity, springs in its joints and external wrenches.

    Args:
        robot: the robot.
        x: reduced poses (..., nx) of the rigid robot.
        gravity: whether its gravity acts.
        external: wrenches on bodies and tools, as in `inverse_dynamics`; constant in base axes.
        nonlinear: whether the equilibrium is that of the deformed robot; else to first order.
        planar: whether links deform in the robot's plane only; None: where the robot is planar.

    Raises:
        KinematicsError: if no link is flexible, or shapes are wrong.
        UnreachableError: of a single pose, as in `inverse_kinematics`.
        BucklingError: of a single pose, if there is no stable equilibrium near it.
    """
    own = extended(robot, planar=planar)
    loads = loads_of(robot, gravity, external)
    solution = inverse_kinematics(robot, x, limits=False)
    flags = solution.flags.copy()
    batch, size = flags.shape, own.embedding.shape[1]
    motion, elastic = np.full((*batch, size), np.nan), np.full((*batch, own.ne), np.nan)
    force, factor = np.full((*batch, len(robot.actuators)), np.nan), np.full(batch, np.nan)
    balances: dict[tuple[int, ...], Balance] = {}
    starts: dict[tuple[int, ...], Deformed] = {}
    done = 0
    with task(f"equilibria of {robot.name} at {flags.size} poses") as report:
        for where in np.ndindex(batch):
            done += 1
            report(done / max(flags.size, 1))
            if failed(flags[where]):
                continue
            start = starts[where] = undeformed_at(own, solution.x[where], solution.y[where])
            here = at(loads, where)
            factor[where] = buckling_modes(start, here, 1)[0][0] if _any(here) else np.inf
            balance, moved = linear_balance(start, here)
            if nonlinear:
                equilibrium = balanced(start, here)
                if equilibrium is None or not equilibrium.stable:
                    if not batch:
                        raise _buckled(robot, float(factor[where]))
                    flags[where] |= int(Flag.SINGULAR)
                    continue
                balance = equilibrium
            balances[where] = balance
            motion[where] = moved
            elastic[where] = balance.state.qe if nonlinear else moved[len(own.rigid_rates) :]
            # What the constraints give along a rate is minus what the actuators apply.
            force[where] = -balance.actuators
    near = factor[np.isfinite(factor) & (factor < NEAR)]
    if near.size:
        warnings.warn(
            f"{robot.name} is near buckling: the load may grow only by a factor of {near.min():.3g}",
            RuntimeWarning,
            stacklevel=2,
        )
    return StaticDeflection(
        robot, solution.x, nonlinear, motion, elastic, force, factor, flags, balances, starts, planar
    )


def _any(loads: ExternalLoads) -> bool:
    return bool(np.any(loads.gravity)) or any(bool(np.any(w)) for w in loads.wrenches.values())


def _buckled(robot: Robot, factor: float) -> BucklingError:
    if factor < 1.0:
        why = f"to first order it buckles at {factor:.3g} of the load"
    else:
        why = "it deflects too far for a first-order load factor to tell when it gives way"
    return BucklingError(
        f"{robot.name} buckles under this load: it has no stable equilibrium near its rigid pose; {why}. "
        "Lighten the load, stiffen the links that it compresses, or leave gravity out",
        factor,
    )
