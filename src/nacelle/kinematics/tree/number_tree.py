"""The spanning tree of plain numbers, where iteration evaluates it many times.

The same poses and columns as `nacelle.kinematics.tree.spanning_tree`, to the last bit, in lists of floats:
most of the time that small arrays take goes into making them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from nacelle.kinematics.tree.spanning_tree import TreeMotion, tree_motion
from nacelle.model.joint import Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat
from nacelle.spatial.rounding import sum_of_three, total
from nacelle.spatial.scalar import Array

Vector: TypeAlias = Sequence[float]
Rows: TypeAlias = Sequence[Vector]
# A pose by the rows of R and by p.
Placed: TypeAlias = tuple[Rows, Vector]

_ZERO = (0.0, 0.0, 0.0)
_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_IDENTITY: Placed = (_AXES, _ZERO)
_IDENTITY_LISTS = [list(axis) for axis in _AXES], list(_ZERO)


class NumberTree:
    """The tree of a robot, prepared for many states."""

    def __init__(self, robot: Robot) -> None:
        """Read the joints' frames; a robot of other numbers than floats is left to `tree_motion`."""
        self._robot = robot
        frames = [(joint.frame_predecessor, joint.frame_successor.inverse()) for joint in robot.tree_joints]
        self._plain = all(_is_plain(frame) for pair in frames for frame in pair)
        self._joints = [
            (joint.predecessor, joint.successor, _listed(before), joint.primitives, _listed(after))
            for joint, (before, after) in zip(robot.tree_joints, frames, strict=True)
            if self._plain
        ]

    def motion(self, platform: Pose, q: Array) -> TreeMotion:
        """Poses of all bodies and the twists of all rates; arguments as in `tree_motion`."""
        robot = self._robot
        if not (self._plain and _is_plain(platform) and q.dtype != object):
            return tree_motion(robot, platform, q)
        own: Placed = platform.R.tolist(), platform.p.tolist()
        poses: dict[int, Placed] = {BASE: _IDENTITY, PLATFORM: own}
        columns: list[Vector] = [(*axis, *_ZERO) for axis in _AXES]
        if robot.nacelle.kind != "point":
            columns += [(*_cross(own[1], axis), *axis) for axis in _AXES]
        movers: dict[int, list[int]] = {BASE: [], PLATFORM: list(range(len(columns)))}
        k = 0
        for predecessor, successor, before, primitives, after in self._joints:
            pose = _composed(poses[predecessor], before)
            first = len(columns)
            for primitive in primitives:
                pose = _moved(pose, primitive, q[k : k + primitive.nq])
                k += primitive.nq
                for axis in range(3) if primitive is Primitive.BALL else (primitive.axis,):
                    columns.append(_column(pose, axis, primitive.turns))
            poses[successor] = _composed(pose, after)
            movers[successor] = [*movers[predecessor], *range(first, len(columns))]
        count = len(robot.bodies)
        mask = np.zeros((count, len(columns)), dtype=bool)
        for body, rates in movers.items():
            mask[body, rates] = True
        R = np.array([poses[body][0] for body in range(count)])
        p = np.array([poses[body][1] for body in range(count)])
        return TreeMotion(tuple(map(Pose, R, p)), np.array(columns).T, mask)


def _is_plain(pose: Pose) -> bool:
    return pose.R.dtype != object and pose.p.dtype != object


def _listed(pose: Pose) -> Placed | None:
    """A pose in lists; None for the identity."""
    placed = pose.R.tolist(), pose.p.tolist()
    return None if placed == _IDENTITY_LISTS else placed


def _composed(pose: Placed, other: Placed | None) -> Placed:
    """`ordered_composition`; nothing changes where the second pose is the identity."""
    if other is None:
        return pose
    (k, l, m), (n, o, q), (r, t, u) = other[0]
    x, y, z = other[1]
    rows, place = [], []
    for (a, b, c), d in zip(*pose, strict=True):
        rows.append(
            (
                sum_of_three(a * k, b * n, c * r),
                sum_of_three(a * l, b * o, c * t),
                sum_of_three(a * m, b * q, c * u),
            )
        )
        place.append(total(sum_of_three(a * x, b * y, c * z), d))
    return rows, place


def _moved(pose: Placed, primitive: Primitive, q: Array) -> Placed:
    """A pose moved by a primitive of a joint."""
    if primitive is Primitive.BALL:
        return _composed(pose, (rotation_quat(q).tolist(), _ZERO))
    rows, place = pose
    axis = primitive.axis
    if not primitive.turns:
        slide = float(q[0])
        return rows, [total(row[axis] * slide, d) for row, d in zip(rows, place, strict=True)]
    c, s = float(np.cos(q[0])), float(np.sin(q[0]))
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turned = []
    for row in rows:
        new = list(row)
        new[i], new[j] = total(row[i] * c, row[j] * s), total(row[j] * c, -(row[i] * s))
        turned.append(new)
    return turned, place


def _cross(a: Vector, b: Vector) -> tuple[float, float, float]:
    (u, v, w), (x, y, z) = a, b
    return total(v * z, -w * y), total(w * x, -u * z), total(u * y, -v * x)


def _column(pose: Placed, axis: int, turns: bool) -> Vector:
    """Twist of a turn about, or a slide along, an axis of a frame."""
    (a, b, c), p = pose
    direction = a[axis], b[axis], c[axis]
    return (*_cross(p, direction), *direction) if turns else (*direction, *_ZERO)
