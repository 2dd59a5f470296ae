"""A first guess of a camera's pose: places around the robot from which it looks at its middle.

Directions on a sphere (Fibonacci), distances and rolls are tried side by side on the first sightings; the sum
of the squares of the normals' errors, each not more than a cap, so that one wrong edge does not decide, says
which are best.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.errors import CalibrationError
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.motion import evaluated
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation_vector import rotation_vector
from nacelle.spatial.scalar import Array
from nacelle.vision.calibration.observations import EdgePoints, Sighting
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.observer.sight import camera_numbers, cylinder_option, edges

_DIRECTIONS, _ROLLS = 160, 12
# Distances as parts of the reach of the cylinders from their middle.
_DISTANCES = (1.8, 2.7, 4.0, 6.0)
# An edge whose normal is off by more, rad, counts as this.
_CAP = 0.3
# Sightings that are compared.
_MOST = 3


def first_guesses(
    robot: Robot, cylinders: Sequence[Cylinder], sightings: Sequence[Sighting], camera: Camera, count: int = 6
) -> list[Camera]:
    """The best cameras of a coarse search, best first, with the lens of a given one."""
    few = sightings[:: max(1, len(sightings) // _MOST)][:_MOST]
    candidates = _candidates(robot, cylinders, few, camera)
    options = {"cylinders": cylinder_option(cylinders)}
    numbers = np.stack([camera_numbers(one) for one in candidates])
    cost = np.zeros(len(candidates))
    for sighting in few:
        frame = evaluated(edges, robot, np.asarray(sighting.x)[None], numbers, options=options).results[
            "frame"
        ]
        for edge in sighting.edges:
            n = _normal(camera, edge) if isinstance(edge, EdgePoints) else edge.normal
            off = np.sum((frame[:, edge.cylinder, edge.side, 0] - n) ** 2, axis=-1)
            cost += np.minimum(np.nan_to_num(off, nan=_CAP**2), _CAP**2)
    order = np.argsort(cost)[:count]
    return [candidates[int(k)] for k in order]


def _normal(camera: Camera, edge: EdgePoints) -> Array:
    """The normal of the plane of points, with the sign of the side that the points' order cannot tell."""
    _, _, V = np.linalg.svd(camera.ray(edge.pixels))
    return np.asarray(V[-1])


def _candidates(
    robot: Robot, cylinders: Sequence[Cylinder], sightings: Sequence[Sighting], camera: Camera
) -> list[Camera]:
    bodies = [inverse_kinematics(robot, sighting.x, limits=False).bodies for sighting in sightings]
    ends = np.array([end for placed in bodies for c in cylinders for end in c.placed(*placed)])
    middle = 0.5 * (ends.min(axis=0) + ends.max(axis=0))
    reach = float(np.max(np.linalg.norm(ends - middle, axis=1)))
    if not reach > 0.0:
        raise CalibrationError(f"{robot.name} has no cylinder that a camera could see")
    k = np.arange(_DIRECTIONS) + 0.5
    height, turn = 1.0 - 2.0 * k / _DIRECTIONS, np.pi * (1.0 + 5.0**0.5) * k
    flat = np.sqrt(1.0 - height**2)
    ways = np.stack([flat * np.cos(turn), flat * np.sin(turn), height], axis=1)
    result = []
    for way in ways:
        for part in _DISTANCES:
            one = Camera.looking(middle, middle + part * reach * way)
            for roll in np.arange(_ROLLS) * (2.0 * np.pi / _ROLLS):
                R = one.pose.R @ rotation_vector(np.array([0.0, 0.0, roll]))
                result.append(camera.placed(Pose(R, one.pose.p)))
    return result
