"""The coordinates of a pose as people set them, one number each: millimetres and degrees, with ranges.

A free orientation is the rotation vector r of R = exp(r), rad, in base axes; everything else is the entry of
the reduced pose x (`nacelle.model.reduced`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import is_angle, reference_pose
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.rotation import quat_exp, quat_log, quat_multiply
from nacelle.spatial.scalar import Array

# Points of the line along which the range of a coordinate is sought, to either side.
_POINTS = 60
# A range goes beyond what is reached by this part of it, so that one sees where the reach ends.
_BEYOND = 0.2


@dataclass(frozen=True)
class PoseCoordinate:
    """One coordinate of a robot's pose.

    Attributes:
        name: its name: x, rz, or a joint of the nacelle.
        angle: whether it is an angle, rad; otherwise it is a length, m.
        low: lower end of what is offered, rad or m.
        high: upper end.
    """

    name: str
    angle: bool
    low: float
    high: float

    @property
    def unit(self) -> str:
        """The unit in which it is shown."""
        return "deg" if self.angle else "mm"

    @property
    def factor(self) -> float:
        """What is shown for one rad or m."""
        return math.degrees(1.0) if self.angle else 1e3


def pose_coordinates(robot: Robot, x: Array) -> Array:
    """The coordinates (n,) of a pose (nx,), m and rad; a free orientation as a rotation vector."""
    linear, quat_xyzw = layout_of(robot.motion).split_x(x)
    turn = None if quat_xyzw is None else quat_log(quat_xyzw)
    return layout_of(robot.motion).join_v(linear, turn)


def pose_of_values(robot: Robot, values: Array) -> Array:
    """The pose x (nx,) that has coordinates (n,); inverse of `pose_coordinates`."""
    linear, turn = layout_of(robot.motion).split_v(values)
    return layout_of(robot.motion).join_x(linear, None if turn is None else quat_exp(turn))


def motion_coordinates(robot: Robot) -> tuple[PoseCoordinate, ...]:
    """All coordinates of a robot's motion, each with the range that it has from the reference pose.

    A range is what is reached without a gap while the others stay, and a little beyond; where nothing ends
    it, the robot's size, or half a turn, to either side.
    """
    start = reference_pose(robot)
    values = pose_coordinates(robot, start)
    found = []
    for k, name in enumerate(robot.motion.coordinates):
        angle = is_angle(robot, name)
        reach = math.pi if angle else 1.2 * robot.size
        steps = np.linspace(-reach, reach, 2 * _POINTS + 1)
        low, high = _unbroken(inverse_kinematics(robot, _varied(robot, start, k, steps)).ok, steps)
        beyond = max(_BEYOND * (high - low), 0.02 * reach)
        low, high = max(low - beyond, -reach), min(high + beyond, reach)
        found.append(PoseCoordinate(name, angle, float(values[k] + low), float(values[k] + high)))
    return tuple(found)


def _varied(robot: Robot, start: Array, k: int, steps: Array) -> Array:
    """Poses (N, nx) that differ from a pose by steps of coordinate k; orientations turn in base axes."""
    layout = layout_of(robot.motion)
    poses = np.broadcast_to(start, (len(steps), layout.nx)).copy()
    if layout.angular is not None and layout.angular.start <= k < layout.angular.stop:
        turn = steps[:, None] * np.eye(3)[k - layout.angular.start]
        poses[:, layout.quaternion] = quat_multiply(quat_exp(turn), start[layout.quaternion])
    else:
        poses[:, layout.x_index(robot.motion.coordinates[k])] += steps
    return poses


def _unbroken(good: Array, steps: Array) -> tuple[float, float]:
    """The ends of the row of good steps around the middle."""
    middle = len(steps) // 2
    bad = np.flatnonzero(~good)
    low, high = bad[bad < middle], bad[bad > middle]
    first = int(low[-1]) + 1 if low.size else 0
    last = int(high[0]) - 1 if high.size else len(steps) - 1
    return float(steps[min(first, middle)]), float(steps[max(last, middle)])
