"""Adds to a reference engine's tree the rest of a robot: closed loops, friction, springs and rotors.

An engine gives the kinematics and dynamics of the tree alone (`engine`), at the rates u of the tree. Three
parts complete it here, from the description and without nacelle's own equations.

Closures. A closure joins two frames that the engine places. Let V (6,) be the twist of the second frame
relative to the first at the joint's centre, base axes, and S (6, k) the joint's motion subspace: V is a
combination of its columns. C spans the orthogonal complement of S, so that

    V = J u,   V = S r,   C^T J u = 0,   C^T (J u' + bias - S' r) = 0

with r = S^+ V the rates of the joint's axes. J and bias (V' where u' = 0) come from the engine.

Projection. The independent rates v (n,) are entries of u: components of the platform's twist, rates of the
platform's joints. K stacks the rows C^T J of all closures, the rows of idle spins (held at zero), and the
rows that select v from u:

    K u = [0; 0; v],    K u' = [-bias; -bias; a],    a = v'

K has full column rank where the mechanism has the motion that its description says. Least squares then give
u = G v and u' = G a + bias_u.

Forces. Friction along an axis at its rate r is the sum over its terms of coefficient times

    viscous r | coulomb sign(r) | coulomb-smooth tanh(r / scale) | stribeck exp(-(r / scale)^2) sign(r) |
    quadratic r |r| | cubic r^3 | constant 1

and in a spherical joint the same along the relative angular velocity, with its length as the rate. Springs,
dampers, end stops and rotors follow from their formulas in the description.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.mechanism.assembly import rate_scale
from nacelle.model.joint import FrictionTerm, Interval, Joint, JointKind, Primitive
from nacelle.model.leg import Leg, MovingPlatform, TorsionSpring
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import quat_from_rotation, rotation, skew
from nacelle.spatial.scalar import Array
from nacelle.tree.spanning_tree import joint_rate_indices
from nacelle.verify.engine import TreeSnapshot, VerifyError


@dataclass(frozen=True, eq=False)
class AxisMotion:
    """One axis of a joint, or the three of a spherical one, in the tree or in a closure.

    Attributes:
        rows: Jacobian of its rate by the rates of the tree: (1, rates), for a spherical joint (3, rates).
        bias: derivative of its rate where the rates of the tree are constant, (1,) or (3,).
        coordinate: its position, rad or m; NaN for a spherical joint.
    """

    rows: Array
    bias: Array
    coordinate: float


@dataclass(frozen=True, eq=False)
class ClosureAtState:
    """A closure at a state.

    Attributes:
        constraint_rows: C^T J (k, rates): combinations of the tree's rates that are zero.
        bias: derivatives of these where the rates of the tree are constant (k,).
        axes: the axes of the joint.
        gap: closure error: differences of rotation matrices' entries, metres over the robot's size.
    """

    constraint_rows: Array
    bias: Array
    axes: tuple[AxisMotion, ...]
    gap: Array


def coupling_constraint(robot: Robot, joint: Joint, q: Array) -> ClosureAtState:
    """The constraint of a coupling, sum of factor times rate = 0, at coordinates q of the tree.

    Its gap is sum of factor times q - offset, over the largest factor.
    """
    row = np.zeros((1, robot.platform_nv + robot.nv))
    gap = -joint.offset
    for j, factor in joint.terms:
        row[0, robot.platform_nv + robot.v_slices[j].start] = factor
        gap += factor * float(q[robot.q_slices[j].start])
    scale = max(abs(factor) for _, factor in joint.terms)
    return ClosureAtState(row, np.zeros(1), (), np.array([gap / scale]))


def closure_constraint(robot: Robot, joint: Joint, now: TreeSnapshot, u: Array) -> ClosureAtState:
    """The constraint of a closure from an engine's snapshot, at rates u (rates,) of the tree."""
    first_body, second_body = joint.predecessor, joint.successor
    first, second = (
        now.frame(first_body, joint.frame_predecessor),
        now.frame(second_body, joint.frame_successor),
    )
    # The centre is the origin of the frame next to the rotations: translations move that of the other frame.
    carrier = first_body if _slides_last(joint) else second_body
    centre = first.p if carrier == first_body else second.p
    centre_rate = now.twist[carrier][:3] + np.cross(now.twist[carrier][3:], centre - now.p[carrier])

    def at_centre(body: int) -> tuple[Array, Array]:
        """Jacobian (6, rates) and bias (6,) of the twist of a body at the centre, fixed to `carrier`."""
        arm = centre - now.p[body]
        J = now.jacobian[body]
        at_arm = np.vstack([J[:3] - skew(arm) @ J[3:], J[3:]])
        a, alpha = now.bias_acceleration[body][:3], now.bias_acceleration[body][3:]
        v, w = now.twist[body][:3], now.twist[body][3:]
        return at_arm, np.concatenate([a + np.cross(alpha, arm) + np.cross(w, centre_rate - v), alpha])

    J_one, bias_one = at_centre(first_body)
    J_two, bias_two = at_centre(second_body)
    J, bias = J_two - J_one, bias_two - bias_one
    S, S_rate, groups = _motion_subspace(
        joint, first.R, second.R, now.twist[first_body][3:], now.twist[second_body][3:]
    )
    inverse = np.linalg.pinv(S)
    # S' r: the axes of the joint move with its bodies.
    rotating_part = S_rate @ (inverse @ (J @ u))
    U, s, _ = np.linalg.svd(S)
    complement = U[:, int(np.sum(s > 1e-9)) :]
    rows, rate_bias = inverse @ J, inverse @ (bias - rotating_part)
    coordinates = _joint_coordinates(joint, first.R.T @ second.R, first.R.T @ (second.p - first.p))
    axes = tuple(
        AxisMotion(rows[group], rate_bias[group], _wrap_angle(joint, number, coordinate))
        for number, (group, coordinate) in enumerate(zip(groups, coordinates, strict=True))
    )
    return ClosureAtState(
        complement.T @ J,
        complement.T @ (bias - rotating_part),
        axes,
        _closure_gap(robot, joint, first, second),
    )


def _slides_last(joint: Joint) -> bool:
    """Whether the translations of a joint follow its rotations and so are along axes of its second frame.

    Raises:
        VerifyError: if axes of the joint are fixed to neither of its frames.
    """
    rotates = [primitive.is_rotation for primitive in joint.primitives]
    last = rotates == sorted(rotates, reverse=True)
    if joint.is_coupling or sum(rotates) > 2 or not (last or rotates == sorted(rotates)):
        raise VerifyError(f"joint {joint.name!r} is {joint.kind}, which no engine can have as a closure")
    return last and len(set(rotates)) == 2


def _motion_subspace(
    joint: Joint, R_one: Array, R_two: Array, w_one: Array, w_two: Array
) -> tuple[Array, Array, list[slice]]:
    """S (6, k), its derivative S' (6, k), the columns of each axis; twists [v; w] at the centre, base axes.

    Axes up to that of the first rotation are fixed to the first frame, those after it to the second; those of
    a spherical joint are the base's.

    Args:
        joint: the joint.
        R_one: orientation of the first frame in the base.
        R_two: that of the second.
        w_one: angular velocity of the first body, base axes.
        w_two: that of the second.
    """
    columns: list[Array] = []
    rates: list[Array] = []
    groups: list[slice] = []

    def add(axis: Array, rate: Array, is_rotation: bool) -> None:
        zero = np.zeros(3)
        columns.append(np.concatenate([zero, axis] if is_rotation else [axis, zero]))
        rates.append(np.concatenate([zero, rate] if is_rotation else [rate, zero]))

    R, w = R_one, w_one
    for primitive in joint.primitives:
        groups.append(slice(len(columns), len(columns) + primitive.nv))
        if primitive is Primitive.SPHERICAL:
            for axis in np.eye(3):
                add(axis, np.zeros(3), True)
        else:
            add(R[:, primitive.axis], np.cross(w, R[:, primitive.axis]), primitive.is_rotation)
        if primitive.is_rotation:
            R, w = R_two, w_two
    if joint.at_point:
        # The point of the platform already locks the position: this joint leaves it free.
        for axis in np.eye(3):
            add(axis, np.zeros(3), False)
    S, S_rate = (np.array(vectors).reshape(-1, 6).T for vectors in (columns, rates))
    return S, S_rate, groups


def _joint_coordinates(joint: Joint, R: Array, p: Array) -> list[float]:
    """Coordinates of the axes of a joint, rad or m, from the pose (R, p) of its second frame in its first.

    With R = R(a, q1) R(b, q2), q1 is the angle about a from b to R b = R(a, q1) b, and q2 the angle about b
    from R^T a = R(b, -q2) a to a. Where there is one rotation alone, b is any perpendicular to a. A spherical
    joint gives NaN.
    """
    e, p_strokes = np.eye(3), R.T @ p if _slides_last(joint) else p
    rotation_axes = [
        e[primitive.axis] for primitive in joint.primitives if primitive.is_rotation and primitive.nv == 1
    ]
    values = []
    for primitive in joint.primitives:
        if primitive is Primitive.SPHERICAL:
            values.append(float("nan"))
        elif not primitive.is_rotation:
            values.append(float(p_strokes[primitive.axis]))
        elif np.array_equal(e[primitive.axis], rotation_axes[0]):
            a, b = rotation_axes[0], rotation_axes[1] if len(rotation_axes) > 1 else e[primitive.axis - 2]
            values.append(float(np.arctan2(np.cross(b, R @ b) @ a, b @ R @ b)))
        else:
            a, b = rotation_axes
            values.append(float(np.arctan2(np.cross(a @ R, a) @ b, a @ R @ a)))
    return values


def _wrap_angle(joint: Joint, number: int, coordinate: float) -> float:
    """A coordinate of an axis; of angles a turn apart the one nearest to `Joint.centre`."""
    if math.isnan(coordinate) or not joint.primitives[number].is_rotation:
        return coordinate
    centre = joint.centre(number)
    return centre + math.remainder(coordinate - centre, 2.0 * math.pi)


def _closure_gap(robot: Robot, joint: Joint, first: Pose, second: Pose) -> Array:
    """Closure error (12,): the second frame minus the one at the joint's coordinates that fit it best."""
    R, p = first.R.T @ second.R, first.R.T @ (second.p - first.p)
    q = _joint_coordinates(joint, R, p)
    best_R, best_p = np.eye(3), np.zeros(3)
    for primitive, value in zip(joint.primitives, q, strict=True):
        if primitive.is_rotation:
            best_R = best_R @ (
                R if primitive.nv == 3 else rotation(primitive.axis, np.cos(value), np.sin(value))
            )
        else:
            best_p = best_p + best_R[:, primitive.axis] * value
    position = np.zeros(3) if joint.at_point else (p - best_p) / robot.size
    return np.concatenate([(R - best_R).ravel(), position])


def tree_axes(robot: Robot, index: int, q: Array) -> tuple[AxisMotion, ...]:
    """The axes of a joint of the tree, at coordinates q of the tree: their rates are entries of u."""
    joint = robot.joints[index]
    rates = robot.platform_nv + robot.nv
    start = robot.platform_nv + robot.v_slices[index].start
    first_q = robot.q_slices[index].start
    axes = []
    for primitive in joint.primitives:
        rows = np.zeros((primitive.nv, rates))
        rows[range(primitive.nv), range(start, start + primitive.nv)] = 1.0
        coordinate = float(q[first_q]) if primitive.nv == 1 else float("nan")
        axes.append(AxisMotion(rows, np.zeros(primitive.nv), coordinate))
        start, first_q = start + primitive.nv, first_q + primitive.nq
    return tuple(axes)


# ---- projection: all rates of the tree from the independent ones, by the engine's closure Jacobian


# Singular values below this are taken as zero, with lengths in units of the robot's size.
_RANK = 1e-9


@dataclass(frozen=True, eq=False)
class Projection:
    """u = G v and u' = G a + bias: G (rates, n), and the bias of the tree's rates (rates,)."""

    G: Array
    bias: Array


def closure_projection(
    robot: Robot, now: TreeSnapshot, loops: Sequence[ClosureAtState], u: Array
) -> Projection:
    """Find the map from the independent rates to all rates of the tree.

    Args:
        robot: the robot.
        now: the engine's snapshot of the tree.
        loops: the constraints of all closures.
        u: rates of the tree (rates,).

    Raises:
        VerifyError: if the closures do not determine all rates.
    """
    count = len(u)
    closing = np.concatenate([np.zeros((0, count)), *(entry.constraint_rows for entry in loops)])
    closing_bias = np.concatenate([np.zeros(0), *(entry.bias for entry in loops)])
    independent_rows = np.eye(count)[independent_rates(robot)]
    spins, spin_biases = _spin_rows(robot, now, closing, independent_rows)
    K = np.concatenate([closing, spins, independent_rows])
    right = np.zeros((len(K), robot.motion.n + 1))
    right[-robot.motion.n :, :-1] = np.eye(robot.motion.n)
    right[: -robot.motion.n, -1] = -np.concatenate([closing_bias, spin_biases])
    # With lengths in units of the robot's size the rank does not depend on the unit of length.
    unit = rate_scale(robot)
    scaled, _, rank, _ = np.linalg.lstsq(K * unit, right, rcond=1e-12)
    if rank < count:
        raise VerifyError(
            f"the closures of {robot.name} leave {count - rank} of {count} rates of the tree undetermined"
        )
    solution = unit[:, None] * scaled
    return Projection(solution[:, :-1], solution[:, -1])


def independent_rates(robot: Robot) -> list[int]:
    """Indices in u of the independent rates v."""
    indices = []
    for name in robot.motion.coordinates:
        if name in robot.motion.joint_names:
            indices.append(robot.platform_nv + robot.v_slices[robot.joint(name)].start)
        else:
            indices.append(AXES.index(name))
    return indices


def _spin_rows(
    robot: Robot, now: TreeSnapshot, closing: Array, independent_rows: Array
) -> tuple[Array, Array]:
    """Rows (spins, rates) and biases (spins,) of idle spins, internal freedoms that are zero by convention.

    A leg that can move while the platform rests has an internal freedom, and so has the platform's own
    mechanism if it can move while the independent rates are zero. For each, the first body that rotates in it
    is held: its angular velocity about that axis is zero.

    Args:
        robot: the robot.
        now: the engine's snapshot of the tree.
        closing: rows of all closures.
        independent_rows: rows that select the independent rates.
    """
    parts: list[tuple[Leg | MovingPlatform, Array]] = [(leg, closing) for leg in robot.legs]
    parts.append((robot.platform, np.concatenate([closing, independent_rows])))
    spins = [spin for part, rows_zero in parts for spin in _internal_freedoms(robot, part, now, rows_zero)]
    rows = np.array([row for row, _ in spins]).reshape(-1, closing.shape[1])
    return rows, np.array([bias for _, bias in spins])


def _internal_freedoms(
    robot: Robot, part: Leg | MovingPlatform, now: TreeSnapshot, rows_zero: Array
) -> list[tuple[Array, float]]:
    """Row (rates,) and bias of each idle spin of a leg or the platform: motions of its joints alone.

    Args:
        robot: the robot.
        part: the leg, or the platform.
        now: the engine's snapshot of the tree.
        rows_zero: rows (rows, rates) that stay zero in these motions.
    """
    columns = list(joint_rate_indices(robot, part.joints))
    if not columns:
        return []
    unit = rate_scale(robot)[columns]
    _, s, Vt = np.linalg.svd(rows_zero[:, columns] * unit)
    rank = int(np.sum(s > _RANK * max(float(np.max(s, initial=0.0)), 1.0)))
    null_basis = unit[:, None] * Vt[rank:].T
    spins: list[tuple[Array, float]] = []
    seen_rows = np.zeros((0, null_basis.shape[1]))
    for body in part.bodies:
        if len(spins) == null_basis.shape[1]:
            break
        J = now.jacobian[body][3:]
        U, singular, _ = np.linalg.svd(J[:, columns] @ null_basis)
        if singular[0] < _RANK:
            continue
        row = U[:, 0] @ J
        more = np.vstack([seen_rows, row[columns] @ null_basis])
        if np.linalg.matrix_rank(more, _RANK) > len(seen_rows):
            seen_rows = more
            # The axis is fixed to the body: its derivative adds nothing to the bias, as (w x axis) . w = 0.
            spins.append((row, float(U[:, 0] @ now.bias_acceleration[body][3:])))
    return spins


# ---- forces: friction, springs and rotors, from the formulas of the description


_BASIS: dict[str, Callable[[float, float], float]] = {
    "viscous": lambda r, scale: r,
    "coulomb": lambda r, scale: float(np.sign(r)),
    "coulomb-smooth": lambda r, scale: math.tanh(r / scale),
    "stribeck": lambda r, scale: math.exp(-((r / scale) ** 2)) * float(np.sign(r)),
    "quadratic": lambda r, scale: r * abs(r),
    "cubic": lambda r, scale: r**3,
    "constant": lambda r, scale: 1.0,
}


def friction_force(terms: Sequence[FrictionTerm], rate: Array) -> Array:
    """Friction force (1,), N or N m, along an axis, or moment (3,) in a spherical joint, at its rate.

    Its sign is that of the force which the motion requires, not of the one that brakes it.
    """
    length = float(rate[0]) if len(rate) == 1 else float(np.linalg.norm(rate))
    if len(rate) == 3 and length == 0.0:
        return np.zeros(3)
    force = sum(term.coefficient * _BASIS[term.basis](length, term.scale) for term in terms)
    return np.array([force]) if len(rate) == 1 else force * rate / length


@dataclass(frozen=True, eq=False)
class Efforts:
    """Forces along the rates of the tree that a motion requires in addition to the engine's.

    Attributes:
        friction: of friction and all damping, that of end stops included (rates,).
        springs: of springs and elastic end stops (rates,).
        rotor_matrix: part of the rotors in the mass matrix (rates, rates).
        rotor_bias: force of the rotors where the rates of the tree are constant (rates,).
        dissipation: power of `friction`, W.
        spring_energy: energy of `springs`, J.
    """

    friction: Array
    springs: Array
    rotor_matrix: Array
    rotor_bias: Array
    dissipation: float
    spring_energy: float


def _limit_excess(q: float, limits: Interval, rotation: bool) -> float:
    """Signed distance of a coordinate beyond its limits, 0 within; of angles a turn apart the smallest."""
    lower, upper = limits

    def past(value: float) -> float:
        return value - upper if value > upper else value - lower if value < lower else 0.0

    turns = (-1, 0, 1) if rotation else (0,)
    return min((past(q + 2.0 * math.pi * k) for k in turns), key=abs)


def _relative_angular_velocity(now: TreeSnapshot, joint: Joint) -> tuple[Array, Array]:
    """Jacobian (3, rates) and bias (3,) of the relative angular velocity w = w_2 - w_1 of a joint's bodies.

    Base axes. For a rotor with the kinetic energy I w . w / 2, Lagrange's equations have the moment
    I (w' + w_2 x w_1), with the derivative of w as seen from either body. The bias is this derivative where
    the rates of the tree are constant.
    """
    first, second = joint.predecessor, joint.successor
    bias = now.bias_acceleration[second][3:] - now.bias_acceleration[first][3:]
    rows = now.jacobian[second][3:] - now.jacobian[first][3:]
    return rows, bias + np.cross(now.twist[second][3:], now.twist[first][3:])


def _torsion_angle(now: TreeSnapshot, spring: TorsionSpring) -> tuple[float, Array]:
    """Angle (rad) of a torsion spring, and g (3,), base axes, with rate = g . relative angular velocity.

    With (v, w) the quaternion of its second frame in its first, z the last entry of v, and W (3,) the
    relative angular velocity in the first frame,

        angle = 2 atan2(z, w),     w' = -v . W / 2,     v' = (w W - v x W) / 2
        rate = 2 (w z' - z w') / (w^2 + z^2)
    """
    first, second = (now.R[b] @ R for b, R in zip(spring.bodies, spring.rotations, strict=True))
    *v, w = quat_from_rotation(first.T @ second)
    z_rate, w_rate = 0.5 * (w * np.eye(3) - skew(np.array(v)))[2], -0.5 * np.array(v)
    row = 2.0 * (w * z_rate - v[2] * w_rate) / (w * w + v[2] * v[2])
    return 2.0 * math.atan2(v[2], w), first @ row


def joint_efforts(
    robot: Robot, now: TreeSnapshot, axes: Sequence[tuple[AxisMotion, ...]], u: Array, rotors_inside: bool
) -> Efforts:
    """Friction, springs, end stops and rotors of all joints, and springs between bodies.

    Args:
        robot: the robot.
        now: the engine's snapshot: poses and Jacobians of the bodies.
        axes: for every joint its axes.
        u: rates of the tree (rates,).
        rotors_inside: whether the engine already includes the rotors of tree joints.
    """
    n = len(u)
    rubbing, sprung, reflected = np.zeros(n), np.zeros(n), np.zeros(n)
    matrix = np.zeros((n, n))
    power = stored = 0.0
    for index, joint in enumerate(robot.joints):
        for number, axis in enumerate(axes[index]):
            rate = axis.rows @ u
            terms = joint.friction[number] if joint.friction else ()
            if terms:
                force = friction_force(terms, rate)
                rubbing += axis.rows.T @ force
                power += float(force @ rate)
            spring = joint.springs[number] if joint.springs else None
            if spring is not None:
                stretch = axis.coordinate - spring.rest
                sprung += axis.rows[0] * (spring.stiffness * stretch)
                stored += 0.5 * spring.stiffness * stretch**2
            stop = joint.stops[number] if joint.stops else None
            if stop is not None:
                beyond = _limit_excess(
                    axis.coordinate, joint.limits[number], joint.primitives[number].is_rotation
                )
                elastic = stop.stiffness * beyond
                damped = float(np.clip(stop.damping * rate[0], -abs(elastic), abs(elastic)))
                sprung += axis.rows[0] * elastic
                rubbing += axis.rows[0] * damped
                stored += 0.5 * elastic * beyond
                power += damped * float(rate[0])
        if joint.rotor_inertia and not (rotors_inside and index < robot.tree):
            inertia = joint.gear_ratio**2 * joint.rotor_inertia
            rows, bias = axes[index][0].rows, np.atleast_1d(axes[index][0].bias)
            if joint.kind is JointKind.SPHERICAL and index >= robot.tree:
                rows, bias = _relative_angular_velocity(now, joint)
            matrix += inertia * rows.T @ rows
            reflected += inertia * rows.T @ bias
    for linear in robot.springs:
        ends = [now.p[b] + now.R[b] @ p for b, p in zip(linear.bodies, linear.points, strict=True)]
        d = ends[1] - ends[0]
        length = float(np.linalg.norm(d))
        points = [
            now.jacobian[b][:3] - np.cross(now.R[b] @ p, now.jacobian[b][3:], axisb=0, axisc=0)
            for b, p in zip(linear.bodies, linear.points, strict=True)
        ]
        row = (d / length) @ (points[1] - points[0])
        sprung += row * (linear.stiffness * (length - linear.length))
        rubbing += row * (linear.damping * float(row @ u))
        stored += 0.5 * linear.stiffness * (length - linear.length) ** 2
        power += linear.damping * float(row @ u) ** 2
    for damper in robot.dampers:
        first, second = (now.jacobian[body][3:] for body in damper.bodies)
        w_relative = (second - first) @ u
        rubbing += damper.damping * (second - first).T @ w_relative
        power += damper.damping * float(w_relative @ w_relative)
    for torsion in robot.torsion_springs:
        first, second = torsion.bodies
        angle, direction = _torsion_angle(now, torsion)
        row = direction @ (now.jacobian[second][3:] - now.jacobian[first][3:])
        law = np.polynomial.Polynomial([0.0, *torsion.stiffness])
        # Of angles a turn apart, the one nearest to the rest angle.
        stretch = math.remainder(angle - torsion.rest, 2.0 * math.pi)
        sprung += row * law(stretch)
        stored += law.integ()(stretch)
    return Efforts(rubbing, sprung, matrix, reflected, power, stored)
