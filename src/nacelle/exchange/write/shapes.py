"""What is drawn of a body, as shapes that every format has: cylinders, boxes and spheres.

Shapes are those of the description, or what its joints suggest (`nacelle.shapes`). A plate is drawn by rods
along its rim.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.exchange.graph import Shape
from nacelle.model.robot import Robot
from nacelle.shapes.configured import ConfiguredRobot
from nacelle.shapes.solid import Ball, Block, Rod, Solid
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import frame_with_z
from nacelle.spatial.scalar import Array


def body_shapes(robot: Robot, poses: Sequence[Pose], body: int) -> tuple[Shape, ...]:
    """The shapes of a body in its frame, of a robot whose bodies have these poses."""
    back = poses[body].inverse()
    return tuple(
        shape
        for solid in ConfiguredRobot(robot, poses).solids(body)
        for shape in _shapes(solid.transform(back))
    )


def _shapes(solid: Solid) -> list[Shape]:
    if isinstance(solid, Rod):
        return _rod(solid.start, solid.stop, solid.radius)
    if isinstance(solid, Ball):
        return [Shape("sphere", (float(solid.radius),), Pose(np.eye(3), np.array(solid.centre, dtype=float)))]
    if isinstance(solid, Block):
        x, y, z = (float(edge) for edge in solid.size)
        return [Shape("box", (x, y, z), solid.at)]
    corners = solid.corners
    return [rod for k, corner in enumerate(corners) for rod in _rod(corners[k - 1], corner, solid.half)]


def _rod(start: Array, stop: Array, radius: float) -> list[Shape]:
    line = np.array(stop - start, dtype=float)
    long = float(np.linalg.norm(line))
    if long == 0.0:
        return []
    at = Pose(frame_with_z(line / long), np.array(0.5 * (start + stop), dtype=float))
    return [Shape("cylinder", (float(radius), long), at)]
