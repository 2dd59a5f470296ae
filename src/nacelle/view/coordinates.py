"""The coordinates of a pose as people set them, one number each: millimetres and degrees, with ranges.

A free orientation is the rotation vector r of R = exp(r), rad, in base axes; everything else is the entry of
the reduced pose x (`nacelle.model.reduced`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nacelle.errors import UnreachableError
from nacelle.kinematics.pose_input import is_angle, reference_pose
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.scene.slices import pose_coordinate, slice_ranges
from nacelle.spatial.rotation import quat_exp, quat_log
from nacelle.spatial.scalar import Array


@dataclass(frozen=True)
class PoseCoordinate:
    """One coordinate of a robot's pose.

    Attributes:
        name: its name: x, rz, or a joint of the platform.
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
    vector = None if quat_xyzw is None else quat_log(quat_xyzw)
    return layout_of(robot.motion).join_v(linear, vector)


def pose_from_coordinates(robot: Robot, values: Array) -> Array:
    """The pose x (nx,) that has coordinates (n,); inverse of `pose_coordinates`."""
    linear, vector = layout_of(robot.motion).split_v(values)
    return layout_of(robot.motion).join_x(linear, None if vector is None else quat_exp(vector))


def motion_coordinates(robot: Robot) -> tuple[PoseCoordinate, ...]:
    """All coordinates of a robot's motion, each with the range that it has from the reference pose.

    A range is what is reached while the others stay, and a little beyond (`slice_ranges`); where nothing ends
    it, the robot's size, or half a turn, to either side.
    """
    start = reference_pose(robot)
    coordinates = []
    for name, value in zip(robot.motion.coordinates, pose_coordinates(robot, start).tolist(), strict=True):
        angle = is_angle(robot, name)
        reach = math.pi if angle else 1.2 * robot.size
        try:
            low, high, _ = slice_ranges(robot, (name,), start).ranges[name]
        except UnreachableError:
            low, high = -math.inf, math.inf
        # Rotations of a free orientation count from that of the pose.
        middle = pose_coordinate(robot, start, name)
        low, high = max(low - middle, -reach), min(high - middle, reach)
        coordinates.append(PoseCoordinate(name, angle, value + low, value + high))
    return tuple(coordinates)
