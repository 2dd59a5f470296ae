"""Statics of a loaded robot with flexible links, actuators locked: deflection, equilibrium, buckling.

Linear: on the rates r = N s that closures and locked actuators allow (`null_spaces`),

    N^T K N s = N^T f,      f = sum over bodies of J^T [m g; 0] + sum of J^T w        (r,): N, N m

with external wrenches w at bodies or tools. The displacement of a body is J r (6,): m, rad, base axes.
Nonlinear: the equilibrium of the deformed robot with von Karman's stretch (`balanced`), about which the
loaded natural frequencies are; its tangent is the stiffness there. The load factor says by how much the load
may grow before that tangent is singular (`buckling`).

Actuators are locked where the rigid robot has them. Out of balance are h = dV + A^T lambda (r,) and the gaps
phi of closures and actuators. With N the rates that the constraints allow, a step moves by d and keeps the
forces lambda of the constraints that balance best:

    A d = -phi,     N^T (h + D h d) = 0,     lambda = -(A^T)^+ dV

D h is the exact derivative (`tangent`). The first step, from straight links, is the linear solution.

Buckling, by what factor a load may grow: to first order a load adds the stiffness G to that of the straight
robot (axial forces in beams, forces of closures and loads that act on what moves). The robot buckles at the
factors mu of the load where

    (K + mu G) phi = 0 on the rates N that closures and locked actuators allow: -G phi = (1 / mu) K phi

The smallest positive factor counts; below 1 the robot has buckled under the load, and near 1 it is about to.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.dynamics.external import check_wrenches
from nacelle.elastic.flexible_tree import FlexibleTree, flexible_tree
from nacelle.elastic.linear.matrices import (
    Matrices,
    body_index,
    body_jacobian,
    damping_matrix,
    mass_jacobian,
    null_spaces,
    rate_scales,
)
from nacelle.elastic.linear.tangent import (
    DeformedRobot,
    ExternalLoads,
    Forces,
    LoadedRobot,
    constraint_gaps,
    geometric_stiffness,
    undeformed_robot,
)
from nacelle.errors import BucklingError, KinematicsError
from nacelle.kinematics.flags import Flag, Flagged, has_failed
from nacelle.kinematics.mechanism.assembly import row_scale
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.progress import task
from nacelle.results import Plottable
from nacelle.spatial.rotation import quat_from_matrices, quat_log
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import actuator_scales

_ITERATIONS = 40
# A step goes no further than this in scaled rates (rad, parts of the robot's size).
_MAX_STEP = 0.2
# Where a step is this short in scaled rates the equilibrium is reached.
_CONVERGED = 1e-12
# Steps that no longer become shorter end the iteration at rounding.
_ROUNDING = 1e-9
# Steps in which loads are applied, more of them where fewer do not lead to an equilibrium.
_STAGES = (1, 4, 20)


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A robot at or near an equilibrium.

    Attributes:
        state: where it is.
        tangent: its stiffness D h (r, r).
        rows: constraints with locked actuators (rows, r), scaled.
        basis: N (r, k).
        closures: forces of the closures (locks,), N or N m.
        actuators: forces of the actuators (actuators,), N or N m, that hold it.
    """

    state: DeformedRobot
    tangent: Array
    rows: Array
    basis: Array
    closures: Array
    actuators: Array

    @property
    def reduced(self) -> Array:
        """The stiffness N^T D h N (k, k), its symmetric part."""
        K = self.basis.T @ self.tangent @ self.basis
        return np.asarray(0.5 * (K + K.T))

    @property
    def stable(self) -> bool:
        """Whether every motion that the constraints allow needs work."""
        size = len(self.basis.T)
        return not size or float(np.linalg.eigvalsh(self.reduced)[0]) > 0.0


def constraint_rows(loaded: LoadedRobot) -> Array:
    """Closures, idle spins and locked actuators (rows, r), scaled."""
    frames = loaded.frames
    rows = frames.actuator_rows() / actuator_scales(loaded.elastic_tree.robot)[:, None]
    return np.asarray(np.concatenate([frames.constraints(), rows]), dtype=float)


def _multipliers(flexible: FlexibleTree, rows: Array, gradient: Array) -> tuple[Array, Array]:
    """Forces of closures and actuators in SI units that balance a gradient of V best."""
    scale = rate_scales(flexible)
    values = -np.linalg.lstsq((rows * scale).T, scale * gradient, rcond=1e-8)[0]
    locks = row_scale(flexible.tree)
    count = len(flexible.robot.actuators)
    closures = values[: len(locks)] / locks
    return closures, values[len(values) - count :] / actuator_scales(flexible.robot)


def linear_equilibrium(loaded: LoadedRobot, f: Array) -> tuple[Equilibrium, Array]:
    """The linear equilibrium under forces f (r,) along all rates, with its motion (r,) from straight links.

    The stiffness is that of the unloaded robot.
    """
    flexible = loaded.elastic_tree
    rows = constraint_rows(loaded)
    (space,) = null_spaces(rows[None], rate_scales(flexible))
    N = space.basis
    K = loaded.elastic_forces().D + loaded.springs(preload=False).D
    small_motion = N @ np.linalg.lstsq(N.T @ K @ N, -N.T @ f, rcond=None)[0]
    closures, actuators = _multipliers(flexible, rows, K @ small_motion + f)
    return Equilibrium(loaded.state, K, rows, N, closures, actuators), small_motion


def find_equilibrium(start: DeformedRobot, loads: ExternalLoads) -> Equilibrium | None:
    """The equilibrium under loads near the straight robot; None if none is found."""
    for stages in _STAGES:
        state: DeformedRobot | None = start
        result = None
        for k in range(1, stages + 1):
            result = None if state is None else _newton(start, state, loads.scale(k / stages))
            state = None if result is None else result.state
        if result is not None:
            return result
    return None


def _newton(start: DeformedRobot, state: DeformedRobot, loads: ExternalLoads) -> Equilibrium | None:
    flexible = start.elastic_tree
    scale = rate_scales(flexible)
    before = np.inf
    for _ in range(_ITERATIONS):
        loaded = LoadedRobot(state)
        rows = constraint_rows(loaded)
        gap = constraint_gaps(state, start, loaded.frames, len(rows) - len(flexible.robot.actuators))
        (space,) = null_spaces(rows[None], scale)
        N = space.basis
        inner = loaded.elastic_forces().plus(loaded.springs(preload=True))
        gradient: Forces = inner.plus(loaded.outside(loads))
        closures, actuators = _multipliers(flexible, rows, gradient.h)
        D = gradient.D + loaded.constraint_forces(closures, actuators).D
        step = scale * np.linalg.lstsq(rows * scale, -gap, rcond=1e-8)[0]
        K = N.T @ D @ N
        try:
            step = step - N @ np.linalg.solve(K, N.T @ (gradient.h + D @ step))
        except np.linalg.LinAlgError:
            return None
        size = float(np.max(np.abs(step / scale), initial=0.0))
        if not np.isfinite(size):
            return None
        if size < _CONVERGED or (size < _ROUNDING and size >= 0.5 * before):
            return Equilibrium(state, D, rows, N, closures, actuators)
        before = size
        state = state.displace(step * min(1.0, _MAX_STEP / size))
    return None


# ---- buckling of a robot with flexible links: by what factor a load may grow


# A robot whose load may grow by less than this factor is near buckling.
NEAR_BUCKLING = 1.25


@dataclass(frozen=True, eq=False, repr=False)
class Buckling(Flagged, Plottable):
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
        return np.asarray(self.factor < NEAR_BUCKLING)


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

    (K + mu G) phi = 0.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame.
        gravity: whether its gravity is part of the load.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.
        modes: how many factors.
        planar: whether links deform in the robot's plane only; None: where the robot is planar.

    Returns:
        Load factors mu (..., modes), dimensionless: multiples of the given load, N and N m, at which the
        robot buckles.

    Raises:
        KinematicsError: if no link is flexible, there is no load, or shapes are wrong.
        UnreachableError: of a single pose, as in `inverse_kinematics`.
    """
    if modes < 1:
        raise KinematicsError(f"modes={modes} must be above zero")
    flexible = flexible_tree(robot, planar=planar)
    loads = external_loads(robot, gravity, external)
    if not _has_load(loads):
        raise KinematicsError(
            f"{robot.name} has no load to buckle under: its gravity is zero or left out, and no wrench acts"
        )
    solution = inverse_kinematics(robot, x, limits=False)
    batch, size = solution.flags.shape, flexible.embedding.shape[1]
    factors = np.full((*batch, modes), np.nan)
    shapes = np.full((*batch, size, modes), np.nan)
    for index in np.ndindex(batch):
        if has_failed(solution.flags[index]):
            continue
        start = undeformed_robot(flexible, solution.x[index], solution.y[index])
        factors[index], shapes[index] = buckling_modes(start, loads_at(loads, index), modes)
    return Buckling(robot, solution.x, factors, shapes, solution.flags)


def external_loads(robot: Robot, gravity: bool, external: Mapping[str, Any] | None) -> ExternalLoads:
    """The loads as given by a user; wrenches (..., 6)."""
    return ExternalLoads(
        np.array(robot.numeric.gravity) if gravity else np.zeros(3), check_wrenches(robot, external)
    )


def loads_at(loads: ExternalLoads, index: tuple[int, ...]) -> ExternalLoads:
    """The loads at one place of a batch."""
    return ExternalLoads(
        loads.gravity,
        {k: wrench[index] if wrench.ndim > 1 else wrench for k, wrench in loads.wrenches.items()},
    )


def buckling_modes(start: DeformedRobot, loads: ExternalLoads, modes: int) -> tuple[Array, Array]:
    """Load factors (modes,) and shapes (r, modes) of a straight robot."""
    flexible, loaded = start.elastic_tree, LoadedRobot(start)
    outside, scale = loaded.outside(loads), rate_scales(flexible)
    balance, small_motion = linear_equilibrium(loaded, outside.h)
    N = balance.basis
    K = N.T @ balance.tangent @ N
    # What the load adds to first order: axial forces in beams, forces in closures and actuators that turn
    # with their bodies, and the load itself.
    held = loaded.constraint_forces(balance.closures, balance.actuators)
    G = (
        N.T
        @ (outside.D + held.D + geometric_stiffness(flexible, small_motion[len(flexible.rigid_rates) :]))
        @ N
    )
    factors = np.full(modes, np.inf)
    shapes = np.full((flexible.embedding.shape[1], modes), np.nan)
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
    bent = N @ (W @ vectors[:, order])
    shapes[:, : len(order)] = bent / np.max(np.abs(bent / scale[:, None]), axis=0, initial=1e-300)
    return factors, shapes


# ---- static deflection under gravity and external wrenches, actuators locked


@dataclass(frozen=True, eq=False, repr=False)
class StaticDeflection(Flagged, Plottable):
    """A robot deformed by its load, at poses (...).

    Attributes:
        robot: the robot.
        x: poses (..., nx) of the rigid robot with the same actuator coordinates.
        nonlinear: whether the equilibrium is that of the deformed robot.
        motion: small motion (..., r) over r = [z; e] from the rigid pose, of a linear deflection the whole
            of it.
        elastic: elastic coordinates (..., ne).
        tau: forces of the actuators (..., actuators) that hold the robot, N or N m.
        factor: by which the load may grow before the robot buckles (...), to first order; below 1 it has
            buckled.
        flags: for every pose what was found (`Flag`); SINGULAR where there is no stable equilibrium.
        equilibria: the equilibrium at each pose, by its place in the batch.
        starts: the straight robot there.
        planar: in which directions links deform, as given.
    """

    robot: Robot
    x: Array
    nonlinear: bool
    motion: Array
    elastic: Array
    tau: Array
    factor: Array
    flags: Array
    equilibria: Mapping[tuple[int, ...], Equilibrium]
    starts: Mapping[tuple[int, ...], DeformedRobot]
    planar: bool | None = None

    @property
    def is_near_buckling(self) -> Array:
        """Where (...) the load may grow by less than a quarter before the robot buckles."""
        return np.asarray(self.factor < NEAR_BUCKLING)

    def displacement(self, body: str | None = None) -> Array:
        """Displacement (..., 6) of a body or tool: translation (m), rotation vector (rad).

        Base axes; the platform if None.
        """
        index = body_index(self.robot, body)
        result = np.full((*self.flags.shape, 6), np.nan)
        for where, start in self.starts.items():
            if where not in self.equilibria:
                continue
            frames = start.frames()
            if not self.nonlinear:
                result[where] = body_jacobian(frames, index) @ self.motion[where]
                continue
            R0, p0 = _body_pose(self.robot, frames.motion.poses, index)
            R, p = _body_pose(self.robot, self.equilibria[where].state.frames().motion.poses, index)
            result[where] = np.concatenate([p - p0, quat_log(quat_from_matrices(R @ R0.T))])
        return result

    def jacobian(self, index: int) -> Array:
        """Jacobian (..., 6, r) of a body or tool of the deformed robot: from rates to [v; w], base axes."""
        size = self.motion.shape[-1]
        result = np.full((*self.flags.shape, 6, size), np.nan)
        for where, balance in self.equilibria.items():
            result[where] = body_jacobian(balance.state.frames(), index)
        return result

    @cached_property
    def weights(self) -> Array:
        """What gravity acts on, sum over bodies of m J (..., 3, r), base axes."""
        result = np.full((*self.flags.shape, 3, self.motion.shape[-1]), np.nan)
        for where, balance in self.equilibria.items():
            result[where] = mass_jacobian(balance.state.frames())
        return result

    @cached_property
    def model(self) -> Matrices:
        """The linear model about the deformed robot: its mass matrix, tangent stiffness and constraints."""
        flexible = flexible_tree(self.robot, planar=self.planar)
        size, count = flexible.embedding.shape[1], len(self.robot.actuators)
        batch = self.flags.shape
        M, K = np.full((*batch, size, size), np.nan), np.full((*batch, size, size), np.nan)
        A: Array = np.zeros((*batch, 0, size))
        rows = np.full((*batch, count, size), np.nan)
        for where, balance in self.equilibria.items():
            frames = balance.state.frames()
            constraints = np.asarray(frames.constraints(), dtype=float)
            if A.shape[-2] != len(constraints):
                A = np.full((*batch, len(constraints), size), np.nan)
            M[where], A[where] = frames.mass_matrix(), constraints
            rows[where] = frames.actuator_rows()
            K[where] = 0.5 * (balance.tangent + balance.tangent.T)
        return Matrices(flexible, self.x, np.zeros(0), M, K, damping_matrix(flexible), A, rows, self.flags)


def _body_pose(robot: Robot, poses: Any, index: int) -> tuple[Array, Array]:
    if index < len(robot.bodies):
        return poses[index].R, poses[index].p
    tool = robot.tools[index - len(robot.bodies)]
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

    dV/dr + A^T lambda = 0.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame of the rigid robot.
        gravity: whether its gravity acts.
        external: wrenches [f; n] (..., 6), N and N m in base axes, by name of the body or tool.
        nonlinear: whether the equilibrium is that of the deformed robot; else to first order.
        planar: whether links deform in the robot's plane only; None: where the robot is planar.

    Returns:
        Displacements of all rates (..., nr), m and rad, actuator forces (..., actuators), N or N m, and the
        lowest load factor.

    Raises:
        KinematicsError: if no link is flexible, or shapes are wrong.
        UnreachableError: of a single pose, as in `inverse_kinematics`.
        BucklingError: of a single pose, if there is no stable equilibrium near it.
    """
    flexible = flexible_tree(robot, planar=planar)
    loads = external_loads(robot, gravity, external)
    solution = inverse_kinematics(robot, x, limits=False)
    flags = solution.flags.copy()
    batch, size = flags.shape, flexible.embedding.shape[1]
    motion, elastic = np.full((*batch, size), np.nan), np.full((*batch, flexible.ne), np.nan)
    force, factor = np.full((*batch, len(robot.actuators)), np.nan), np.full(batch, np.nan)
    balances: dict[tuple[int, ...], Equilibrium] = {}
    starts: dict[tuple[int, ...], DeformedRobot] = {}
    done = 0
    with task(f"equilibria of {robot.name} at {flags.size} poses") as report:
        for where in np.ndindex(batch):
            done += 1
            report(done / max(flags.size, 1))
            if has_failed(flags[where]):
                continue
            start = starts[where] = undeformed_robot(flexible, solution.x[where], solution.y[where])
            here = loads_at(loads, where)
            factor[where] = buckling_modes(start, here, 1)[0][0] if _has_load(here) else np.inf
            loaded = LoadedRobot(start)
            f = loaded.outside(here).h + loaded.springs(preload=True).h
            balance, small_motion = linear_equilibrium(loaded, f)
            if nonlinear:
                equilibrium = find_equilibrium(start, here)
                if equilibrium is None or not equilibrium.stable:
                    if not batch:
                        raise _buckling_error(robot, float(factor[where]))
                    flags[where] |= int(Flag.SINGULAR)
                    continue
                balance = equilibrium
            balances[where] = balance
            motion[where] = small_motion
            elastic[where] = balance.state.qe if nonlinear else small_motion[len(flexible.rigid_rates) :]
            # What the constraints give along a rate is minus what the actuators apply.
            force[where] = -balance.actuators
    near = factor[np.isfinite(factor) & (factor < NEAR_BUCKLING)]
    if near.size:
        warnings.warn(
            f"{robot.name} is near buckling: the load may grow only by a factor of {near.min():.3g}",
            RuntimeWarning,
            stacklevel=2,
        )
    return StaticDeflection(
        robot, solution.x, nonlinear, motion, elastic, force, factor, flags, balances, starts, planar
    )


def _has_load(loads: ExternalLoads) -> bool:
    return bool(np.any(loads.gravity)) or any(bool(np.any(w)) for w in loads.wrenches.values())


def _buckling_error(robot: Robot, factor: float) -> BucklingError:
    if factor < 1.0:
        why = f"to first order it buckles at {factor:.3g} of the load"
    else:
        why = "it deflects too far for a first-order load factor to tell when it gives way"
    return BucklingError(
        f"{robot.name} buckles under this load: it has no stable equilibrium near its rigid pose; {why}. "
        "Lighten the load, stiffen the links that it compresses, or leave gravity out",
        factor,
    )
