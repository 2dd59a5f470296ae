"""Edges as a camera would measure them, without images: exact normals and noise of a stated covariance.

An edge of N pixels length, each with an error of s px across it, is a line fitted to N points. With the rays
d_i = (a_x, a_y, 1) of its points, e_i = n . d_i is s |g| of them, g = (n_x / f_x, n_y / f_y), and the normal
that fits best has

    C = s^2 g^2 E (sum of (E^T d_i)(E^T d_i)^T)^-1 E^T,     E = [u, m] across n (`sight`)

which is the Cramer-Rao bound of N independent points. Only the part of an edge within the image counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera, Exposure
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.anchors import Anchors
from nacelle.vision.observer.sight import SightModel, camera_numbers

# Points of an edge that stand for all its pixels.
_POINTS = 17
# An edge shorter than this, px, gives no line.
_SHORTEST = 8.0


def edge_points(cylinder: Cylinder, E: Array, along: float, tangent: float) -> Array:
    """Points (k, 3) of an edge, evenly spaced: (a + s) u + q m, E = [u, m] (3, 2), camera axes, m."""
    span = along + np.linspace(0.0, cylinder.length, _POINTS)
    return np.asarray(span[:, None] * E[:, 0] + tangent * E[:, 1])


def edge_covariance(camera: Camera, n: Array, E: Array, points: Array, sigma: float) -> Array | None:
    """Covariance (2, 2) of a normal across itself, from an error of sigma px at each pixel of its edge.

    Args:
        camera: the camera.
        n: normal (3,), camera axes.
        E: two unit vectors across it (3, 2).
        points: of the edge (k, 3), evenly spaced, camera axes, m.
        sigma: px.

    Returns:
        None where too little of the edge is in the image.
    """
    pixels = camera.pixels(points)
    inside = camera.contains(pixels)
    pixels, points = pixels[inside], points[inside]
    if len(pixels) < 3:
        return None
    length = float(np.linalg.norm(pixels[-1] - pixels[0]))
    if length < _SHORTEST:
        return None
    rays = points / points[:, 2:]
    g = float(np.hypot(*(n[:2] / camera.focal)))
    lever = rays @ E
    # Each point stands for as many pixels as there are to its neighbours.
    information = (length / len(rays)) * lever.T @ lever / (sigma * g) ** 2
    return np.asarray(np.linalg.inv(information))


class SimulatedCamera:
    """A camera that measures edges of a robot's cylinders with noise."""

    def __init__(
        self,
        robot: Robot,
        camera: Camera,
        cylinders: Sequence[Cylinder],
        *,
        sigma: float,
        rng: np.random.Generator,
        anchors: tuple[Anchors, Array] | None = None,
    ) -> None:
        """Keep them.

        Args:
            robot: the robot.
            camera: the camera as it is.
            cylinders: that it sees.
            sigma: error of each pixel of an edge across it, px.
            rng: draws the noise.
            anchors: where anchors are displaced: directions, and how far along each (m,), m.
        """
        self.robot, self.camera, self.cylinders = robot, camera, tuple(cylinders)
        self._sigma, self._rng = sigma, rng
        self._numbers = camera_numbers(camera)
        nothing: tuple[Anchors, Array] = ((), np.zeros(0))
        moved, self._displaced = anchors or nothing
        self._sight = SightModel(robot, cylinders, moved)
        self._y: Array | None = None

    def measure(
        self, exposure: Exposure, x: Array, expected: Callable[[], Array] | None = None
    ) -> list[EdgeMeasurement]:
        """The edges that an exposure gives: two of each cylinder, where it is in view.

        Args:
            exposure: when, and of which cylinders.
            x: reduced pose (nx,) then.
            expected: gives the pose that is expected, as cameras with images need it; not used here.
        """
        at = self._sight.edges(x, self._numbers, self._displaced, guess=self._y)
        self._y = at.y if at.y.size else None
        frame, tangent, along = (at.results[name] for name in ("frame", "tangent", "along"))
        result = []
        for k in exposure.cylinders:
            for side in (0, 1) if tangent[k] > 0.0 else ():
                n, E = frame[k, side, 0], frame[k, side, 1:].T
                points = edge_points(self.cylinders[k], E, float(along[k]), float(tangent[k]))
                C = edge_covariance(self.camera, n, E, points, self._sigma)
                if C is None:
                    continue
                seen = n + E @ (np.linalg.cholesky(C) @ self._rng.standard_normal(2))
                seen = seen / np.linalg.norm(seen)
                # Across the measured normal, as those of fitted lines are.
                onto = (np.eye(3) - np.outer(seen, seen)) @ E
                covariance = onto @ C @ onto.T
                result.append(EdgeMeasurement(exposure.time, exposure.arrival, k, side, seen, covariance))
        return result
