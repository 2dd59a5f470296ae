"""Actuators and axes of joints: coordinates, rates and accelerations, in the tree or where a loop is cut.

In the tree the rate of an axis is an entry of u. Where it closes a loop between the frames 1 and 2, z the
axis of the first, its coordinate is the angle from x_1 to x_2 about z or the height z . d, d from origin to
origin:

    revolute     q' = z . (w_2 - w_1),     q'' = z . (w_2' - w_1') + (w_1 x z) . (w_2 - w_1)
    prismatic    q' = z . (v_2 - v_1) at origin 2,     q'' = z . (d'' as seen from frame 1)

so q' = A u and q'' = A u' + bias, the bias from twists alone.

An angle q (rad) and q + 2 pi are one position, but not one point of a path of the actuators:

    unwound     q - 2 pi round((q - q_start) / (2 pi))                within half a turn of q_start
    unwrapped   the same with the steps from sample to sample, their whole turns summed up
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, cross, dot, pack
from nacelle.spatial.screw import Wrench
from nacelle.tree.closure import closure_frames, closure_transform, relative_acceleration_bias
from nacelle.tree.spanning_tree import FULL_TURN, JointTransform, TreeKinematics, TreeVelocity, wrap_angles


def unwind_angles(robot: Robot, q: Array, start: Array) -> Array:
    """Coordinates (..., actuators), angles by whole turns within half a turn of those where a path begins.

    Inverse kinematics gives angles within half a turn of zero: without this a path across the seam would go
    the long way round.
    """
    return np.where(robot.revolute_actuators, wrap_angles(q, start), q)


def actuator_scales(robot: Robot) -> Array:
    """What the coordinates of actuators count in (actuators,): the robot's size for lengths, 1 for angles."""
    return np.where(robot.revolute_actuators, 1.0, robot.size)


# ---- actuators: their coordinates, rates and accelerations, in the tree or where a loop is cut


def joint_rate_row(robot: Robot, motion: TreeKinematics, index: int) -> Array:
    """Rate q' of a revolute or prismatic joint, in the tree or a closure, as a row (rates,) over u."""
    return np.asarray(rate_rows(robot, motion, index)[0][0])


def actuator_rows(robot: Robot, motion: TreeKinematics) -> Array:
    """Rate of every actuator as a row over the tree's rates (actuators, rates)."""
    rows = [joint_rate_row(robot, motion, actuator.joint) for actuator in robot.actuators]
    return np.stack(rows) if rows else np.zeros((0, motion.columns.shape[1]))


def actuator_transforms(
    robot: Robot, motion: TreeKinematics, steps: Sequence[JointTransform]
) -> list[JointTransform]:
    """Where every actuator is, from the steps of the tree and, for closures, the poses of bodies.

    A coupled joint counts its turns: its step is the coordinate itself.
    """
    starts = np.cumsum([0, *(len(joint.primitives) for joint in robot.tree_joints)])
    result: list[JointTransform] = []
    for actuator in robot.actuators:
        if actuator.joint < robot.tree:
            step = steps[starts[actuator.joint]]
            result.append(motion.coordinates.get(actuator.joint, step))
            continue
        result.append(closure_transform(robot.joints[actuator.joint], motion, 0))
    return result


def rate_bias(robot: Robot, motion: TreeKinematics, velocity: TreeVelocity, index: int) -> Array:
    """Accelerations (1 or 3,) of a revolute, prismatic or spherical joint at constant u: zero in the tree.

    rad/s^2 or m/s^2; of a spherical joint w_2' - w_1' seen from the second body, w_2' - w_1' + w_2 x w_1.
    """
    joint = robot.joints[index]
    if index < robot.tree:
        return np.zeros(joint.primitives[0].nv)
    z = closure_frames(joint, motion)[0].R[:, 2]
    if joint.kind is JointKind.PRISMATIC:
        return pack([dot(z, relative_acceleration_bias(joint, motion, velocity))])
    (w1, b1), (w2, b2) = (
        (velocity.twists[body][3:], velocity.biases[body][3:])
        for body in (joint.predecessor, joint.successor)
    )
    if joint.kind is JointKind.SPHERICAL:
        return np.asarray(b2 - b1 + cross(w2, w1))
    return pack([dot(z, b2 - b1) + dot(cross(w1, z), w2 - w1)])


def actuator_biases(
    robot: Robot, motion: TreeKinematics, velocity: TreeVelocity, bias: Array
) -> list[Scalar]:
    """Accelerations of the actuators where dv/dt = 0 (actuators,), rad/s^2 or m/s^2.

    Args:
        robot: the robot.
        motion: poses of bodies.
        velocity: their twists, and derivatives at constant rates.
        bias: derivatives of the tree's rates where dv/dt = 0 (rates,).
    """
    return [
        joint_rate_row(robot, motion, actuator.joint) @ bias
        + rate_bias(robot, motion, velocity, actuator.joint)[0]
        for actuator in robot.actuators
    ]


def tree_actuator_rates(robot: Robot) -> frozenset[int]:
    """Places in u of the rates of actuators that are tree joints."""
    return frozenset(
        robot.platform_nv + robot.v_slices[actuator.joint].start
        for actuator in robot.actuators
        if actuator.joint < robot.tree
    )


def closure_actuators(robot: Robot, closures: Sequence[int]) -> list[int]:
    """Actuators (by their number) that are among some closures."""
    return [k for k, actuator in enumerate(robot.actuators) if actuator.joint in closures]


def unwrap_angles(q: Array, angles: Sequence[bool] | Array, start: Array | None = None) -> Array:
    """Coordinates (N, k) over time, rad or m, angles without jumps by whole turns.

    Args:
        q: the coordinates; rows that are not finite are left out.
        angles: which of them are angles (k,).
        start: coordinates (k,) from which the first row follows; None if it stays.
    """
    good = np.all(np.isfinite(q), axis=1)
    rows = q[good] if start is None else np.concatenate([start[None], q[good]])
    steps = np.diff(rows, axis=0, prepend=rows[:1]) / FULL_TURN
    turns = np.cumsum(np.round(np.where(np.asarray(angles, dtype=bool), steps, 0.0)), axis=0)
    result = np.array(q)
    result[good] = (rows - FULL_TURN * turns)[0 if start is None else 1 :]
    return result


def unwrap_path(q: Array, angles: Sequence[bool] | Array, start: Array | None = None) -> Array:
    """Coordinates (..., k) at poses that are, in order, a path: as `unwrapped`."""
    return unwrap_angles(q.reshape(math.prod(q.shape[:-1]), q.shape[-1]), angles, start).reshape(q.shape)


class JointAxis(NamedTuple):
    """One primitive of a joint.

    Attributes:
        directions: unit vectors as columns (3, k): one, three of a spherical joint.
        point: a point of the axis (3,), m.
        is_rotation: whether it is a rotation.
    """

    directions: Array
    point: Array
    is_rotation: bool

    def along(self, linear: Array, angular: Array) -> Array:
        """Components (k, ...) along the axis: rates of relative velocities at its point, efforts of a wrench.

        Of relative accelerations they are the accelerations of a revolute or prismatic joint: what the motion
        of the axis itself adds is perpendicular to it.

        Args:
            linear: velocity, acceleration or force (3, ...), which counts if the axis slides.
            angular: angular velocity, angular acceleration or moment (3, ...), which counts if it turns.
        """
        return np.asarray(self.directions.T @ (angular if self.is_rotation else linear))

    def wrench(self, effort: Array) -> Wrench:
        """The wrench about the point of efforts (k,) along the axis."""
        along, zero = self.directions @ effort, np.zeros(3)
        return Wrench(zero, along) if self.is_rotation else Wrench(along, zero)


def joint_axes(joint: Joint, first: Pose, second: Pose) -> list[JointAxis]:
    """The axes of a joint, in the order of its primitives, from its two frames in common axes.

    The second axis of a universal joint and the slides after a spherical joint move with the second frame. A
    massless point has no orientation, so a joint to it rotates freely.
    """
    if joint.kind is JointKind.POINT:
        return []
    point = first.p if joint.kind is JointKind.SPHERICAL_PLANAR else second.p
    axes = []
    for k, primitive in enumerate(joint.primitives):
        if primitive is Primitive.SPHERICAL:
            axes.append(JointAxis(second.R, point, True))
            continue
        later = k > 0 and joint.kind in (JointKind.UNIVERSAL, JointKind.SPHERICAL_PLANAR)
        axes.append(
            JointAxis((second if later else first).R[:, [primitive.axis]], point, primitive.is_rotation)
        )
    return axes


def closure_axes(joint: Joint, motion: TreeKinematics) -> list[JointAxis]:
    """Axes of a closure, base axes; of a spherical joint x, y, z of the base, which cost no rotation."""
    axes = joint_axes(joint, *closure_frames(joint, motion))
    return [axis._replace(directions=np.eye(3)) if axis.directions.shape[1] == 3 else axis for axis in axes]


def rate_rows(robot: Robot, motion: TreeKinematics, index: int) -> list[Array]:
    """For every axis of a joint its rates (k, rates) over the rates of the tree."""
    joint = robot.joints[index]
    rows = []
    if index >= robot.tree:
        for axis in closure_axes(joint, motion):
            J1 = motion.point_jacobian(joint.predecessor, axis.point)
            J2 = motion.point_jacobian(joint.successor, axis.point)
            rows.append(axis.along(J2[:3] - J1[:3], J2[3:] - J1[3:]))
        return rows
    start = robot.platform_nv + robot.v_slices[index].start
    for primitive in joint.primitives:
        rows.append(np.eye(motion.columns.shape[1])[start : start + primitive.nv])
        start += primitive.nv
    return rows
