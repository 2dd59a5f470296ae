"""The spanning tree: poses of all bodies, and their twists as columns.

The tree hangs on the base and on the platform body, which is placed by its own pose. The rates of
the tree are u = [platform twist; joint rates]: the platform's twist [v; w] (a point has only v) at the
origin of the platform frame in base axes, then the rates of the tree joints in their order. Along the tree

    T_child = T_parent X_pre M(q) X_suc^-1,     V_child = V_parent + C u_joint

X_pre and X_suc are the joint's constant frames on its two bodies, M(q) its motion; V = [v0; w] (6,) is the
twist at the base's origin and C (6,) its column: [p x a; a] for a revolute axis a through p, [a; 0] for a
prismatic one. At the base's origin a column is the same for all bodies that the joint moves. Differentiated,

    V_child' = V_parent' + C u_joint' + V_parent x C u_joint          x the spatial cross product of motions

for C is fixed to the parent. A point at r has the velocity v0 + w x r, m/s, w in rad/s.

`NumericTree` gives the same poses and columns for plain numbers, to the last bit, in lists of floats: where
iteration evaluates the tree many times, most of the time goes into making small arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nacelle.model.joint import Joint, JointKind, Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation, rotation_quat, skew
from nacelle.spatial.rounding import Rows, cancelling_sum, compose_rows
from nacelle.spatial.scalar import Array, Scalar, atan2, cos, cross, dot, pack, plus, sin, where


class CosineSine(NamedTuple):
    """An angle by its cosine and sine: a closed form finds these, and nobody needs the angle itself."""

    c: Scalar
    s: Scalar


FULL_TURN = 2.0 * math.pi
"""A turn, rad."""

JointTransform: TypeAlias = Any
"""Where one primitive of a joint is: a CosSin, a length, or the quat_xyzw of a spherical one."""


@dataclass(frozen=True)
class TreeKinematics:
    """Where the tree is and how it can move.

    Attributes:
        poses: pose of every body in the base.
        columns: for every rate of u, the twist [v0; w] that it gives to the bodies it moves: v0 is the
            velocity of the point that passes through the base's origin; shape (6, rates).
        movers: for every body, which rates move it; shape (bodies, rates), of bool.
        coordinates: of coupled joints (`nacelle.model.joint`), rad or m, by joint; angles count their turns.
    """

    poses: tuple[Pose, ...]
    columns: Array
    movers: Array
    coordinates: Mapping[int, Scalar] = field(default_factory=dict)

    @property
    def is_numeric(self) -> bool:
        """Whether all numbers are floats."""
        arrays = (self.columns, *(array for pose in self.poses for array in pose))
        return all(array.dtype != object for array in arrays)

    def jacobian(self, body: int) -> Array:
        """Jacobian (6, rates): twist [v; w] of a body at its frame's origin, base axes."""
        return self.point_jacobian(body, self.poses[body].p)

    def point_jacobian(self, body: int, point: Array, mask: Array | None = None) -> Array:
        """Jacobian (6, rates) of a body's twist [v; w] at a point (3,), base axes: v = v0 + w x point.

        With a mask `mask` (rates,) the columns of these rates alone.
        """
        columns, is_moved = self.columns, self.movers[body]
        if mask is not None:
            columns, is_moved = columns[:, mask], is_moved[mask]
        v0, w = columns[:3], columns[3:]
        if w.dtype != object and point.dtype != object:
            # Numbers alone are no constants of a program: what cancels to rounding may stay.
            return np.where(is_moved, np.concatenate([v0 - skew(point) @ w, w]), 0.0)
        J = np.concatenate([plus(v0, cross(w, point)), w])
        return np.where(is_moved, J, 0.0)


def joint_rate_indices(robot: Robot, joints: Sequence[int]) -> tuple[int, ...]:
    """Places of the rates of some tree joints in u = [platform twist; joint rates]."""
    m = robot.platform_nv
    return tuple(m + k for j in joints for k in range(robot.v_slices[j].start, robot.v_slices[j].stop))


def coordinate_rate_indices(robot: Robot) -> dict[str, int]:
    """Places in u of the coordinates of the robot's motion, by name: of the platform's twist, of joints."""
    m = robot.platform_nv
    return {
        name: AXES.index(name) if name in AXES else m + robot.v_slices[robot.joint(name)].start
        for name in robot.motion.coordinates
    }


def joint_transforms(joint: Joint, q: Array) -> list[JointTransform]:
    """Steps of a joint's primitives from coordinates q (nq,): (cos q, sin q), q, or a quaternion (4,)."""
    steps: list[JointTransform] = []
    start = 0
    for primitive in joint.primitives:
        if primitive is Primitive.SPHERICAL:
            steps.append(q[start : start + 4])
        else:
            steps.append(CosineSine(cos(q[start]), sin(q[start])) if primitive.is_rotation else q[start])
        start += primitive.nq
    return steps


def tree_transforms(robot: Robot, q: Array) -> list[JointTransform]:
    """Steps of all primitives of the tree, joint by joint, from the coordinates (nq,)."""
    joints = zip(robot.tree_joints, robot.q_slices, strict=True)
    return [step for joint, part in joints for step in joint_transforms(joint, q[part])]


def angle_near(step: CosineSine, centre: float) -> Scalar:
    """Angle (rad) of a step, of those that differ by whole turns the nearest to a centre (rad)."""
    turns = round(centre / FULL_TURN)
    q = atan2(step.s, step.c) + turns * FULL_TURN if turns else atan2(step.s, step.c)
    # Beyond half a turn on one side of the centre it is a turn less, or more.
    if centre > turns * FULL_TURN:
        return where(centre - 0.5 * FULL_TURN - q, q + FULL_TURN, q)
    if centre < turns * FULL_TURN:
        return where(q - centre - 0.5 * FULL_TURN, q - FULL_TURN, q)
    return q


def wrap_angles(q: Any, centre: Any) -> Any:
    """Angles (...), rad, less whole turns: centre - pi < q <= centre + pi for centres (...)."""
    return q - FULL_TURN * np.ceil((q - centre) / FULL_TURN - 0.5)


def coordinate_from_transform(step: JointTransform, joint: Joint, number: int) -> Scalar:
    """Coordinate of an axis of a joint from its step: m, or the angle (rad) about `Joint.centre`."""
    return angle_near(step, joint.centre(number)) if isinstance(step, CosineSine) else step


def joint_transform_between(joint: Joint, first: Pose, second: Pose, number: int) -> JointTransform:
    """Where an axis of a joint is, from its two frames in common axes: m, or the (cos, sin) of an angle.

    A universal joint is Rx(a) Ry(b), with the rows [cb, 0, sb], [sa sb, ca, -sa cb], [-ca sb, sa, ca cb]; an
    axis that slides after a spherical joint is one of the second frame.
    """
    primitive = joint.primitives[number]
    e, f = first.R, second.R
    if primitive is Primitive.RZ:
        return CosineSine(dot(e[:, 0], f[:, 0]), dot(e[:, 1], f[:, 0]))
    if primitive is Primitive.RX:
        return CosineSine(dot(e[:, 1], f[:, 1]), dot(e[:, 2], f[:, 1]))
    if primitive is Primitive.RY:
        return CosineSine(dot(e[:, 0], f[:, 0]), dot(e[:, 0], f[:, 2]))
    carrier = f if joint.kind is JointKind.SPHERICAL_PLANAR else e
    return dot(carrier[:, primitive.axis], second.p - first.p)


def tree_axes(robot: Robot) -> list[tuple[int, int]]:
    """The axes (joint, number) of all steps of the tree, in order."""
    joints = enumerate(robot.tree_joints)
    return [(j, number) for j, joint in joints for number in range(len(joint.primitives))]


def axis_coordinates(robot: Robot, q: Array) -> dict[tuple[int, int], Scalar]:
    """Coordinates (rad or m) of the axes (joint, number) of the tree in its coordinates q (nq,)."""
    result: dict[tuple[int, int], Scalar] = {}
    index = 0
    for j, number in tree_axes(robot):
        primitive = robot.joints[j].primitives[number]
        if primitive is not Primitive.SPHERICAL:
            result[j, number] = q[index]
        index += primitive.nq
    return result


def transform_pose(primitive: Primitive, step: JointTransform) -> Pose:
    """Motion of one primitive as a pose: Rot_k(q), translation q e_k (m), or the quaternion's rotation."""
    if primitive is Primitive.SPHERICAL:
        return Pose(rotation_quat(step), np.zeros(3))
    if isinstance(step, CosineSine):
        return Pose(rotation(primitive.axis, *step), np.zeros(3))
    translation: list[Scalar] = [0.0, 0.0, 0.0]
    translation[primitive.axis] = step
    return Pose(np.eye(3), pack(translation))


def tree_kinematics(robot: Robot, platform: Pose, q: Array) -> TreeKinematics:
    """Poses of all bodies and the twists of all rates: T_child = T_parent X_pre M(q) X_suc^-1 along the tree.

    Args:
        robot: the robot.
        platform: pose of the platform body in the base.
        q: coordinates of the tree joints, shape (nq,); spherical joints as quat_xyzw.
    """
    motion = tree_kinematics_from_transforms(robot, platform, tree_transforms(robot, q))
    return replace(motion, coordinates=coupled_coordinates(robot, q))


def coupled_coordinates(robot: Robot, q: Array) -> dict[int, Scalar]:
    """Coordinates of the coupled joints, by joint, of all coordinates q (nq,) of the tree."""
    return {j: q[robot.q_slices[j].start] for j in robot.coupled_joints}


def tree_kinematics_from_transforms(
    robot: Robot, platform: Pose, steps: Sequence[JointTransform]
) -> TreeKinematics:
    """Poses of all bodies and the twists of all rates, from the steps of the tree's primitives."""
    poses: dict[int, Pose] = {BASE: identity(), PLATFORM: platform}
    columns = _platform_columns(robot, platform)
    left = iter(steps)
    for joint in robot.tree_joints:
        pose = poses[joint.predecessor] @ joint.frame_predecessor
        for primitive in joint.primitives:
            pose = pose @ transform_pose(primitive, next(left))
            for axis in range(3) if primitive is Primitive.SPHERICAL else (primitive.axis,):
                columns.append(_twist_column(pose, axis, primitive.is_rotation))
        poses[joint.successor] = pose @ joint.frame_successor.inverse()
    bodies = range(len(robot.bodies))
    return TreeKinematics(
        tuple(poses[k] for k in bodies), np.stack(columns, axis=1), rates_moving_bodies(robot)
    )


def rates_moving_bodies(robot: Robot) -> Array:
    """For every body, which rates of the tree move it (bodies, rates), of bool."""
    m = robot.platform_nv
    mask = np.zeros((len(robot.bodies), m + robot.nv), dtype=bool)
    mask[PLATFORM, :m] = True
    for joint, part in zip(robot.tree_joints, robot.v_slices, strict=True):
        mask[joint.successor] = mask[joint.predecessor]
        mask[joint.successor, m + part.start : m + part.stop] = True
    return mask


@dataclass(frozen=True)
class TreeVelocity:
    """How the bodies move at rates u, and accelerate while the rates stay constant.

    Twists are spatial: [v0; w], v0 the velocity of the point of the body that passes through the base's
    origin; their derivatives [a0; w_dot] likewise. A point fixed at r of a body has

        velocity      v0 + w x r
        acceleration  a0 + w_dot x r + w x (v0 + w x r)

    Attributes:
        twists: for every body [v0; w].
        biases: for every body the derivative of its twist where du/dt = 0.
    """

    twists: tuple[Array, ...]
    biases: tuple[Array, ...]


def cross_motion(a: Array, b: Array) -> Array:
    """Spatial cross product of motions (6,): rate of b, fixed to a body with the twist a = [v0; w]."""
    return np.concatenate([cross(a[3:], b[:3]) + cross(a[:3], b[3:]), cross(a[3:], b[3:])])


def point_velocity(twist: Array, point: Array) -> Array:
    """Velocity v0 + w x point (3,), base axes, m/s, of the point of a body at `point`, twist [v0; w]."""
    return np.asarray(twist[:3] + cross(twist[3:], point))


def point_acceleration(twist: Array, rate: Array, point: Array) -> Array:
    """Acceleration a0 + w' x r + w x (v0 + w x r) (3,), base axes, at r = `point`; `rate` is [a0; w']."""
    w = twist[3:]
    return np.asarray(rate[:3] + cross(rate[3:], point) + cross(w, point_velocity(twist, point)))


def tree_velocity(robot: Robot, motion: TreeKinematics, u: Array) -> TreeVelocity:
    """Twists of all bodies at rates u (rates,), and their derivatives at constant rates.

    Along the tree V_i = V_j + C_i u_i and dV_i/dt = dV_j/dt + C_i du_i/dt + V_j x (C_i u_i), for every
    primitive; the platform's own part is d/dt (v + p x w) = dv/dt + p x dw/dt + v x w.
    """
    m = robot.platform_nv
    zero = np.zeros(6)
    platform = motion.columns[:, :m] @ u[:m]
    bias = zero if m == 3 else np.concatenate([cross(u[:3], u[3:6]), np.zeros(3)])
    twists: dict[int, Array] = {BASE: zero, PLATFORM: platform}
    biases: dict[int, Array] = {BASE: zero, PLATFORM: bias}
    start = m
    for joint in robot.tree_joints:
        twist, bias = twists[joint.predecessor], biases[joint.predecessor]
        for primitive in joint.primitives:
            joint_twist = motion.columns[:, start : start + primitive.nv] @ u[start : start + primitive.nv]
            bias = bias + cross_motion(twist, joint_twist)
            twist = twist + joint_twist
            start += primitive.nv
        twists[joint.successor], biases[joint.successor] = twist, bias
    count = range(len(robot.bodies))
    return TreeVelocity(tuple(twists[k] for k in count), tuple(biases[k] for k in count))


def _twist_column(pose: Pose, axis: int, is_rotation: bool) -> Array:
    """Twist of a turn about, or a slide along, an axis of a frame."""
    a = pose.R[:, axis]
    if is_rotation:
        return pack([*cross(pose.p, a), *a])
    return pack([*a, 0.0, 0.0, 0.0])


def _platform_columns(robot: Robot, platform: Pose) -> list[Array]:
    axes = np.eye(3)
    translations = [pack([*axes[k], 0.0, 0.0, 0.0]) for k in range(3)]
    if robot.platform.kind == "point":
        return translations
    return translations + [pack([*cross(platform.p, axes[k]), *axes[k]]) for k in range(3)]


# ---- the spanning tree of plain numbers, where iteration evaluates it many times


Vector: TypeAlias = Sequence[float]
# A pose by the rows of R and by p.
_PoseRows: TypeAlias = tuple[Rows, Vector]

_FLOATS = (float, np.float64)
_ZERO = (0.0, 0.0, 0.0)
_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_NO_COORDINATES: dict[int, Scalar] = {}
_IDENTITY: _PoseRows = (_AXES, _ZERO)
_IDENTITY_LISTS = [list(axis) for axis in _AXES], list(_ZERO)


class NumericTree:
    """The tree of a robot, prepared for many states."""

    def __init__(self, robot: Robot) -> None:
        """Read the joints' frames; a robot of other numbers than floats is left to `tree_kinematics`."""
        self._robot = robot
        frames = [(joint.frame_predecessor, joint.frame_successor.inverse()) for joint in robot.tree_joints]
        self._plain = all(_is_numeric_pose(frame) for pair in frames for frame in pair)
        self._joints = [
            (joint.predecessor, joint.successor, _pose_rows(before), joint.primitives, _pose_rows(after))
            for joint, (before, after) in zip(robot.tree_joints, frames, strict=True)
            if self._plain
        ]
        self._primitives = [primitive for joint in robot.tree_joints for primitive in joint.primitives]
        self._movers = rates_moving_bodies(robot)

    def motion(self, platform: Pose, q: Array) -> TreeKinematics:
        """Poses of all bodies and the twists of all rates; arguments as in `tree_kinematics`."""
        if not (self._plain and _is_numeric_pose(platform) and q.dtype != object):
            return tree_kinematics(self._robot, platform, q)
        steps: list[JointTransform] = []
        k = 0
        for primitive in self._primitives:
            if primitive is Primitive.SPHERICAL:
                steps.append(q[k : k + 4])
            else:
                steps.append(CosineSine(np.cos(q[k]), np.sin(q[k])) if primitive.is_rotation else q[k])
            k += primitive.nq
        return self._walk(platform, steps, coupled_coordinates(self._robot, q))

    def kinematics_from_transforms(self, platform: Pose, steps: Sequence[JointTransform]) -> TreeKinematics:
        """The same from the steps of the tree's primitives, as `tree_kinematics_from_transforms`."""
        if not (self._plain and _is_numeric_pose(platform) and all(map(_is_numeric_transform, steps))):
            return tree_kinematics_from_transforms(self._robot, platform, steps)
        return self._walk(platform, steps)

    def _walk(
        self,
        platform: Pose,
        steps: Sequence[JointTransform],
        coordinates: Mapping[int, Scalar] = _NO_COORDINATES,
    ) -> TreeKinematics:
        robot, left = self._robot, iter(steps)
        platform_rows: _PoseRows = platform.R.tolist(), platform.p.tolist()
        poses: dict[int, _PoseRows] = {BASE: _IDENTITY, PLATFORM: platform_rows}
        columns: list[Vector] = [(*axis, *_ZERO) for axis in _AXES]
        if robot.platform.kind != "point":
            columns += [(*_cross(platform_rows[1], axis), *axis) for axis in _AXES]
        for predecessor, successor, before, primitives, after in self._joints:
            pose = _compose(poses[predecessor], before)
            for primitive in primitives:
                pose = _apply_transform(pose, primitive, next(left))
                for axis in range(3) if primitive is Primitive.SPHERICAL else (primitive.axis,):
                    columns.append(_numeric_twist_column(pose, axis, primitive.is_rotation))
            poses[successor] = _compose(pose, after)
        bodies = range(len(robot.bodies))
        R = np.array([poses[body][0] for body in bodies])
        p = np.array([poses[body][1] for body in bodies])
        return TreeKinematics(tuple(map(Pose, R, p)), np.array(columns).T, self._movers, coordinates)


@lru_cache(maxsize=64)
def numeric_tree(robot: Robot) -> NumericTree:
    """The tree of a robot of plain numbers, prepared once."""
    return NumericTree(robot)


def _is_numeric_transform(step: JointTransform) -> bool:
    """Whether a step of a primitive is made of floats."""
    if isinstance(step, CosineSine):
        return type(step.c) in _FLOATS and type(step.s) in _FLOATS
    return step.dtype != object if isinstance(step, np.ndarray) else type(step) in _FLOATS


def _is_numeric_pose(pose: Pose) -> bool:
    return pose.R.dtype != object and pose.p.dtype != object


def _pose_rows(pose: Pose) -> _PoseRows | None:
    """A pose in lists; None for the identity."""
    rows = pose.R.tolist(), pose.p.tolist()
    return None if rows == _IDENTITY_LISTS else rows


def _compose(pose: _PoseRows, second: _PoseRows | None) -> _PoseRows:
    """`compose_poses`; nothing changes where the second pose is the identity."""
    if second is None:
        return pose
    return compose_rows(*pose, *second)


def _apply_transform(pose: _PoseRows, primitive: Primitive, step: JointTransform) -> _PoseRows:
    """A pose moved by a primitive of a joint."""
    if primitive is Primitive.SPHERICAL:
        return _compose(pose, (rotation_quat(step).tolist(), _ZERO))
    rows, position = pose
    axis = primitive.axis
    if not primitive.is_rotation:
        translation = float(step)
        return rows, [
            cancelling_sum(row[axis] * translation, d) for row, d in zip(rows, position, strict=True)
        ]
    c, s = float(step.c), float(step.s)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    rotated = []
    for row in rows:
        new = list(row)
        new[i], new[j] = cancelling_sum(row[i] * c, row[j] * s), cancelling_sum(row[j] * c, -(row[i] * s))
        rotated.append(new)
    return rotated, position


def _cross(a: Vector, b: Vector) -> tuple[float, float, float]:
    (u, v, w), (x, y, z) = a, b
    return cancelling_sum(v * z, -w * y), cancelling_sum(w * x, -u * z), cancelling_sum(u * y, -v * x)


def _numeric_twist_column(pose: _PoseRows, axis: int, is_rotation: bool) -> Vector:
    """Twist of a turn about, or a slide along, an axis of a frame."""
    (a, b, c), p = pose
    direction = a[axis], b[axis], c[axis]
    return (*_cross(p, direction), *direction) if is_rotation else (*direction, *_ZERO)
