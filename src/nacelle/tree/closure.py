"""Closures: what is left open, and how it changes with the rates of the tree.

Every closure demands scalar equations between its two joint frames (`nacelle.model.joint.LOCKS`):

    offset i:     e_i . d = 0                d from the first frame's origin to the second's, metres
    square i, j:  e_i . f_j = 0              e_i axis of the first frame, f_j of the second

and their time derivatives are

    offset i:     e_i . (v_2 - v_1 - w_1 x d)
    square i, j:  (f_j x e_i) . (w_2 - w_1)

with v the velocities of the two origins and w the angular velocities of the two bodies. A coupling has one
equation over coordinates of the tree, sum factor q - offset = 0, whose derivatives have constant factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.model.joint import Joint
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew, skews
from nacelle.spatial.rounding import cancelling_array_sum, ordered_product
from nacelle.spatial.scalar import Array, Scalar, cross, dot, pack, plus, product
from nacelle.tree.spanning_tree import (
    JointTransform,
    TreeKinematics,
    TreeVelocity,
    joint_transform_between,
    point_acceleration,
    point_velocity,
)

# Axes after an axis, cyclically.
_NEXT, _AFTER = [1, 2, 0], [2, 0, 1]


@dataclass(frozen=True)
class ClosureState:
    """The closures at one state of the tree.

    Attributes:
        residual: what is left open (locks,), metres or sines of angles.
        jacobian: its derivative with respect to the rates of the tree, (locks, rates).
        rows: for each closure the slice of its locks.
    """

    residual: Array
    jacobian: Array
    rows: tuple[slice, ...]

    def rows_of(self, robot: Robot, joints: Sequence[int]) -> list[int]:
        """Equations of some closures, by index of their joints."""
        slices = [self.rows[j - robot.tree] for j in joints]
        return [row for part in slices for row in range(part.start, part.stop)]


def closure_frames(joint: Joint, motion: TreeKinematics) -> tuple[Pose, Pose]:
    """Poses of the two joint frames of a closure in the base."""
    return (
        motion.poses[joint.predecessor] @ joint.frame_predecessor,
        motion.poses[joint.successor] @ joint.frame_successor,
    )


def closure_transform(joint: Joint, motion: TreeKinematics, number: int) -> JointTransform:
    """Where an axis of a joint that closes a loop is, from the poses of its two bodies; rad by (cos, sin)."""
    return joint_transform_between(joint, *closure_frames(joint, motion), number)


def _offset(first: Array, second: Array) -> Array:
    """From one point to another; of floats to the last bit: iteration closes loops as far as can be."""
    floats = first.dtype != object and second.dtype != object
    return np.asarray(second - first if floats else plus(second, -first))


def coupling_residual(joint: Joint, motion: TreeKinematics) -> Scalar:
    """What a coupling leaves open: sum factor q - offset, rad or m."""
    gap: Scalar = -joint.offset
    for index, factor in joint.terms:
        gap = gap + factor * motion.coordinates[index]
    return gap


def coupling_rates(robot: Robot, joint: Joint) -> dict[int, float]:
    """Factors of a coupling by place in the rates of the tree: sum factor u = 0."""
    m = robot.platform_nv
    return {m + robot.v_slices[index].start: factor for index, factor in joint.terms}


def _coupling_row(robot: Robot, joint: Joint) -> Array:
    row = np.zeros(robot.platform_nv + robot.nv)
    for rate, factor in coupling_rates(robot, joint).items():
        row[rate] = factor
    return row


def closure_residual(robot: Robot, motion: TreeKinematics) -> Array:
    """Residual (rows,) of all closures alone, m or sines of angles, as in `closure_state`."""
    residual: list[Scalar] = []
    for joint in robot.closures:
        if joint.is_coupling:
            residual.append(coupling_residual(joint, motion))
            continue
        first, second = closure_frames(joint, motion)
        d = _offset(first.p, second.p)
        residual += [
            dot(first.R[:, lock[1]], d if len(lock) == 2 else second.R[:, lock[2]]) for lock in joint.locks
        ]
    return pack(residual) if residual else np.zeros(0)


def closure_state(robot: Robot, motion: TreeKinematics) -> ClosureState:
    """Residual (rows,) and Jacobian (rows, rates) of all closures: r' = J u."""
    numbers = NumberClosures(robot)
    if numbers.plain and motion.is_numeric:
        return numbers.state(motion)
    rows: list[Array] = []
    for joint in robot.closures:
        if joint.is_coupling:
            rows.append(_coupling_row(robot, joint))
            continue
        first, second = closure_frames(joint, motion)
        # A rate that moves both bodies moves them as one, and opens nothing.
        apart = motion.movers[joint.predecessor] != motion.movers[joint.successor]
        J1 = motion.point_jacobian(joint.predecessor, first.p, apart)
        J2 = motion.point_jacobian(joint.successor, second.p, apart)
        rows += [_scatter(rates, apart) for rates in lock_rates(joint, first, second, J1, J2)]
    jacobian = np.stack(rows) if rows else np.zeros((0, motion.columns.shape[1]))
    return ClosureState(closure_residual(robot, motion), jacobian, numbers.rows)


def lock_rates(joint: Joint, first: Pose, second: Pose, J1: Array, J2: Array) -> list[Array]:
    """Derivatives (k,) of the locks of a closure by k rates.

    Args:
        joint: the closure.
        first: its frame on the predecessor, in the base.
        second: its frame on the successor.
        J1: twists [v; w] (6, k) of the first frame at its origin, per rate.
        J2: the same of the second frame.
    """
    # v_2 - v_1 - w_1 x d, per rate: w_1 x d = -d x w_1.
    slip = plus(plus(J2[:3], -J1[:3]), product(skew(_offset(first.p, second.p)), J1[3:]))
    relative = plus(J2[3:], -J1[3:])
    rows = []
    for lock in joint.locks:
        e = first.R[:, lock[1]]
        rows.append(
            product(slip.T, e) if len(lock) == 2 else product(relative.T, cross(second.R[:, lock[2]], e))
        )
    return rows


def _scatter(values: Array, mask: Array) -> Array:
    """A row (rates,) with values where a mask (rates,) says so, zero elsewhere."""
    row = np.full(len(mask), 0.0, dtype=values.dtype)
    row[mask] = values
    return row


class NumberClosures:
    """The closures of a robot, prepared for many states of plain numbers, which are evaluated side by side.

    Attributes:
        plain: whether the closures' frames are floats.
        rows: for each closure the slice of its locks.
    """

    def __init__(self, robot: Robot) -> None:
        """Read the closures."""
        joints = robot.closures
        frames = [joint.frame_predecessor for joint in joints] + [joint.frame_successor for joint in joints]
        self.plain = not any(frame.R.dtype == object or frame.p.dtype == object for frame in frames)
        ends = np.cumsum([0, *(len(joint.locks) for joint in joints)]).tolist()
        self.rows = tuple(map(slice, ends, ends[1:]))
        if not (self.plain and joints):
            return
        self._bodies = [joint.predecessor for joint in joints] + [joint.successor for joint in joints]
        self._frames = np.concatenate(
            [np.array([frame.R for frame in frames]), np.array([frame.p for frame in frames])[:, :, None]],
            axis=2,
        )
        # The equation of a coupling takes the place of an offset along x, which is then replaced.
        locks = [(k, *lock[1:], -1)[:3] for k, joint in enumerate(joints) for lock in joint.locks]
        self._closure, self._first, self._second = np.array(locks).T
        self._square = (self._second >= 0)[:, None]
        self._couplings = [
            (rows.start, joint, _coupling_row(robot, joint))
            for joint, rows in zip(joints, self.rows, strict=True)
            if joint.is_coupling
        ]

    def state(self, motion: TreeKinematics) -> ClosureState:
        """Residual and Jacobian of all closures, of floats."""
        if not self.rows:
            return ClosureState(np.zeros(0), np.zeros((0, motion.columns.shape[1])), ())
        R = np.array([motion.poses[body].R for body in self._bodies])
        p = np.array([motion.poses[body].p for body in self._bodies])
        frames = ordered_product(R, self._frames)
        # Numbers alone are no constants of a program: their products may be summed in any order.
        R, p = frames[:, :, :3], cancelling_array_sum(frames[:, :, 3], p)
        count, k = len(self.rows), self._closure
        d = p[count:] - p[:count]
        e, f = R[k, :, self._first], R[k + count, :, self._second]
        residual = ordered_product(e[:, None], np.where(self._square, f, d[k])[:, :, None])
        v0, w = motion.columns[:3], motion.columns[3:]
        movable = motion.movers[self._bodies][:, None]
        linear, angular = np.where(movable, v0 - skews(p) @ w, 0.0), np.where(movable, w, 0.0)
        slip = linear[count:] - linear[:count] + skews(d) @ angular[:count]
        relative = angular[count:] - angular[:count]
        normal = f[:, _NEXT] * e[:, _AFTER] - f[:, _AFTER] * e[:, _NEXT]
        rates = np.where(self._square[:, :, None], relative[k], slip[k])
        J = (np.where(self._square, normal, e)[:, None] @ rates)[:, 0]
        gaps = residual[:, 0, 0]
        for index, joint, row in self._couplings:
            gaps[index], J[index] = coupling_residual(joint, motion), row
        return ClosureState(gaps, J, self.rows)


def relative_acceleration_bias(joint: Joint, motion: TreeKinematics, velocity: TreeVelocity) -> Array:
    """Acceleration of a closure's second origin seen from its first frame, at constant rates, base axes.

    With d from the first origin to the second: d'' - w_1' x d - 2 w_1 x d' + w_1 x (w_1 x d).
    """
    first, second = closure_frames(joint, motion)
    V1, V2 = velocity.twists[joint.predecessor], velocity.twists[joint.successor]
    A1, A2 = velocity.biases[joint.predecessor], velocity.biases[joint.successor]
    w1, d = V1[3:], second.p - first.p
    d_rate = point_velocity(V2, second.p) - point_velocity(V1, first.p)
    d_bias = point_acceleration(V2, A2, second.p) - point_acceleration(V1, A1, first.p)
    return np.asarray(d_bias - cross(A1[3:], d) - 2.0 * cross(w1, d_rate) + cross(w1, cross(w1, d)))


def closure_bias(robot: Robot, motion: TreeKinematics, velocity: TreeVelocity) -> Array:
    """Second derivatives of the closures where the rates stay constant, one number a lock.

    offset i:     e_i . (acceleration of the second origin seen from the first frame)
    square i, j:  (f_j x e_i) . (w_2' - w_1') + (f_j' x e_i + f_j x e_i') . (w_2 - w_1)
    """
    bias: list[Scalar] = []
    for joint in robot.closures:
        if joint.is_coupling:
            bias.append(0.0)
            continue
        first, second = closure_frames(joint, motion)
        w1, w2 = velocity.twists[joint.predecessor][3:], velocity.twists[joint.successor][3:]
        a1, a2 = velocity.biases[joint.predecessor][3:], velocity.biases[joint.successor][3:]
        slip = relative_acceleration_bias(joint, motion, velocity)
        for lock in joint.locks:
            e = first.R[:, lock[1]]
            if len(lock) == 2:
                bias.append(dot(e, slip))
            else:
                f = second.R[:, lock[2]]
                relative = cross(cross(w2, f), e) + cross(f, cross(w1, e))
                bias.append(dot(cross(f, e), a2 - a1) + dot(relative, w2 - w1))
    return pack(bias) if bias else np.zeros(0)


def has_reversed_axis(joint: Joint, motion: TreeKinematics) -> bool:
    """Whether a closure holds with an axis the wrong way round, which its equations also allow."""
    locked = {lock[1:] for lock in joint.locks if lock[0] == "perpendicular"}
    if not {(0, 2), (1, 2)} <= locked:
        return False
    first, second = closure_frames(joint, motion)
    if float(dot(first.R[:, 2], second.R[:, 2])) < 0.0:
        return True
    return (0, 1) in locked and float(dot(first.R[:, 0], second.R[:, 0])) < 0.0
