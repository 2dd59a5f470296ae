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
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.model.joint import MOTION, Interval, Joint, JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_from_matrices
from nacelle.spatial.scalar import Array
from nacelle.tree.spanning_tree import TURN, CosSin, Step, read_step

_SLACK = 1e-9


def closure_coordinates(joint: Joint, R: Array, p: Array) -> Array:
    """Coordinates (..., nq) of a closure from the pose of its second frame in its first: rad, m, quat_xyzw.

    Args:
        joint: the closure.
        R: orientation (..., 3, 3) of the second frame in the first, R_1^T R_2.
        p: origin (..., 3) of the second frame in the first, R_1^T (p_2 - p_1), m.
    """
    parts = [np.zeros((*p.shape[:-1], 0))]
    for step in _steps(joint.kind, R, p):
        if step is None:
            parts.append(quat_from_matrices(R))
        else:
            parts.append(np.asarray(read_step(step, joint, len(parts) - 1))[..., None])
    return np.concatenate(parts, axis=-1)


def angle_places(joints: Sequence[Joint]) -> list[bool]:
    """Which of the coordinates of joints, one after the other, are angles: not lengths, nor quaternions."""
    primitives = [primitive for joint in joints for primitive in joint.primitives]
    return [
        primitive.is_rotation and primitive.nq == 1 for primitive in primitives for _ in range(primitive.nq)
    ]


def _steps(kind: JointKind, R: Array, p: Array) -> list[Step | None]:
    """Where the primitives of a joint are, from its relative pose; None for a spherical joint."""
    if kind is JointKind.UNIVERSAL:
        # Rx(a) Ry(b) has the rows [cb, 0, sb], [sa sb, ca, -sa cb], [-ca sb, sa, ca cb].
        return [CosSin(R[..., 1, 1], R[..., 2, 1]), CosSin(R[..., 0, 0], R[..., 0, 2])]
    steps: list[Step | None] = []
    turned = False
    for primitive in MOTION[kind]:
        axis = 0 if primitive is Primitive.SPHERICAL else primitive.axis
        if primitive is Primitive.SPHERICAL:
            steps.append(None)
            turned = True
        elif primitive.is_rotation:
            i, j = (axis + 1) % 3, (axis + 2) % 3
            steps.append(CosSin(R[..., i, i], R[..., j, i]))
        elif turned:
            # A prismatic axis after a spherical one is along the axes of the second frame.
            steps.append(sum(R[..., k, axis] * p[..., k] for k in range(3)))
        else:
            steps.append(p[..., axis])
    return steps


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


class _Bound(NamedTuple):
    """A coordinate with a limit: its place in the joint's coordinates, the limits, and what it is."""

    place: int
    low: float
    high: float
    primitive: Primitive


@lru_cache(maxsize=4096)
def _bounds(kind: JointKind, limits: tuple[Interval, ...]) -> tuple[_Bound, ...]:
    """The coordinates of a kind of joint that have limits."""
    bounds = []
    place = 0
    for primitive, (low, high) in zip(MOTION[kind], limits, strict=False):
        if math.isfinite(low) or math.isfinite(high):
            bounds.append(_Bound(place, low - _SLACK, high + _SLACK, primitive))
        place += primitive.nq
    return tuple(bounds)


def outside(joint: Joint, q: Array) -> Array:
    """Whether coordinates (..., nq) of a joint, rad or m, are beyond its limits; tilt of spherical ones."""
    bounds = _bounds(joint.kind, joint.limits)
    if q.ndim == 1:
        return np.asarray(_one_outside(bounds, q.tolist()))
    result = np.zeros(q.shape[:-1], dtype=bool)
    for place, low, high, primitive in bounds:
        if primitive is Primitive.SPHERICAL:
            tilt = 1.0 - 2.0 * (q[..., place] ** 2 + q[..., place + 1] ** 2)
            value = np.arccos(np.clip(tilt, -1.0, 1.0))
        else:
            value = q[..., place]
        result |= ~((value >= low) & (value <= high))
    return result


def _one_outside(bounds: tuple[_Bound, ...], q: list[float]) -> bool:
    """The same for a single sample: plain floats are much faster than arrays of one entry."""
    for place, low, high, primitive in bounds:
        if primitive is Primitive.SPHERICAL:
            value = math.acos(min(1.0, max(-1.0, 1.0 - 2.0 * (q[place] ** 2 + q[place + 1] ** 2))))
        else:
            value = q[place]
        if not low <= value <= high:
            return True
    return False


def has_limit(joint: Joint) -> bool:
    """Whether a joint has a limit."""
    return bool(_bounds(joint.kind, joint.limits))


@lru_cache(maxsize=256)
def _drives(robot: Robot) -> tuple[Array, Array]:
    """Limits of all actuators (actuators,)."""
    position = np.array([actuator.position for actuator in robot.actuators]).reshape(-1, 2)
    return position[:, 0] - _SLACK, position[:, 1] + _SLACK


def actuator_outside(robot: Robot, q: Array) -> Array:
    """Whether (...) coordinates of actuators (..., actuators), rad or m, are beyond their drives' limits."""
    low, high = _drives(robot)
    return np.asarray(~((q >= low) & (q <= high)).all(axis=-1))


def read_actuators(robot: Robot, q: Array) -> Array:
    """Coordinates of actuators (..., actuators), rad or m, with angles as `inverse_kinematics` reads them.

    Those of joints that cannot make a turn are brought within half a turn of their centres; any other may
    have its turns.
    """
    joints = [robot.narrowed_joints[actuator.joint] for actuator in robot.actuators]
    held = [joint.primitives[0].is_rotation and not joint.may_turn(0) for joint in joints]
    off = q - np.array([joint.centre(0) for joint in joints])
    return np.asarray(np.where(held, q - TURN * np.ceil(off / TURN - 0.5), q))
