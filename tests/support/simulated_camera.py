"""Edges as a camera would measure them, without images: exact normals and noise of a stated covariance."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.calibration.excitation import edge_covariance, edge_points
from nacelle.vision.camera import Camera, Exposure
from nacelle.vision.cylinders import Cylinder
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.anchors import Anchors
from nacelle.vision.observer.sight import Sight, camera_numbers


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
        self._sight = Sight(robot, cylinders, moved)
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
