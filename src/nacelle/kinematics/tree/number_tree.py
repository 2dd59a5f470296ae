"""The spanning tree of plain numbers, where iteration evaluates it many times.

The same poses and columns as `nacelle.kinematics.tree.spanning_tree`, to the last bit, in lists of floats:
most of the time that small arrays take goes into making them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from nacelle.kinematics.tree.spanning_tree import (
    CosSin,
    Step,
    TreeMotion,
    coupled_coordinates,
    motion_of_steps,
    tree_motion,
    tree_movers,
)
from nacelle.model.joint import Primitive
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat
from nacelle.spatial.rounding import Rows, composed, total
from nacelle.spatial.scalar import Array, Scalar

Vector: TypeAlias = Sequence[float]
# A pose by the rows of R and by p.
Placed: TypeAlias = tuple[Rows, Vector]

_FLOATS = (float, np.float64)
_ZERO = (0.0, 0.0, 0.0)
_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_NOTHING: dict[int, Scalar] = {}
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
        self._primitives = [primitive for joint in robot.tree_joints for primitive in joint.primitives]
        self._movers = tree_movers(robot)

    def motion(self, platform: Pose, q: Array) -> TreeMotion:
        """Poses of all bodies and the twists of all rates; arguments as in `tree_motion`."""
        if not (self._plain and _is_plain(platform) and q.dtype != object):
            return tree_motion(self._robot, platform, q)
        steps: list[Step] = []
        k = 0
        for primitive in self._primitives:
            if primitive is Primitive.SPHERICAL:
                steps.append(q[k : k + 4])
            else:
                steps.append(CosSin(np.cos(q[k]), np.sin(q[k])) if primitive.is_rotation else q[k])
            k += primitive.nq
        return self._at(platform, steps, coupled_coordinates(self._robot, q))

    def at_steps(self, platform: Pose, steps: Sequence[Step]) -> TreeMotion:
        """The same from the steps of the tree's primitives, as `motion_of_steps`."""
        if not (self._plain and _is_plain(platform) and all(map(_is_number, steps))):
            return motion_of_steps(self._robot, platform, steps)
        return self._at(platform, steps)

    def _at(
        self, platform: Pose, steps: Sequence[Step], coordinates: Mapping[int, Scalar] = _NOTHING
    ) -> TreeMotion:
        robot, left = self._robot, iter(steps)
        own: Placed = platform.R.tolist(), platform.p.tolist()
        poses: dict[int, Placed] = {BASE: _IDENTITY, PLATFORM: own}
        columns: list[Vector] = [(*axis, *_ZERO) for axis in _AXES]
        if robot.nacelle.kind != "point":
            columns += [(*_cross(own[1], axis), *axis) for axis in _AXES]
        for predecessor, successor, before, primitives, after in self._joints:
            pose = _composed(poses[predecessor], before)
            for primitive in primitives:
                pose = _moved(pose, primitive, next(left))
                for axis in range(3) if primitive is Primitive.SPHERICAL else (primitive.axis,):
                    columns.append(_column(pose, axis, primitive.is_rotation))
            poses[successor] = _composed(pose, after)
        bodies = range(len(robot.bodies))
        R = np.array([poses[body][0] for body in bodies])
        p = np.array([poses[body][1] for body in bodies])
        return TreeMotion(tuple(map(Pose, R, p)), np.array(columns).T, self._movers, coordinates)


@lru_cache(maxsize=64)
def number_tree(robot: Robot) -> NumberTree:
    """The tree of a robot of plain numbers, prepared once."""
    return NumberTree(robot)


def _is_number(step: Step) -> bool:
    """Whether a step of a primitive is made of floats."""
    if isinstance(step, CosSin):
        return type(step.c) in _FLOATS and type(step.s) in _FLOATS
    return step.dtype != object if isinstance(step, np.ndarray) else type(step) in _FLOATS


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
    return composed(*pose, *other)


def _moved(pose: Placed, primitive: Primitive, step: Step) -> Placed:
    """A pose moved by a primitive of a joint."""
    if primitive is Primitive.SPHERICAL:
        return _composed(pose, (rotation_quat(step).tolist(), _ZERO))
    rows, place = pose
    axis = primitive.axis
    if not primitive.is_rotation:
        translation = float(step)
        return rows, [total(row[axis] * translation, d) for row, d in zip(rows, place, strict=True)]
    c, s = float(step.c), float(step.s)
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


def _column(pose: Placed, axis: int, is_rotation: bool) -> Vector:
    """Twist of a turn about, or a slide along, an axis of a frame."""
    (a, b, c), p = pose
    direction = a[axis], b[axis], c[axis]
    return (*_cross(p, direction), *direction) if is_rotation else (*direction, *_ZERO)
