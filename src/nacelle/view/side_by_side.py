"""Robots side by side: where each base is, and where the camera is at first.

No two robots meet, and all of them are seen whole, on wide and on narrow screens.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.solve.inverse import BodyPoses, inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.shapes.configured import joint_frames
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# Room around a robot and between two of them, as parts of a robot's extent.
_ROOM, _GAP = 0.06, 0.25


def joint_box(robot: Robot, bodies: BodyPoses) -> tuple[Array, Array]:
    """Corners (3,), m, of the box around all joints of a robot in its base, with a little room."""
    poses = [Pose(R, p) for R, p in zip(*bodies, strict=True)]
    points = [frame.p for frames in joint_frames(robot, poses) for frame in frames]
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    room = _ROOM * (float(np.linalg.norm(high - low)) or robot.size)
    return low - room, high + room


def row_offsets(boxes: Sequence[tuple[Array, Array]]) -> list[Array]:
    """Offsets (3,), m, of robots with these boxes in a row along x; the first one stays."""
    offsets_x: list[Array] = []
    edge = 0.0
    for k, (low, high) in enumerate(boxes):
        size = float(np.linalg.norm(high - low))
        x = edge + 0.5 * _GAP * size - low[0] if k else 0.0
        offsets_x.append(np.array([x, 0.0, 0.0]))
        edge = x + high[0] + 0.5 * _GAP * size
    return offsets_x


def robot_offsets(robots: Sequence[Robot], poses: Sequence[Array]) -> list[Array]:
    """Offsets (3,), m, of robots at poses (nx,) in a row along x."""
    boxes = [
        joint_box(robot, inverse_kinematics(robot, x, limits=False).bodies)
        for robot, x in zip(robots, poses, strict=True)
    ]
    return row_offsets(boxes)


# ---- the camera


FOV = math.radians(40.0)
# From where a robot in space is looked at; a row of them more from the front.
_VIEW_DIRECTION, _FRONT_DIRECTION = np.array([0.75, -1.0, 0.55]), np.array([0.25, -1.0, 0.4])
# A box is seen with room around it: robots move.
_MARGIN = 1.4
# The controls are next to the picture, px wide; in windows no wider than the second number, phones, they are
# over it, and its upper part shows the robots.
_PANEL, _PHONE, _UPPER = 324.0, 576.0, 0.4


@dataclass(frozen=True, eq=False)
class CameraView:
    """A camera.

    Attributes:
        centre: what it looks at (3,), m.
        direction: from there to the camera (3,), of unit length.
        up: what is up on the screen (3,).
        half: half the size of the box that is to be seen (3,), m.
    """

    centre: Array
    direction: Array
    up: Array
    half: Array

    @property
    def radius(self) -> float:
        """Half the diagonal of the box, m."""
        return float(np.linalg.norm(self.half)) or 1.0

    def camera_pose(self, aspect: float = 1.6, upper: float = 1.0) -> tuple[Array, Array]:
        """Where the camera is and what it looks at (3,), m.

        The camera at the distance D looks (1 - U) t D below the centre, t = tan(FOV/2), so that the centre is
        in the middle of the upper part U of the picture. A corner of the box, from the centre r to the right,
        u upward and a towards the camera, is within that part if

            r <= aspect t (D - a),   u <= t (U D - a),   -u <= t (U D + (1 - 2 U) a)

        Args:
            aspect: the picture's width over its height.
            upper: the part U of its height, from above, that is free.
        """
        t = math.tan(0.5 * FOV)
        upward = self.up - (self.up @ self.direction) * self.direction
        upward = upward / np.linalg.norm(upward)
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        corners = signs * (self.half if np.any(self.half) else 1.0)
        a, u = corners @ self.direction, corners @ upward
        r = np.abs(corners @ np.cross(self.direction, upward))
        above, below = np.maximum(u, _MARGIN * u), np.maximum(-u, -_MARGIN * u)
        distance = max(
            float(np.max(_MARGIN * r / (aspect * t) + a)),
            float(np.max(above / t + a)) / upper,
            float(np.max(below / t - (1.0 - 2.0 * upper) * a)) / upper,
        )
        target = self.centre - (1.0 - upper) * distance * t * upward
        return target + distance * self.direction, target


def free_window(width: float, height: float) -> tuple[float, float]:
    """What the controls leave of a window (px): aspect and upper part, as `CameraView.place` takes them."""
    if width > _PHONE:
        return (width - _PANEL) / max(height, 1.0), 1.0
    return width / max(height, 1.0), _UPPER


def camera_view(low: Array, high: Array, normal_axis: int | None, has_several: bool = False) -> CameraView:
    """The camera for a box.

    Args:
        low: its lower corner (3,), m.
        high: its upper corner (3,), m.
        normal_axis: the base axis across which everything is flat: looked at along it; None if it is not.
        has_several: whether it holds several robots, in a row along x.
    """
    centre, half = 0.5 * (low + high), 0.5 * (high - low)
    if normal_axis is None:
        towards = _FRONT_DIRECTION if has_several else _VIEW_DIRECTION
        return CameraView(centre, towards / np.linalg.norm(towards), np.array([0.0, 0.0, 1.0]), half)
    up = np.eye(3)[1 if normal_axis == 2 else 2]
    # From the side that has x, or y, to the right.
    side = np.eye(3)[normal_axis] * (-1.0 if normal_axis == 1 else 1.0)
    direction = side + 0.12 * up
    return CameraView(centre, direction / np.linalg.norm(direction), up, half)


def round_step(extent: float) -> float:
    """A round length, 1, 2 or 5 times a power of ten: about a tenth of an extent, m."""
    power = 10.0 ** math.floor(math.log10(0.1 * extent))
    part = 0.1 * extent / power
    return power * (1.0 if part < 1.5 else 2.0 if part < 3.5 else 5.0 if part < 7.5 else 10.0)
