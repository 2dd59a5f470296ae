"""Coordinates of all joints, closures too, and whether they are within their limits.

Joints of the tree have their coordinates in q. Those of a closure are read from the pose of its second frame
in its first, R = R_1^T R_2 (3, 3) and p = R_1^T (p_2 - p_1) (3,), m:

    revolute about axis k     q = atan2(R_ji, R_ii),      (i, j) the axes after k in cyclic order, rad
    prismatic along axis k    q = p_k, m; after a spherical joint along the second frame's axis, R_:k . p
    universal, Rx(a) Ry(b)    a = atan2(R_21, R_11),      b = atan2(R_02, R_00)
    spherical                 the quaternion of R; its tilt arccos(R_22) is what a limit is about

indices from 0. An angle is the one nearest to `Joint.centre`, so within the limits if it can be, or has the
turns that a motion gave it. Limits are low <= q <= high within 1e-9.
The tilt from a quaternion is arccos(1 - 2 (x^2 + y^2)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from nacelle.kinematics.flags import fold_columns
from nacelle.model.joint import MOTION, Interval, Joint, JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import quat_from_matrices
from nacelle.spatial.scalar import Array
from nacelle.tree.spanning_tree import coordinate_from_transform, joint_transform_between, wrap_angles

_SLACK = 1e-9


def closure_coordinates(joint: Joint, R: Array, p: Array) -> Array:
    """Coordinates (..., nq) of a closure from the pose of its second frame in its first: rad, m, quat_xyzw.

    Args:
        joint: the closure.
        R: orientation (..., 3, 3) of the second frame in the first, R_1^T R_2.
        p: origin (..., 3) of the second frame in the first, R_1^T (p_2 - p_1), m.
    """
    second = Pose(from_samples(R, 2), from_samples(p, 1))
    parts = [np.zeros((*p.shape[:-1], 0))]
    for number, primitive in enumerate(joint.primitives):
        if primitive is Primitive.SPHERICAL:
            parts.append(quat_from_matrices(R))
        else:
            step = joint_transform_between(joint, identity(), second, number)
            parts.append(to_samples([coordinate_from_transform(step, joint, number)]))
    return np.concatenate(parts, axis=-1)


def angle_mask(joints: Sequence[Joint]) -> list[bool]:
    """Which of the coordinates of joints, one after the other, are angles: not lengths, nor quaternions."""
    primitives = [primitive for joint in joints for primitive in joint.primitives]
    return [
        primitive.is_rotation and primitive.nq == 1 for primitive in primitives for _ in range(primitive.nq)
    ]


def relative_pose(joint: Joint, R: Array, p: Array) -> tuple[Array, Array]:
    """Pose (R_1^T R_2, R_1^T (p_2 - p_1)) of a joint's second frame in its first: (..., 3, 3), (..., 3).

    Args:
        joint: the joint.
        R: orientations of all bodies in the base (..., bodies, 3, 3).
        p: their origins (..., bodies, 3), m.
    """
    i, j = joint.predecessor, joint.successor
    R1 = R[..., i, :, :] @ joint.frame_predecessor.R
    R2 = R[..., j, :, :] @ joint.frame_successor.R
    p1 = p[..., i, :] + R[..., i, :, :] @ joint.frame_predecessor.p
    p2 = p[..., j, :] + R[..., j, :, :] @ joint.frame_successor.p
    R1_T = np.swapaxes(R1, -1, -2)
    return R1_T @ R2, np.einsum("...ij,...j->...i", R1_T, p2 - p1)


class Bound(NamedTuple):
    """A coordinate with a limit: where it starts in the joint's coordinates, its axis, what it is, limits."""

    start: int
    axis: int
    primitive: Primitive
    low: float
    high: float


@lru_cache(maxsize=4096)
def bounds_of(kind: JointKind, limits: tuple[Interval, ...]) -> tuple[Bound, ...]:
    """The coordinates of a kind of joint that have limits."""
    bounds = []
    start = 0
    for axis, (primitive, (low, high)) in enumerate(zip(MOTION[kind], limits, strict=False)):
        if math.isfinite(low) or math.isfinite(high):
            bounds.append(Bound(start, axis, primitive, low - _SLACK, high + _SLACK))
        start += primitive.nq
    return tuple(bounds)


class LimitReading(NamedTuple):
    """An axis with limits, its coordinate (...) as they count it, rad or m, and whether it is beyond them."""

    axis: int
    value: Any
    beyond: Any


def limit_readings(joint: Joint, q: Array, *, centred: bool = False) -> Iterator[LimitReading]:
    """Coordinates (..., nq) of a joint as its limits count them: of spherical ones the tilt.

    Args:
        joint: the joint.
        q: its coordinates, rad, m, quat_xyzw.
        centred: whether angles are brought within half a turn of `Joint.centre`.
    """
    # Of a single sample plain floats, which are much faster than arrays of one entry.
    columns = q.tolist() if q.ndim == 1 else np.moveaxis(q, -1, 0)
    for start, axis, primitive, low, high in bounds_of(joint.kind, joint.limits):
        value = columns[start]
        if primitive is Primitive.SPHERICAL:
            cosine = 1.0 - 2.0 * (value * value + columns[start + 1] * columns[start + 1])
            value = np.arccos(np.minimum(1.0, np.maximum(-1.0, cosine)))
        elif centred and primitive.is_rotation:
            value = wrap_angles(value, joint.centre(axis))
        yield LimitReading(axis, value, (value < low) | (value > high) | (value != value))


def is_beyond_limits(joint: Joint, q: Array) -> Array:
    """Whether coordinates (..., nq) of a joint, rad or m, are beyond its limits; tilt of spherical ones."""
    result: Any = False
    for reading in limit_readings(joint, q):
        result = result | reading.beyond
    return np.asarray(np.zeros(q.shape[:-1], dtype=bool) | result)


def has_limit(joint: Joint) -> bool:
    """Whether a joint has a limit."""
    return bool(bounds_of(joint.kind, joint.limits))


@lru_cache(maxsize=256)
def actuator_limits(robot: Robot) -> tuple[Array, Array]:
    """Limits of all actuators (actuators,)."""
    position = np.array([actuator.position for actuator in robot.actuators]).reshape(-1, 2)
    return position[:, 0] - _SLACK, position[:, 1] + _SLACK


def is_beyond_actuator_limits(robot: Robot, q: Array) -> Array:
    """Whether (...) coordinates of actuators (..., actuators), rad or m, are beyond their drives' limits."""
    low, high = actuator_limits(robot)
    return np.asarray(~fold_columns(np.logical_and, (q >= low) & (q <= high), True))


def limit_vector(robot: Robot) -> Array:
    """Limits of all joints, then positions, speeds, forces of the drives: lower, upper, lower, ... (m,)."""
    pairs = [pair for joint in robot.joints for pair in joint.limits]
    pairs += [actuator.position for actuator in robot.actuators]
    pairs += [Interval(0.0, actuator.speed) for actuator in robot.actuators]
    return np.ravel([*pairs, *(Interval(0.0, actuator.force) for actuator in robot.actuators)])


class BatchLimits:
    """Limits of robots of one structure, each its own.

    Angles that cannot make a turn are taken within half a turn of the middle of these limits.

    Attributes:
        speed: limits of the drives' rates (N, actuators), m/s or rad/s.
        force: limits of their forces (N, actuators), N or N m.
        possible: whether all limits of each robot (N,) leave room.
    """

    def __init__(self, robot: Robot, vectors: Array) -> None:
        """Limits as in `limit_vector` (N, m) of robots like this one."""
        pairs, count = vectors.reshape(len(vectors), -1, 2), len(robot.actuators)
        self._robot, self._pairs = robot, pairs
        self._first = np.cumsum([0, *(len(joint.limits) for joint in robot.joints)]).tolist()
        self.force, self.speed = pairs[:, -count:, 1], pairs[:, -2 * count : -count, 1]
        self.possible = np.all(pairs[..., 0] < pairs[..., 1], axis=1)

    def are_exceeded(self, drives: Array, joints: Mapping[int, Array]) -> Array:
        """Whether coordinates (N, S, actuators) of drives or (N, S, nq) of joints are beyond them (N, S)."""
        robot, count = self._robot, self._first[-1]
        values = [(count + k, drive.joint, 0, drives[..., k]) for k, drive in enumerate(robot.actuators)]
        for j, q in joints.items():
            readings = limit_readings(robot.joints[j], q)
            values += [(self._first[j] + axis, j, axis, value) for axis, value, _ in readings]
        result = np.zeros(drives.shape[:-1], dtype=bool)
        for row, j, axis, value in values:
            low, high = self._pairs[:, row, 0, None], self._pairs[:, row, 1, None]
            primitive = robot.joints[j].primitives[axis]
            turns_known = j in robot.coupled_joints or robot.joints[j].name in robot.motion.joint_names
            if primitive.is_rotation and primitive.nq == 1 and not turns_known:
                held = high - low <= 2.0 * math.pi + _SLACK
                middle = 0.5 * (np.where(held, low, 0.0) + np.where(held, high, 0.0))
                value = np.where(held, wrap_angles(value, middle), value)
            result |= ~((value >= low - _SLACK) & (value <= high + _SLACK))
        return result


def wrap_actuators(robot: Robot, q: Array) -> Array:
    """Coordinates of actuators (..., actuators), rad or m, with angles as `inverse_kinematics` reads them.

    Those of joints that cannot make a turn are brought within half a turn of their centres; any other may
    have its turns.
    """
    joints = [robot.joints_within_drive_limits[actuator.joint] for actuator in robot.actuators]
    held = [joint.primitives[0].is_rotation and not joint.may_turn(0) for joint in joints]
    return np.asarray(np.where(held, wrap_angles(q, np.array([joint.centre(0) for joint in joints])), q))
