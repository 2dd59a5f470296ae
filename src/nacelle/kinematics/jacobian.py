"""Jacobians, from the motion of the platform to actuators, bodies, joints and legs; and singularities.

Once positions are known, all rates are linear in the reduced twist v (n,), m/s and rad/s in base axes. With u
(rates,) the rates of the tree, U (rates, n), A (actuators, rates) the rows of the actuators and J_b (6,
rates) the Jacobian of a body at its origin:

    u = U v,      q_a' = A U v = J_r^-1 v,      V_b = J_b U v,      V_p = S v            [KI2007] (9), (10)

J_r^-1 (actuators, n) is made of the rows of the legs ([KI2007] (80)) and needs no inversion. J_r is its
inverse; it does not exist at a parallel singularity. Forces go the other way, F = J_r^-T Gamma. To compare
rows and columns of unlike units, lengths count in the robot's size L: J_r^-1 becomes D_a^-1 J_r^-1 D_v, D_a
and D_v diagonal with L for lengths and 1 for angles, and its inverse condition number (1 at best, 0 if
singular) has no units.

With u_l the rates of leg l and w those of the platform, the closures say M_l u_l + N_l w = 0, scaled
likewise. Singularities are of three kinds:

- *serial*: M_l loses rank. The leg moves while the platform rests; it is stretched or folded.
- *parallel*: with the actuators locked the platform moves. The rows of N_l across the passive joints of
  M_l, of all legs together, lose rank: wrenches of the actuators and of the constraints.
- *constraint*: the platform gains a motion that its legs should lock. The same with all joints of the legs
  free: wrenches of the constraints alone.

The measure of each is the smallest singular value that should not be zero over the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, SingularError
from nacelle.kinematics import kinematic_model
from nacelle.kinematics.configuration import configuration
from nacelle.kinematics.flags import Flag, Flagged, has_failed
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.kinematics.motion import EvaluatedStates, evaluate_function, solve_loops
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.shapes import jacobian_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.underactuated import undriven_coordinates
from nacelle.model.robot import Robot
from nacelle.results import HasTable, Plottable
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array
from nacelle.spatial.solve import solve_batch
from nacelle.tree.actuation import closure_actuators, tree_actuator_rates
from nacelle.tree.closure import closure_frames
from nacelle.tree.spanning_tree import joint_rate_indices

KINDS = ("serial", "parallel", "constraint")
NEAR_SINGULAR_MEASURE = 1e-2
SINGULAR_MEASURE = 1e-7


@dataclass(frozen=True, eq=False, repr=False)
class Singularities(Flagged, Plottable):
    """How far poses are from singularities.

    Attributes:
        robot: the robot.
        serial: measure of each leg (..., legs); NaN out of reach.
        parallel: measure (...).
        constraint: measure (...); 1 where the legs lock nothing.
        flags: for every pose what was found (`Flag`).
    """

    robot: Robot
    serial: Array
    parallel: Array
    constraint: Array
    flags: Array

    def kinds(self) -> Any:
        """Names of the singularities met: for one pose a tuple of them, for a batch an array of tuples."""
        worst = np.min(self.serial, axis=-1) if self.serial.shape[-1] else np.ones(self.parallel.shape)
        result = np.empty(self.parallel.shape, dtype=object)
        for index in np.ndindex(self.parallel.shape):
            values = (worst[index], self.parallel[index], self.constraint[index])
            result[index] = tuple(
                kind for kind, value in zip(KINDS, values, strict=True) if value < SINGULAR_MEASURE
            )
        return result[()]


def singularities(robot: Robot, x: Any) -> Singularities:
    """Measure the distance of poses from serial, parallel and constraint singularities.

    Distances are inverse condition numbers without units: 1 at best, 0 at a singularity; lengths count in the
    robot's size.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, in the base frame. A pose beyond a serial
            singularity is out of reach: flagged, with NaN.

    Returns:
        Measures (...) of each kind, dimensionless: smallest over largest singular value; 0 is singular.
    """
    poses, y, flags = solve_loops(robot, x)
    closures = compile_native(kinematic_model.closure_equations, robot)(poses, y)
    finite = np.all(np.isfinite(closures["jacobian"]), axis=(-1, -2))
    flags |= np.where(finite | has_failed(flags), 0, int(Flag.UNREACHABLE))
    good = ~has_failed(flags)
    known = {name: np.where(good[..., None, None], closures[name], 0.0) for name in MEASURED_MATRICES}
    serial, constraint, parallel = singularity_measures(mechanism_of(robot), **known)
    worst = np.min(np.stack([np.min(serial, axis=-1, initial=1.0), parallel, constraint]), axis=0)
    flags |= np.where(good & (worst < SINGULAR_MEASURE), int(Flag.SINGULAR), 0)
    flags |= np.where(
        good & (worst < NEAR_SINGULAR_MEASURE) & (worst >= SINGULAR_MEASURE), int(Flag.NEAR_SINGULAR), 0
    )
    serial[~good] = np.nan
    parallel, constraint = np.where(good, parallel, np.nan), np.where(good, constraint, np.nan)
    return Singularities(robot, serial, parallel, constraint, flags)


@dataclass(frozen=True, eq=False)
class NearestSingularity:
    """The pose of a batch that is nearest to a kind of singularity.

    Attributes:
        measure: there, 1 at best and 0 at a singularity.
        x: the pose (nx,).
        leg: name of the leg, of a serial one; empty otherwise.
    """

    measure: float
    x: Array
    leg: str = ""


def nearest_singularities(robot: Robot, x: Any) -> dict[str, NearestSingularity]:
    """For each kind of singularity the pose that comes nearest to it; none where no pose is reached.

    Args:
        robot: the robot.
        x: reduced poses (N, nx).
    """
    poses = np.asarray(x, dtype=float)
    if not len(poses):
        return {}
    measured = singularities(robot, poses)
    result: dict[str, NearestSingularity] = {}
    for kind in KINDS:
        values = getattr(measured, kind)
        if not np.any(np.isfinite(values)):
            continue
        index = np.unravel_index(int(np.nanargmin(values)), values.shape)
        leg = robot.legs[int(index[1])].name if kind == "serial" else ""
        result[kind] = NearestSingularity(float(values[index]), poses[index[0]], leg)
    return result


# A leg that has lost rank takes the other measures down with it: within this factor it is the cause.
_CAUSE = 10.0


def nearest_kind(robot: Robot, x: Array, y: Array) -> tuple[str, tuple[str, ...]]:
    """Which kind of singularity is nearest at one pose, and the legs that are at it if it is a serial one.

    Evaluated without compiling anything: this is for messages.

    Args:
        robot: the robot.
        x: reduced pose (nx,).
        y: passive coordinates there (ny,).
    """
    with np.errstate(all="ignore"):
        closures = kinematic_model.closure_equations(
            robot, np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        )
        known = {name: np.nan_to_num(np.asarray(closures[name], dtype=float)) for name in MEASURED_MATRICES}
        serial, constraint, parallel = singularity_measures(mechanism_of(robot), **known)
    worst = float(np.min(serial, initial=1.0))
    if worst <= _CAUSE * min(float(parallel), float(constraint)):
        legs = zip(robot.legs, serial, strict=True)
        return "serial", tuple(leg.name for leg, measure in legs if measure <= _CAUSE * worst)
    return ("parallel" if parallel <= constraint else "constraint"), ()


def describe_singularity(kind: str, legs: tuple[str, ...], *, is_near: bool = False) -> str:
    """A message about a singularity that a pose is at, or near."""
    if not legs:
        return f"a {kind} singularity is near" if is_near else f"this pose is a {kind} singularity"
    who = f"leg {legs[0]!r} is" if len(legs) == 1 else f"legs {', '.join(map(repr, legs))} are"
    return f"{who} {'almost ' if is_near else ''}stretched or folded (a {kind} singularity)"


# What of the closure equations is measured.
MEASURED_MATRICES = ("jacobian", "spins", "actuators")


def singularity_measures(
    mechanism: Mechanism, jacobian: Array, spins: Array, actuators: Array
) -> tuple[Array, Array, Array]:
    """Serial, constraint and parallel measures of the closure equations, matrices (..., rows, rates)."""
    robot = mechanism.robot
    row_scale, rate_scale = mechanism.scales
    J = jacobian / row_scale[:, None] * rate_scale
    spins, active = spins * rate_scale, actuators * rate_scale
    batch = J.shape[:-2]
    w = list(mechanism.platform_rates)
    closures = mechanism.assembly.closures
    locked_rates = tree_actuator_rates(robot)
    platform_rows = closures.rows_of(robot, robot.platform.closures)
    locked, driven = ([J[..., platform_rows, :][..., w]] if platform_rows else [] for _ in range(2))
    serial = np.ones((*batch, len(robot.legs)))
    first_spin = 0
    # The spins of the platform's own bodies come last.
    for rows_of_platform in (locked, driven):
        rows_of_platform.append(
            spins[..., spins.shape[-2] - len(mechanism.platform_internal_freedoms) :, :][..., w]
        )
    for k, (leg, plan) in enumerate(zip(robot.legs, mechanism.legs, strict=True)):
        leg_rows = closures.rows_of(robot, leg.closures)
        spin_rows = range(first_spin, first_spin + len(plan.spins))
        first_spin += len(plan.spins)
        A = np.concatenate([J[..., leg_rows, :], spins[..., list(spin_rows), :]], axis=-2)
        M, N = A[..., list(plan.rates)], A[..., w]
        serial[..., k] = _rank_ratio(M, M.shape[-1])
        locked.append(_complement_rows(M, N))
        held = closure_actuators(robot, leg.closures)
        if held:
            A = np.concatenate([A, active[..., held, :]], axis=-2)
            N = A[..., w]
        driven.append(_complement_rows(A[..., [rate for rate in plan.rates if rate not in locked_rates]], N))
    at_platform = [k for k, a in enumerate(robot.actuators) if a.joint in robot.platform.joints]
    at_platform += closure_actuators(robot, robot.platform.closures)
    driven.append(active[..., at_platform, :][..., w])
    free = len(w) - robot.motion.n
    constraint = _rank_ratio(np.concatenate(locked, axis=-2), free) if free else np.ones(batch)
    rank = len(w) - len(undriven_coordinates(robot))
    return serial, constraint, _rank_ratio(np.concatenate(driven, axis=-2), rank) if rank else np.ones(batch)


def _rank_ratio(A: Array, rank: int) -> Array:
    """The singular value that makes the rank over the largest one; zero if there are too few rows.

    One for rank zero: nothing has to be solved, as in a leg without freedoms of its own.
    """
    if not rank:
        return np.ones(A.shape[:-2])
    if min(A.shape[-2:]) < rank:
        return np.zeros(A.shape[:-2])
    s = np.linalg.svd(A, compute_uv=False)
    with np.errstate(all="ignore"):
        return np.nan_to_num(s[..., rank - 1] / s[..., 0])


def _complement_rows(M: Array, N: Array) -> Array:
    """The part of N's rows that no motion of M's columns can follow: Q^T N, Q across the range of M."""
    if not M.shape[-1]:
        return N
    U = np.linalg.svd(M, full_matrices=True)[0]
    return np.asarray(np.swapaxes(U[..., :, M.shape[-1] :], -1, -2) @ N)


# Inverse condition of the scaled Jacobian below which a singularity is near, and below which it is met.
NEAR_CONDITIONING = 1e-3
SINGULAR = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Jacobian(Flagged, Plottable):
    """The Jacobians between the platform and the actuators.

    Attributes:
        robot: the robot.
        inverse: J_r^-1 (..., actuators, n): rates of the actuators (rad/s, m/s) from the reduced twist (m/s,
            rad/s, base axes).
        direct: J_r (..., n, actuators): the reduced twist from the rates of the actuators, its inverse; for
            redundant actuation the one of least squares.
        flags: for every pose what was found (`Flag`).
    """

    robot: Robot
    inverse: Array
    direct: Array
    flags: Array

    @cached_property
    def scaled(self) -> Array:
        """J_r^-1 without units (..., actuators, n): lengths counted in the robot's size."""
        return scaled_inverse(self.robot, self.inverse)

    @cached_property
    def conditioning(self) -> Array:
        """Inverse condition number (...) of the scaled Jacobian in the 2-norm: 1 at best, 0 if singular."""
        return conditioning(self.scaled, self.robot.motion.n - len(undriven_coordinates(self.robot)))


def scaled_inverse(robot: Robot, inverse: Array) -> Array:
    """J_r^-1 without units (..., actuators, n): prismatic rows over the size, translations times it."""
    rows, columns = jacobian_scales(robot)
    return np.asarray(inverse / rows[:, None] * columns)


def conditioning(matrices: Array, rank: int | None = None) -> Array:
    """Inverse condition numbers s_min / s_max (...) of matrices in the 2-norm; NaN where not finite.

    With a rank s_min is the singular value of that number: the others are always zero.
    """
    finite = np.all(np.isfinite(matrices), axis=(-1, -2))
    least = min(matrices.shape[-2:]) if rank is None else rank
    if not least:
        return np.where(finite, 1.0, np.nan)
    s = np.linalg.svd(np.where(finite[..., None, None], matrices, 1.0), compute_uv=False)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(finite, s[..., least - 1] / s[..., 0], np.nan))


def direct_jacobian(inverse: Array, *, pseudo: bool) -> Array:
    """J_r (..., n, actuators) from J_r^-1 (..., actuators, n), by its pseudo-inverse if it has no other."""
    if not pseudo:
        return solve_batch(inverse, np.broadcast_to(np.eye(inverse.shape[-1]), inverse.shape))
    good = np.all(np.isfinite(inverse), axis=(-1, -2))[..., None, None]
    return np.where(good, np.linalg.pinv(np.where(good, inverse, 1.0)), np.nan)


def flag_jacobian(robot: Robot, states: EvaluatedStates) -> Jacobian:
    """The Jacobians from J_r^-1 "J" at states, with what it says of parallel singularities.

    Raises:
        SingularError: as `nacelle.jacobian` does.
    """
    poses, y, outputs, flags = states
    inverse = outputs["J"]
    scaled = scaled_inverse(robot, inverse)
    square = inverse.shape[-1] == inverse.shape[-2] and not undriven_coordinates(robot)
    with np.errstate(all="ignore"):
        direct, opposite = (direct_jacobian(J, pseudo=not square) for J in (inverse, scaled))
        # 1 / (|A| |A^-1|), within a factor n of the inverse condition in the 2-norm, and cheap.
        figure = 1.0 / (_norm(scaled) * _norm(opposite))
        singular = ~(figure >= SINGULAR) & ~has_failed(flags)
        near = (figure < NEAR_CONDITIONING) & ~singular & ~has_failed(flags)
    flags |= np.where(singular, int(Flag.SINGULAR), 0) | np.where(near, int(Flag.NEAR_SINGULAR), 0)
    if poses.ndim == 1 and singular:
        kind, legs = nearest_kind(robot, poses, y)
        why = f"with all actuators locked the {robot.moving_part} can still move, so J_r does not exist"
        if kind == "serial":
            why = f"the rates of joints are not determined by the motion of the {robot.moving_part}"
        raise SingularError(f"{robot.name}: {describe_singularity(kind, legs)}: {why}", kind)
    direct[has_failed(flags)] = np.nan
    return Jacobian(robot, inverse, direct, flags)


def _norm(matrices: Array) -> Array:
    return np.asarray(np.max(np.sum(np.abs(matrices), axis=-1), axis=-1, initial=0.0))


def platform_jacobian(robot: Robot, x: Any) -> Array:
    """S(x) (..., 6 or 3, n) of V_p = S v: the platform's twist from the reduced twist ([KI2007] (9)).

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, base axes; see `nacelle.pose`.

    Returns:
        Matrix S (..., 6, n), base axes, with V_p = [v; omega] = S v at the platform's origin: m/s and rad/s
        for each m/s or rad/s; three rows, its velocity, for a platform that is a point.
    """
    return np.asarray(_rate_maps(robot, x)[..., : robot.platform_nv, :])


def joint_jacobian(robot: Robot, x: Any) -> Array:
    """Rates of all joints of the tree (..., nv, n) from the reduced twist: q' = U v, rad/s and m/s.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, base axes; see `nacelle.pose`.

    Returns:
        Matrix U (..., nv, n) with q' = U v: rad/s or m/s of every joint for each m/s or rad/s of the
        platform.
    """
    return np.asarray(_rate_maps(robot, x)[..., robot.platform_nv :, :])


def _rate_maps(robot: Robot, x: Any) -> Array:
    return evaluate_function(kinematic_model.rate_maps, robot, x).results["U"]


def body_jacobian(robot: Robot, x: Any) -> Array:
    """Twists [v; w] of all bodies (..., bodies, 6, n) from the reduced twist: V_b = J_b v.

    Args:
        robot: the robot.
        x: reduced poses (..., nx), m and quat_xyzw or rad, base axes; see `nacelle.pose`.

    Returns:
        Matrices J_b (..., bodies, 6, n) with [v_b; omega_b] = J_b v, at the bodies' origins in base
        axes: m/s and rad/s for each m/s or rad/s; zero for the base.
    """
    return evaluate_function(kinematic_model.body_jacobians, robot, x).results["J"]


@dataclass(frozen=True, repr=False)
class LegJacobian(HasTable):
    """One leg at one pose ([KI2007] (16)-(18)): at its end J_i q_i' = J_vi V_p.

    Attributes:
        name: of the leg.
        J: J_i (6, leg rates): twist [v; w] of the leg's last body at the end of the leg from its own rates.
        Jv: J_vi (6, 6 or 3): twist of the platform there from the platform's twist.
        rates: places of the leg's rates among those of all joints.
    """

    name: str
    J: Array
    Jv: Array
    rates: tuple[int, ...]


def leg_jacobians(robot: Robot, x: Any) -> list[LegJacobian]:
    """J_i and J_vi of all legs at one pose, base axes; for legs with one end on the platform.

    J_i q_i' = J_vi V_p ([KI2007] (18), (19)): both sides are the twist [v; w] (6,), m/s and rad/s, of the
    leg's end. The rows that the last joint leaves free do not agree between the two sides; a spherical joint,
    for instance, holds the first three alone.

    Args:
        robot: the robot.
        x: one reduced pose (nx,), m and quat_xyzw or rad, in the base frame.

    Returns:
        For every leg J_i (6, joints) and J_vi (6, 6), base axes, m and rad, with the equation above.

    Raises:
        KinematicsError: if x is not one pose.
        UnreachableError: if it is out of reach.
    """
    if np.ndim(x) != 1:
        raise KinematicsError(f"leg_jacobians takes one pose (nx,), got the shape {np.shape(x)}")
    solution = inverse_kinematics(robot, x, limits=False)
    now = configuration(robot, solution.x, solution.y)
    result = []
    for leg in robot.legs:
        ends = [robot.joints[c] for c in leg.closures if robot.joints[c].successor not in leg.bodies]
        ends = ends or [robot.joints[c] for c in leg.closures]
        joint = ends[0]
        first, _ = closure_frames(joint, now.motion)
        body = joint.predecessor if joint.predecessor in leg.bodies else joint.successor
        indices = joint_rate_indices(robot, leg.joints)
        J = now.motion.point_jacobian(body, first.p)[:, list(indices)]
        r = first.p - now.motion.poses[1].p
        Jv = np.eye(6)
        Jv[:3, 3:] = -skew(r)
        Jv = Jv[:, :3] if robot.platform_nv == 3 else Jv
        result.append(
            LegJacobian(
                leg.name, np.asarray(J, dtype=float), Jv, tuple(k - robot.platform_nv for k in indices)
            )
        )
    return result
