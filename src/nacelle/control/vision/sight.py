"""What a camera sees of a true robot in motion: edges of its legs, exposure by exposure.

An exposure belongs to its middle by the camera's clock; the true robot is where its motion has it then, with
the anchors of that time. Two ways lead from it to edges:

    model       the exact planes of the edges, and normal noise of the covariance that a fit of the visible
                length would have, the Cramer-Rao bound of the pixel model; fast
    rendered    an image of the region, edges and lines found in it (`RenderedEdges`)

Edges from images: the regions that a shutter reads are rendered, and lines are fitted in them.

The true scene is rendered by the pixel model around the edges that the observer predicts, and where
edges are is read there (`nacelle.vision.measure`). A region
whose pixels are not those of such a cylinder gives nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from nacelle.control.vision.plant import TruePlant
from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.shapes.solid import Rod
from nacelle.simulation.digital_controller import PastMotion
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera, Exposure, Shutter
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.measure import render_and_measure
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.scene import CameraScene, RobotScenery
from nacelle.vision.visibility import ContactLines, edge_visibility

# An edge of fewer free pixels is not used.
_MIN_EDGE_PIXELS = 12


BodyPoses = tuple[Array, Array]
"""Poses of all bodies in the base: R (bodies, 3, 3), p (bodies, 3), m."""
PosePrediction = Callable[[], BodyPoses]
"""Gives the poses of all bodies that are expected at an exposure."""


def edge_sigma(pixels: PixelModel) -> float:
    """The error across an edge that each pixel along it has at best, px.

    Over a blurred edge, a step of the contrast C with the slope of a normal density of width w, noise of
    variance s^2 leaves s^2 / (C^2 integral of density^2) = 2 sqrt(pi) w s^2 / C^2: the Cramer-Rao bound.
    """
    contrast = abs(pixels.leg - pixels.background)
    noise = float(np.sqrt(pixels.variance(np.array(0.5 * (pixels.leg + pixels.background)))))
    return noise / contrast * math.sqrt(2.0 * math.sqrt(math.pi) * pixels.width)


class EdgeSource(Protocol):
    """What makes edges of the bodies' poses."""

    def edges(self, exposure: Exposure, true: BodyPoses, predicted: PosePrediction) -> list[EdgeMeasurement]:
        """Edges of an exposure, at true poses of all bodies; they are looked for where they are predicted."""


class TrueCamera:
    """A camera that looks at a true robot.

    Args:
        plant: the true robot.
        shutter: when it looks.
        source: what makes edges.
        order: indices of the cylinders that are looked at, in turn.
        start: when it begins to look, robot's clock, s.

    Raises:
        KinematicsError: if there is no cylinder to look at.
    """

    def __init__(
        self, plant: TruePlant, shutter: Shutter, source: EdgeSource, order: Sequence[int], *, start: float
    ) -> None:
        if not order:
            raise KinematicsError(f"the camera sees no cylinder of {plant.name} that could be used")
        self._plant, self._shutter, self._source, self._order = plant, shutter, source, tuple(order)
        self._until = start

    def arrived_edges(
        self, now: float, motion: PastMotion, predict: Callable[[float], BodyPoses]
    ) -> list[EdgeMeasurement]:
        """Edges whose results have arrived since the last call.

        Args:
            now: robot's clock, s.
            motion: of the true robot until now.
            predict: the poses of all bodies that are expected at a time of the robot's clock.
        """
        shutter, last = self._shutter, self._until
        self._until = now
        edges: list[EdgeMeasurement] = []
        for exposure in shutter.exposures(last - shutter.latency, now - shutter.latency, self._order):
            # The first of two intervals that meet has what is at their common end.
            middle = shutter.robot_time(exposure.time)
            if exposure.arrival <= last + 1e-12 or middle < motion.start:
                continue
            true = self._plant.bodies(motion.state(middle))
            edges += self._source.edges(exposure, true, partial(predict, middle))
        return edges


class ModelEdges:
    """Exact edges with noise of the covariance that fits have.

    Where an edge is free, seen before the background and not hidden, is looked up once, in a scene.

    Args:
        scene: the robot at a pose in the middle of its path, before the camera as it is.
        pixels: blur, grey levels, noise.
        seed: of the noise.
    """

    def __init__(self, scene: CameraScene, pixels: PixelModel, *, seed: int) -> None:
        self._camera, self._cylinders = scene.camera, tuple(scene.cylinders)
        self._sigma = edge_sigma(pixels)
        self._free = [edge_points(scene, k, pixels) for k in range(len(self._cylinders))]
        self._rng = np.random.default_rng(seed)

    def edges(self, exposure: Exposure, true: BodyPoses, predicted: PosePrediction) -> list[EdgeMeasurement]:
        """Edges of an exposure."""
        del predicted
        measurements = []
        for k in exposure.cylinders:
            rod = self._cylinders[k]
            A, B = self._camera.in_camera_axes(np.stack(rod.ends_in_base(*true)))
            lines = ContactLines.of(Rod(A, B, rod.radius))
            u = lines.way / np.linalg.norm(lines.way)
            for side, (n, t) in enumerate(zip(lines.normals, self._free[k], strict=True)):
                # Drawn whether it is used or not: the noise of others does not depend on it.
                noise = self._rng.standard_normal(2)
                E = np.column_stack([u, np.cross(n, u)])
                C = self._covariance(n, E, lines.points(t)[side])
                if C is None:
                    continue
                seen = n + E @ (np.linalg.cholesky(C) @ noise)
                seen = seen / np.linalg.norm(seen)
                across = (np.eye(3) - np.outer(seen, seen)) @ E
                measurements.append(
                    EdgeMeasurement(exposure.time, exposure.arrival, k, side, seen, across @ C @ across.T)
                )
        return measurements

    def _covariance(self, n: Array, E: Array, points: Array) -> Array | None:
        """Covariance (2, 2) of a normal along E (3, 2), from points (k, 3) a pixel apart, camera axes."""
        if len(points) < _MIN_EDGE_PIXELS or not np.isfinite(n).all():
            return None
        lever = points[:, :2] / points[:, 2:] @ E[:2] + E[2]
        # What an error of a pixel across the edge is as an angle of the ray, for the ray (x, y, 1).
        g = float(np.hypot(*(n[:2] / self._camera.focal)))
        return np.asarray(np.linalg.inv(lever.T @ lever) * (self._sigma * g) ** 2)


def edge_points(scene: CameraScene, index: int, pixels: PixelModel) -> tuple[Array, Array]:
    """Places t (k,) along both edges of a cylinder, about a pixel apart, at which they are free."""
    seen = edge_visibility(scene, index, pixels.reach)
    both = seen.free_intervals(pixels.reach)
    result = []
    for side in (0, 1):
        # A step counts as many pixels as it is long.
        whole = both[side, 1:] & both[side, :-1]
        counts = np.where(whole, np.rint(np.nan_to_num(seen.steps[side])), 0).astype(int)
        steps = zip(seen.t[:-1], seen.t[1:], counts, strict=True)
        parts = [a + (b - a) * (np.arange(k) + 0.5) / k for a, b, k in steps if k]
        result.append(np.concatenate(parts) if parts else np.zeros(0))
    return result[0], result[1]


# ---- edges from images


class RenderedEdges:
    """Edges that are measured in rendered images.

    Args:
        robot: the robot.
        camera: where it truly is.
        pixels: blur, grey levels, noise.
        seed: of the noise.
    """

    def __init__(self, robot: Robot, camera: Camera, pixels: PixelModel, *, seed: int) -> None:
        self._scenery, self._camera, self._pixels = RobotScenery(robot), camera, pixels
        self._rng = np.random.default_rng(seed)
        self.missed = 0

    def edges(self, exposure: Exposure, true: BodyPoses, predicted: PosePrediction) -> list[EdgeMeasurement]:
        """Edges of an exposure."""
        scene = self._scenery.scene(self._camera, *true)
        expected = self._scenery.scene(self._camera, *predicted())
        measurements: list[EdgeMeasurement] = []
        for k in exposure.cylinders:
            measured = render_and_measure(scene, expected, k, self._pixels, self._rng, exposure=exposure)
            if measured is None:
                self.missed += 1
            else:
                measurements += measured.edges
        return measurements
