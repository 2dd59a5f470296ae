"""Coordinates of all joints, closures too, and whether they are within their limits."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.closure import closure_frames
from nacelle.kinematics.tree import Step, TreeMotion, Turn
from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.rotation_path import quat_from_matrices
from nacelle.spatial.scalar import Array

_SLACK = 1e-9


def closure_coordinates(joint: Joint, R: Array, p: Array) -> Array:
    """Coordinates (..., nq) of a closure from the pose of its second frame in its first.

    Args:
        joint: the closure.
        R: orientation (..., 3, 3) of the second frame in the first.
        p: origin (..., 3) of the second frame in the first.
    """
    found = [np.zeros((*p.shape[:-1], 0))]
    for step in _steps(joint.kind, R, p):
        if step is None:
            found.append(quat_from_matrices(R))
        else:
            angle_or_length = np.arctan2(step.s, step.c) if isinstance(step, Turn) else step
            found.append(np.asarray(angle_or_length)[..., None])
    return np.concatenate(found, axis=-1)


def closure_steps(joint: Joint, motion: TreeMotion) -> list[Step]:
    """Where the primitives of a closure stand, over any scalar; of a ball the cosine of its tilt."""
    first, second = closure_frames(joint, motion)
    R, p = first.R.T @ second.R, first.R.T @ (second.p - first.p)
    return [R[2, 2] if step is None else step for step in _steps(joint.kind, R, p)]


def _steps(kind: JointKind, R: Array, p: Array) -> list[Step | None]:
    """Where the primitives of a joint stand, from its relative pose; None for a ball."""
    turn = Turn(R[..., 0, 0], R[..., 1, 0])
    match kind:
        case JointKind.REVOLUTE:
            return [turn]
        case JointKind.PRISMATIC:
            return [p[..., 2]]
        case JointKind.CYLINDRICAL:
            return [p[..., 2], turn]
        case JointKind.UNIVERSAL:
            # Rx(a) Ry(b) has the rows [cb, 0, sb], [sa sb, ca, -sa cb], [-ca sb, sa, ca cb].
            return [Turn(R[..., 1, 1], R[..., 2, 1]), Turn(R[..., 0, 0], R[..., 0, 2])]
        case JointKind.SPHERICAL | JointKind.POINT:
            return [None]
        case JointKind.PLANAR_SPHERICAL:
            return [p[..., 0], p[..., 1], None]
        case JointKind.SPHERICAL_PLANAR:
            return [None, *(sum(R[..., k, i] * p[..., k] for k in range(3)) for i in range(2))]
    return []


def relative_pose(joint: Joint, R: Array, p: Array) -> tuple[Array, Array]:
    """Pose of a joint's second frame in its first, from R (..., bodies, 3, 3) and p (..., bodies, 3)."""
    i, j = joint.predecessor, joint.successor
    R1 = R[..., i, :, :] @ joint.frame_predecessor.R
    R2 = R[..., j, :, :] @ joint.frame_successor.R
    p1 = p[..., i, :] + R[..., i, :, :] @ joint.frame_predecessor.p
    p2 = p[..., j, :] + R[..., j, :, :] @ joint.frame_successor.p
    R1_T = np.swapaxes(R1, -1, -2)
    return R1_T @ R2, np.einsum("...ij,...j->...i", R1_T, p2 - p1)


def outside(joint: Joint, q: Array) -> Array:
    """Whether coordinates (..., nq) of a joint are beyond its limits; of a ball its tilt counts."""
    result = np.zeros(q.shape[:-1], dtype=bool)
    start = 0
    for primitive, (low, high) in zip(joint.primitives, joint.limits, strict=False):
        part = q[..., start : start + primitive.nq]
        start += primitive.nq
        if np.isinf(low) and np.isinf(high):
            continue
        if primitive is Primitive.BALL:
            tilt = 1.0 - 2.0 * (part[..., 0] ** 2 + part[..., 1] ** 2)
            value = np.arccos(np.clip(tilt, -1.0, 1.0))
        else:
            value = part[..., 0]
        inside = (value >= low - _SLACK) & (value <= high + _SLACK)
        if primitive.turns and primitive is not Primitive.BALL:
            for turn in (2.0 * np.pi, -2.0 * np.pi):
                inside |= (value + turn >= low - _SLACK) & (value + turn <= high + _SLACK)
        result |= ~inside
    return result


def limited(joint: Joint) -> bool:
    """Whether a joint has a limit."""
    return any(np.isfinite(bound) for pair in joint.limits for bound in pair)


def actuator_outside(robot: Robot, q: Array) -> Array:
    """Whether actuators (..., actuators) are beyond the limits of their drives."""
    low = np.array([actuator.position[0] for actuator in robot.actuators])
    high = np.array([actuator.position[1] for actuator in robot.actuators])
    turns = np.array([robot.joints[a.joint].primitives[0].turns for a in robot.actuators], dtype=bool)
    inside = (q >= low - _SLACK) & (q <= high + _SLACK)
    for turn in (2.0 * np.pi, -2.0 * np.pi):
        inside |= turns & (q + turn >= low - _SLACK) & (q + turn <= high + _SLACK)
    return np.asarray(np.any(~inside, axis=-1))
