"""Where to put a camera so that it sees all legs of a robot well.

Cameras are tried on a sphere around the legs, as far away as their field of view needs to hold them:
directions of a Fibonacci lattice and the six base axes. A camera is better if it sees more legs with a
cylinder of which both edges are free; of those that see equally many, if the least motion has a larger effect
on the image: the smallest singular value of the Jacobian from the reduced twist to the usable edges, px
(`nacelle.vision.views`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import RobotScenery
from nacelle.vision.views import judge_view

_DIRECTIONS = 26
# How much farther than needed the camera is, so that the legs may move.
_DISTANCE_MARGIN = 1.15


def camera_for(
    robot: Robot,
    x: Any = None,
    *,
    size: Sequence[int] = (1024, 1024),
    field: float = 0.7,
    distortion: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0),
    model: PixelModel | None = None,
) -> Camera:
    """A camera that sees the legs of a robot well at a pose.

    Args:
        robot: the robot.
        x: reduced pose (nx,); the reference pose if None.
        size: width and height of the image, px.
        field: full angle of view across the shorter side, rad.
        distortion: Brown's coefficients k1, k2, p1, p2, k3.
        model: the pixel model by which views are judged; the default one if None.

    Raises:
        KinematicsError: if the legs have no cylinders.
    """
    scenery = RobotScenery(robot)
    if not scenery.cylinders:
        raise KinematicsError(f"{robot.name}: its legs have no cylinders that a camera could measure")
    R, p = scenery.bodies(x)
    ends = np.concatenate([cylinder.ends_in_base(R, p) for cylinder in scenery.cylinders])
    middle = 0.5 * (ends.min(axis=0) + ends.max(axis=0))
    radius = float(np.max(np.linalg.norm(ends - middle, axis=1))) + max(c.radius for c in scenery.cylinders)
    distance = _DISTANCE_MARGIN * radius / float(np.sin(0.5 * field))
    up = -np.asarray(robot.gravity, dtype=float)
    up = up if np.any(up) else np.array([0.0, 0.0, 1.0])
    best, score = None, (-1, -1.0)
    for direction in view_directions(_DIRECTIONS):
        camera = Camera.look_at(
            middle, middle + distance * direction, up=up, size=size, field=field, distortion=distortion
        )
        seen = judge_view(scenery, camera, x, model)
        # Legs with a cylinder whose edges are both free, and the least effect of a motion, px.
        now = len({view.leg for view in seen.cylinders if view.usable}), seen.least
        # A later camera must be clearly better: symmetric robots have many that are equal to rounding.
        if best is None or now[0] > score[0] or (now[0] == score[0] and now[1] > score[1] * (1.0 + 1e-6)):
            best, score = camera, now
    if best is None:
        raise KinematicsError(f"{robot.name}: there is no direction to look from")
    return best


def view_directions(count: int) -> Array:
    """The base axes both ways, and unit vectors (3,) spread evenly over the sphere."""
    return np.concatenate([np.eye(3), -np.eye(3), sphere_directions(count)])


def sphere_directions(count: int) -> Array:
    """Unit vectors (count, 3) spread evenly over the sphere (Fibonacci)."""
    k = np.arange(count) + 0.5
    height = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * k
    across = np.sqrt(1.0 - height * height)
    return np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=-1)
