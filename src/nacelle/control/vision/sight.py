"""A simulated camera that looks at a true robot in motion and measures edges of its legs at every exposure.

The time of an exposure is its middle by the camera's clock. The true robot is at its pose of that time, with
the anchors of that time (`control.vision.plant`). Two sources give edges from these poses:

    model       the exact planes of the edges, with normal noise. Its covariance is that of a line fitted to
                the visible length at best, the Cramer-Rao bound of the pixel model (`ModelEdges`); fast
    rendered    edges fitted in rendered images (`RenderedEdges`)

For `rendered`, the pixel model renders the true scene in the regions around the edges that the observer
predicts, and lines are fitted there (`nacelle.vision.measure`). A region that does not fit a cylinder gives
no edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.model.robot import Robot
from nacelle.shapes.solid import Rod
from nacelle.simulation.digital_controller import PastMotion
from nacelle.simulation.plant import Plant
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera, Exposure, Shutter
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.measure import render_and_measure
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.scene import CameraScene, RobotScenery
from nacelle.vision.visibility import ContactLines, edge_visibility

# An edge with fewer visible pixels gives no measurement.
_MIN_EDGE_PIXELS = 12


BodyPoses = tuple[Array, Array]
"""Poses of all bodies in the base: R (bodies, 3, 3), p (bodies, 3), m."""
PosePrediction = Callable[[], BodyPoses]
"""Gives the poses of all bodies that the observer predicts for an exposure."""


def edge_sigma(pixels: PixelModel) -> float:
    """The least standard deviation of an edge's position across it, for each pixel of its length, px.

    A blurred edge is a step of the contrast C (grey levels) with the slope of a normal density of standard
    deviation w (px). With noise of variance s^2 in every pixel, the Cramer-Rao bound of the variance is

        s^2 / (C^2 integral of density^2) = 2 sqrt(pi) w s^2 / C^2
    """
    contrast = abs(pixels.leg - pixels.background)
    noise = float(np.sqrt(pixels.variance(np.array(0.5 * (pixels.leg + pixels.background)))))
    return noise / contrast * math.sqrt(2.0 * math.sqrt(math.pi) * pixels.width)


class EdgeSource(Protocol):
    """A source of measured edges from the poses of all bodies."""

    def edges(self, exposure: Exposure, true: BodyPoses, predicted: PosePrediction) -> list[EdgeMeasurement]:
        """Edges of an exposure at the true poses of all bodies, searched for at the predicted poses."""


class TrueCamera:
    """A camera that looks at a true robot.

    Args:
        plant: the true robot.
        shutter: times of the exposures, and their latency.
        source: gives the edges of an exposure.
        order: indices of the visible cylinders to measure, in the order of a sequential shutter.
        start: time from which on results can arrive, robot's clock, s.

    Raises:
        KinematicsError: if there is no cylinder to look at.
    """

    def __init__(
        self, plant: Plant, shutter: Shutter, source: EdgeSource, order: Sequence[int], *, start: float
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
            motion: motion of the true robot until now.
            predict: gives the predicted poses of all bodies at a time of the robot's clock, s.
        """
        shutter, last = self._shutter, self._until
        self._until = now
        edges: list[EdgeMeasurement] = []
        for exposure in shutter.exposures(last - shutter.latency, now - shutter.latency, self._order):
            # A result that arrives at the end of the last interval was given then; before its motion begins,
            # the robot has no state.
            middle = shutter.robot_time(exposure.time)
            if exposure.arrival <= last + 1e-12 or middle < motion.start:
                continue
            true = self._plant.signals(motion.state(middle), ("R", "p"))
            edges += self._source.edges(exposure, (true["R"], true["p"]), partial(predict, middle))
        return edges


class ModelEdges:
    """Exact edges, with noise of the covariance that the best fit would have.

    The free parts of an edge (not hidden, in front of the background) are found once, in one scene, and
    taken for those of all poses.

    Args:
        scene: the robot at a pose in the middle of its path, seen by the true camera.
        pixels: blur, grey levels, noise.
        seed: seed of the noise.
    """

    def __init__(self, scene: CameraScene, pixels: PixelModel, *, seed: int) -> None:
        self._camera, self._cylinders = scene.camera, tuple(scene.cylinders)
        self._sigma = edge_sigma(pixels)
        self._free = [edge_points(scene, k, pixels) for k in range(len(self._cylinders))]
        self._rng = np.random.default_rng(seed)

    def edges(self, exposure: Exposure, true: BodyPoses, predicted: PosePrediction) -> list[EdgeMeasurement]:
        """Edges of an exposure; predictions are not needed."""
        del predicted
        measurements = []
        for k in exposure.cylinders:
            rod = self._cylinders[k]
            A, B = self._camera.in_camera_axes(np.stack(rod.ends_in_base(*true)))
            lines = ContactLines.of(Rod(A, B, rod.radius))
            u = lines.way / np.linalg.norm(lines.way)
            for side, (n, t) in enumerate(zip(lines.normals, self._free[k], strict=True)):
                # Drawn also for edges that are not used, so that the noise of the others stays the same.
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
        """Covariance (2, 2) of an edge's normal along the columns of E; None without enough visible pixels.

        Args:
            n: unit normal (3,) of the plane of the edge, camera axes.
            E: unit vectors (3, 2) perpendicular to n, camera axes.
            points: points (k, 3) on the edge, about a pixel apart, camera axes, m.
        """
        if len(points) < _MIN_EDGE_PIXELS or not np.isfinite(n).all():
            return None
        lever = points[:, :2] / points[:, 2:] @ E[:2] + E[2]
        # Each point gives a residual n . (x, y, 1), which changes by g for one pixel across the edge.
        g = float(np.hypot(*(n[:2] / self._camera.focal)))
        return np.asarray(np.linalg.inv(lever.T @ lever) * (self._sigma * g) ** 2)


def edge_points(scene: CameraScene, index: int, pixels: PixelModel) -> tuple[Array, Array]:
    """Positions t (k,) along each of the two edges of a cylinder where it is free, about a pixel apart.

    t runs from 0 to 1 along the cylinder (`ContactLines`).
    """
    seen = edge_visibility(scene, index, pixels.reach)
    free = seen.free_intervals(pixels.reach)
    result = []
    for side in (0, 1):
        # An interval between two free samples gets as many points as it is long, px.
        whole = free[side, 1:] & free[side, :-1]
        counts = np.where(whole, np.rint(np.nan_to_num(seen.steps[side])), 0).astype(int)
        steps = zip(seen.t[:-1], seen.t[1:], counts, strict=True)
        parts = [a + (b - a) * (np.arange(k) + 0.5) / k for a, b, k in steps if k]
        result.append(np.concatenate(parts) if parts else np.zeros(0))
    return result[0], result[1]


# ---- edges from images


class RenderedEdges:
    """Edges that are measured in rendered images.

    Attributes:
        missed: number of cylinders so far that gave no measurement.

    Args:
        robot: the robot.
        camera: the camera at its true pose.
        pixels: blur, grey levels, noise.
        seed: seed of the noise.
    """

    def __init__(self, robot: Robot, camera: Camera, pixels: PixelModel, *, seed: int) -> None:
        self._scenery, self._camera, self._pixels = RobotScenery(robot), camera, pixels
        self._rng = np.random.default_rng(seed)
        self.missed = 0

    def edges(self, exposure: Exposure, true: BodyPoses, predicted: PosePrediction) -> list[EdgeMeasurement]:
        """Edges of an exposure, fitted in an image of the true scene around the predicted edges."""
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
