"""The loops of a robot as another engine sees them: what closures forbid, and how their axes move.

A closure joins two frames, each placed by the engine. The twist of the second frame against the first, taken
at its centre, is a combination of the motions S that the joint allows, so its part in the complement C of
their span vanishes:

    V = J u,   V = S r,   C^T J u = 0,   C^T (J u' + bias - S' r) = 0

and the rates of the joint's own axes are r = S^+ V. J and bias come from the engine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nacelle.model.joint import Joint, JointKind
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.verify.engine import Snapshot, VerifyError


@dataclass(frozen=True, eq=False)
class AxisMotion:
    """One axis of a joint, or the three of a spherical one, in the tree or in a closure.

    Attributes:
        rows: its rate over the rates of the tree: (1, rates), for a spherical joint (3, rates).
        bias: derivative of the rate where the rates of the tree are constant.
        coordinate: rad or m; NaN for a spherical joint.
    """

    rows: Array
    bias: Array
    coordinate: float


@dataclass(frozen=True, eq=False)
class ClosureAtState:
    """A closure at a state.

    Attributes:
        forbidden: rates that are zero, over the rates of the tree (k, rates).
        bias: their derivatives where the rates of the tree are constant.
        axes: the axes of the joint.
        gap: what is left open (entries of a rotation matrix, metres over the robot's size).
    """

    forbidden: Array
    bias: Array
    axes: tuple[AxisMotion, ...]
    gap: Array


def skew(r: Array) -> Array:
    """Matrix of the cross product with r."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def coupling(robot: Robot, joint: Joint, q: Array) -> ClosureAtState:
    """A coupling at coordinates q of the tree: its factors over the rates, and sum factor q - offset."""
    row = np.zeros((1, robot.platform_nv + robot.nv))
    gap = -joint.offset
    for j, factor in joint.terms:
        row[0, robot.platform_nv + robot.v_slices[j].start] = factor
        gap += factor * float(q[robot.q_slices[j].start])
    scale = max(abs(factor) for _, factor in joint.terms)
    return ClosureAtState(row, np.zeros(1), (), np.array([gap / scale]))


def closure_at_state(robot: Robot, joint: Joint, now: Snapshot, u: Array) -> ClosureAtState:
    """A closure from an engine's snapshot at rates u of the tree."""
    one, two = joint.predecessor, joint.successor
    first, second = now.frame(one, joint.frame_predecessor), now.frame(two, joint.frame_successor)
    # The centre is fixed to the body beside the spherical joint or the turn: to the plane's other side.
    carrier = one if joint.kind is JointKind.SPHERICAL_PLANAR else two
    centre = first.p if carrier == one else second.p
    centre_rate = now.twist[carrier][:3] + np.cross(now.twist[carrier][3:], centre - now.p[carrier])

    def at_centre(body: int) -> tuple[Array, Array]:
        """Jacobian and bias of the twist of a body at the centre."""
        arm = centre - now.p[body]
        J = now.jacobian[body]
        moved = np.vstack([J[:3] - skew(arm) @ J[3:], J[3:]])
        a, alpha = now.bias_acceleration[body][:3], now.bias_acceleration[body][3:]
        v, w = now.twist[body][:3], now.twist[body][3:]
        return moved, np.concatenate([a + np.cross(alpha, arm) + np.cross(w, centre_rate - v), alpha])

    J_one, bias_one = at_centre(one)
    J_two, bias_two = at_centre(two)
    J, bias = J_two - J_one, bias_two - bias_one
    S, S_rate, groups = _allowed(joint, first.R, second.R, now.twist[one][3:], now.twist[two][3:])
    inverse = np.linalg.pinv(S)
    rotating_part = S_rate @ (inverse @ (J @ u))
    U, s, _ = np.linalg.svd(S)
    complement = U[:, int(np.sum(s > 1e-9)) :]
    rows, rate_bias = inverse @ J, inverse @ (bias - rotating_part)
    coordinates = _coordinates(joint, first.R.T @ second.R, first.R.T @ (second.p - first.p))
    axes = tuple(
        AxisMotion(rows[group], rate_bias[group], _read(joint, number, coordinate))
        for number, (group, coordinate) in enumerate(zip(groups, coordinates, strict=True))
    )
    return ClosureAtState(
        complement.T @ J, complement.T @ (bias - rotating_part), axes, _gap(robot, joint, first, second)
    )


def _allowed(
    joint: Joint, R_one: Array, R_two: Array, w_one: Array, w_two: Array
) -> tuple[Array, Array, list[slice]]:
    """Motions [v; w] that a joint allows at its centre, columns, their derivatives, and the axes' places."""
    none = np.zeros(3)
    columns: list[Array] = []
    rates: list[Array] = []
    groups: list[slice] = []

    def revolute(axis: Array, w: Array) -> None:
        groups.append(slice(len(columns), len(columns) + 1))
        columns.append(np.concatenate([none, axis]))
        rates.append(np.concatenate([none, np.cross(w, axis)]))

    def prismatic(axis: Array, w: Array) -> None:
        groups.append(slice(len(columns), len(columns) + 1))
        columns.append(np.concatenate([axis, none]))
        rates.append(np.concatenate([np.cross(w, axis), none]))

    def spherical() -> None:
        groups.append(slice(len(columns), len(columns) + 3))
        for axis in np.eye(3):
            columns.append(np.concatenate([none, axis]))
            rates.append(np.zeros(6))

    x, y, z = R_one.T
    match joint.kind:
        case JointKind.REVOLUTE:
            revolute(z, w_one)
        case JointKind.PRISMATIC:
            prismatic(z, w_one)
        case JointKind.CYLINDRICAL:
            prismatic(z, w_one)
            revolute(z, w_one)
        case JointKind.UNIVERSAL:
            revolute(x, w_one)
            revolute(R_two[:, 1], w_two)
        case JointKind.SPHERICAL | JointKind.POINT:
            spherical()
        case JointKind.PLANAR_SPHERICAL:
            prismatic(x, w_one)
            prismatic(y, w_one)
            spherical()
        case JointKind.SPHERICAL_PLANAR:
            spherical()
            prismatic(R_two[:, 0], w_two)
            prismatic(R_two[:, 1], w_two)
        case JointKind.FIXED:
            pass
        case _:
            raise VerifyError(
                f"joint {joint.name!r} is {joint.kind}, of which no closure is known to engines"
            )
    if joint.at_point:
        # The point locks the position already.
        for axis in np.eye(3):
            columns.append(np.concatenate([axis, none]))
            rates.append(np.zeros(6))
    S, S_rate = (np.array(listed).reshape(-1, 6).T for listed in (columns, rates))
    return S, S_rate, groups


def _coordinates(joint: Joint, R: Array, p: Array) -> list[float]:
    """Coordinates of the axes of a joint from the pose of its second frame in its first."""
    about_z = float(np.arctan2(R[1, 0], R[0, 0]))
    nothing = float("nan")
    match joint.kind:
        case JointKind.REVOLUTE:
            return [about_z]
        case JointKind.PRISMATIC:
            return [float(p[2])]
        case JointKind.CYLINDRICAL:
            return [float(p[2]), about_z]
        case JointKind.UNIVERSAL:
            # R = Rx Ry.
            return [float(np.arctan2(R[2, 1], R[1, 1])), float(np.arctan2(R[0, 2], R[0, 0]))]
        case JointKind.SPHERICAL | JointKind.POINT:
            return [nothing]
        case JointKind.PLANAR_SPHERICAL:
            return [float(p[0]), float(p[1]), nothing]
        case JointKind.SPHERICAL_PLANAR:
            own = R.T @ p
            return [nothing, float(own[0]), float(own[1])]
    return []


def _read(joint: Joint, number: int, coordinate: float) -> float:
    """A coordinate of an axis; an angle is the one nearest to where the joint reads it (`Joint.centre`)."""
    if math.isnan(coordinate) or not joint.primitives[number].is_rotation:
        return coordinate
    centre = joint.centre(number)
    return centre + math.remainder(coordinate - centre, 2.0 * math.pi)


def _gap(robot: Robot, joint: Joint, first: Pose, second: Pose) -> Array:
    """What a closure leaves open: the second frame against where the joint's best coordinates put it."""
    R, p = first.R.T @ second.R, first.R.T @ (second.p - first.p)
    q = _coordinates(joint, R, p)
    best_R, best_p = np.eye(3), np.zeros(3)
    match joint.kind:
        case JointKind.REVOLUTE:
            best_R = _turned(2, q[0])
        case JointKind.PRISMATIC:
            best_p[2] = q[0]
        case JointKind.CYLINDRICAL:
            best_R, best_p[2] = _turned(2, q[1]), q[0]
        case JointKind.UNIVERSAL:
            best_R = _turned(0, q[0]) @ _turned(1, q[1])
        case JointKind.SPHERICAL | JointKind.POINT:
            best_R = R
        case JointKind.PLANAR_SPHERICAL:
            best_R, best_p[:2] = R, q[:2]
        case JointKind.SPHERICAL_PLANAR:
            best_R, best_p = R, R[:, :2] @ q[1:]
    position = np.zeros(3) if joint.at_point else (p - best_p) / robot.size
    return np.concatenate([(R - best_R).ravel(), position])


def _turned(axis: int, angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def tree_axes(robot: Robot, index: int, q: Array) -> tuple[AxisMotion, ...]:
    """The axes of a joint of the tree: their rates are rates of the tree."""
    joint = robot.joints[index]
    rates = robot.platform_nv + robot.nv
    start = robot.platform_nv + robot.v_slices[index].start
    place = robot.q_slices[index].start
    axes = []
    for primitive in joint.primitives:
        rows = np.zeros((primitive.nv, rates))
        rows[range(primitive.nv), range(start, start + primitive.nv)] = 1.0
        coordinate = float(q[place]) if primitive.nv == 1 else float("nan")
        axes.append(AxisMotion(rows, np.zeros(primitive.nv), coordinate))
        start, place = start + primitive.nv, place + primitive.nq
    return tuple(axes)
