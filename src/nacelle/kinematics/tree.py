"""The spanning tree: poses of all bodies, and their twists as columns.

The tree hangs on the base and on the platform body, which is placed by its own pose. The rates of
the tree are u = [platform twist; joint rates]: the platform's twist [v; w] (a point has only v) at the
origin of the platform frame in base axes, then the rates of the tree joints in their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.model.joint import Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_quat, rotation_x, rotation_y, rotation_z
from nacelle.spatial.scalar import Array, Scalar, cross, pack

_TURNS = {Primitive.RX: rotation_x, Primitive.RY: rotation_y, Primitive.RZ: rotation_z}


@dataclass(frozen=True)
class TreeMotion:
    """Where the tree is and how it can move.

    Attributes:
        poses: pose of every body in the base.
        columns: for every rate of u, the twist [v0; w] that it gives to the bodies it moves: v0 is the
            velocity of the point that passes through the base's origin; shape (6, rates).
        movers: for every body, which rates move it; shape (bodies, rates), of bool.
    """

    poses: tuple[Pose, ...]
    columns: Array
    movers: Array

    def jacobian(self, body: int) -> Array:
        """Jacobian (6, rates): twist [v; w] of a body at its frame's origin, base axes."""
        return self.point_jacobian(body, self.poses[body].p)

    def point_jacobian(self, body: int, point: Array) -> Array:
        """Jacobian of the twist [v; w] of a body at a point given in base axes: v = v0 + w x point."""
        v0, w = self.columns[:3], self.columns[3:]
        J = np.concatenate([v0 + cross(w, point), w])
        return np.where(self.movers[body], J, 0.0)


def joint_motion(primitive: Primitive, q: Array) -> Pose:
    """Motion of one primitive from its coordinates."""
    if primitive is Primitive.BALL:
        return Pose(rotation_quat(q), np.zeros(3))
    if primitive.turns:
        return Pose(_TURNS[primitive](q[0]), np.zeros(3))
    zeros: list[Scalar] = [0.0, 0.0, 0.0]
    zeros[primitive.axis] = q[0]
    return Pose(np.eye(3), pack(zeros))


def place_bodies(robot: Robot, platform: Pose, q: Array) -> tuple[Pose, ...]:
    """Pose of every body in the base: T_child = T_parent X_pre M(q) X_suc^-1 along the tree.

    Args:
        robot: the robot.
        platform: pose of the platform body in the base.
        q: coordinates of the tree joints, shape (nq,).
    """
    return tree_motion(robot, platform, q).poses


def tree_motion(robot: Robot, platform: Pose, q: Array) -> TreeMotion:
    """Poses of all bodies and the twists of all rates.

    Args:
        robot: the robot.
        platform: pose of the platform body in the base.
        q: coordinates of the tree joints, shape (nq,); balls as quat_xyzw.
    """
    poses: dict[int, Pose] = {BASE: identity(), PLATFORM: platform}
    columns = _platform_columns(robot, platform)
    movers: dict[int, list[int]] = {BASE: [], PLATFORM: list(range(len(columns)))}
    for joint, place in zip(robot.tree_joints, robot.q_slices, strict=True):
        pose = poses[joint.predecessor] @ joint.frame_predecessor
        coordinates = q[place]
        first = len(columns)
        start = 0
        for primitive in joint.primitives:
            pose = pose @ joint_motion(primitive, coordinates[start : start + primitive.nq])
            start += primitive.nq
            for axis in range(3) if primitive is Primitive.BALL else (primitive.axis,):
                columns.append(_column(pose, axis, primitive.turns))
        poses[joint.successor] = pose @ joint.frame_successor.inverse()
        movers[joint.successor] = [*movers[joint.predecessor], *range(first, len(columns))]
    mask = np.zeros((len(robot.bodies), len(columns)), dtype=bool)
    for body, rates in movers.items():
        mask[body, rates] = True
    count = len(robot.bodies)
    return TreeMotion(tuple(poses[k] for k in range(count)), np.stack(columns, axis=1), mask)


def _column(pose: Pose, axis: int, turns: bool) -> Array:
    """Twist of a turn about, or a slide along, an axis of a frame."""
    a = pose.R[:, axis]
    if turns:
        return pack([*cross(pose.p, a), *a])
    return pack([*a, 0.0, 0.0, 0.0])


def _platform_columns(robot: Robot, platform: Pose) -> list[Array]:
    axes = np.eye(3)
    slides = [pack([*axes[k], 0.0, 0.0, 0.0]) for k in range(3)]
    if robot.nacelle.kind == "point":
        return slides
    return slides + [pack([*cross(platform.p, axes[k]), *axes[k]]) for k in range(3)]
