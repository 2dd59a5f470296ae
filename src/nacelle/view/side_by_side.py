"""Robots side by side: where each base is, so that no two of them meet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.kinematics.inverse import BodyPoses, inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Room around a robot and between two of them, as parts of a robot's extent.
_ROOM, _GAP = 0.06, 0.25


def joint_box(robot: Robot, bodies: BodyPoses) -> tuple[Array, Array]:
    """Corners (3,), m, of the box around all joints of a robot in its base, with a little room."""
    R, p = bodies
    points = [
        p[body] + R[body] @ frame.p
        for joint in robot.joints
        for body, frame in (
            (joint.predecessor, joint.frame_predecessor),
            (joint.successor, joint.frame_successor),
        )
    ]
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    room = _ROOM * (float(np.linalg.norm(high - low)) or robot.size)
    return low - room, high + room


def row(boxes: Sequence[tuple[Array, Array]]) -> list[Array]:
    """Offsets (3,), m, of robots with these boxes in a row along x; the first one stays."""
    places: list[Array] = []
    edge = 0.0
    for k, (low, high) in enumerate(boxes):
        size = float(np.linalg.norm(high - low))
        x = edge + 0.5 * _GAP * size - low[0] if k else 0.0
        places.append(np.array([x, 0.0, 0.0]))
        edge = x + high[0] + 0.5 * _GAP * size
    return places


def offsets(robots: Sequence[Robot], poses: Sequence[Array]) -> list[Array]:
    """Offsets (3,), m, of robots at poses (nx,) in a row along x."""
    boxes = [
        joint_box(robot, inverse_kinematics(robot, x, limits=False).bodies)
        for robot, x in zip(robots, poses, strict=True)
    ]
    return row(boxes)
