"""Which poses a device sees: its range, where a reflector faces, and what of the robot hides the point.

With o the device, p the point and f the axis along which its reflector faces, a pose is seen where

    nearest <= |p - o| <= furthest,     f . (o - p) >= cos(acceptance) |p - o|

and no solid of the robot is entered and left on the way from o to p: a solid that holds p is what carries it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.kinematics.solve.inverse import BodyPoses
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.scene import RobotScenery, depth_span

# A point that is seen lies at least this part of its distance behind what is left on the way to it.
_CLEAR = 1e-6


class PointOfBody(NamedTuple):
    """A point (3,), m, in the frame of a body."""

    body: int
    point: Array


class View(NamedTuple):
    """What limits the sight of a device.

    Attributes:
        nearest: range, m.
        furthest: range, m.
        facing: axis (3,) of the tool's body along which its reflector faces; None: all around.
        acceptance: largest angle between that axis and the line to the device, rad.
        is_hidden: whether solids of the robot hide the point (those described, or suggested by its joints).
    """

    nearest: float = 0.0
    furthest: float = np.inf
    facing: tuple[float, float, float] | None = None
    acceptance: float = np.pi
    is_hidden: bool = False


UNLIMITED = View()
"""Nothing limits it."""


def seen_poses(robot: Robot, bodies: BodyPoses, tool: PointOfBody, origin: Array, view: View) -> Array:
    """Which samples (S,) of the bodies' poses a device sees.

    Args:
        robot: the robot.
        bodies: poses R (S, bodies, 3, 3), p (S, bodies, 3).
        tool: the point.
        origin: where the device is in the base (3,), m.
        view: its limits.
    """
    body, point = tool.body, tool.point
    R = bodies.R[:, body]
    ways = bodies.p[:, body] + R @ point - origin
    distances = np.linalg.norm(ways, axis=1)
    seen = (distances >= view.nearest) & (distances <= view.furthest)
    if view.facing is not None:
        facing = R @ (np.array(view.facing) / np.linalg.norm(view.facing))
        seen &= -np.sum(facing * ways, axis=1) >= np.cos(view.acceptance) * distances
    if view.is_hidden:
        scenery, camera = RobotScenery(robot), Camera((1.0, 1.0), (0.0, 0.0), (1, 1), Pose(np.eye(3), origin))
        for k in np.flatnonzero(seen).tolist():
            solids = scenery.scene(camera, bodies.R[k], bodies.p[k]).solids
            spans = (depth_span(item.solid, ways[k]) for item in solids)
            seen[k] = not any(first <= last and last > 0.0 and last < 1.0 - _CLEAR for first, last in spans)
    return np.asarray(seen)
