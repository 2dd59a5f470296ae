"""What a camera sees of a true robot in motion: edges of its legs, exposure by exposure.

An exposure belongs to its middle by the camera's clock; the true robot is taken there from the states that the
plant keeps, with the anchors of that time. Two ways lead from it to edges:

    model       the exact planes of the edges, and normal noise of the covariance that a fit of the visible
                length would have (`nacelle.vision.observer.simulated`); fast
    rendered    an image of the region, edges and lines found in it (`nacelle.control.vision.rendered`)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from nacelle.control.vision.plant import TruePlant
from nacelle.errors import KinematicsError
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, contour_normals
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.observer.simulated import edge_covariance
from nacelle.vision.shutter import Exposure, Shutter

# Points along a cylinder that stand for its edges.
_POINTS = 17


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

    def edges(self, exposure: Exposure, R: Array, p: Array) -> list[EdgeMeasurement]:
        """Edges of an exposure, at poses of all bodies R (bodies, 3, 3), p (bodies, 3), m, in the base."""


class Sight:
    """A camera that looks at a true robot.

    Args:
        plant: the true robot.
        shutter: when it looks.
        source: what makes edges.
        order: indices of the cylinders that are looked at, in turn.
    """

    def __init__(self, plant: TruePlant, shutter: Shutter, source: EdgeSource, order: Sequence[int]) -> None:
        if not order:
            raise KinematicsError(f"the camera sees no cylinder of {plant.model.name} that could be used")
        self._plant, self._shutter, self._source, self._order = plant, shutter, source, tuple(order)
        self._until = plant.time

    def arrived(self, now: float) -> list[EdgeMeasurement]:
        """Edges whose results have arrived since the last call, until now (robot's clock, s)."""
        shutter, last = self._shutter, self._until
        self._until = now
        found: list[EdgeMeasurement] = []
        begin, end = last - shutter.latency, now - shutter.latency
        for exposure in shutter.exposures(begin, end, self._order):
            # The first of two intervals that meet has what is at their common end.
            middle = shutter.robot_time(exposure.time)
            if exposure.arrival <= last + 1e-12 or middle < self._plant.oldest:
                continue
            R, p = self._plant.bodies(self._plant.state_at(middle), middle)
            found += self._source.edges(exposure, R, p)
        self._plant.forget(end - shutter.exposure)
        return found


class ModelEdges:
    """Exact edges with noise of the covariance that fits have.

    Args:
        camera: where it truly is.
        cylinders: of the legs.
        sigma: error of each pixel of an edge across it, px.
        seed: of the noise.
    """

    def __init__(self, camera: Camera, cylinders: Sequence[Cylinder], *, sigma: float, seed: int) -> None:
        self._camera, self._cylinders, self._sigma = camera, tuple(cylinders), sigma
        self._rng = np.random.default_rng(seed)

    def edges(self, exposure: Exposure, R: Array, p: Array) -> list[EdgeMeasurement]:
        """Edges of an exposure."""
        camera, found = self._camera, []
        for k in exposure.cylinders:
            cylinder = self._cylinders[k]
            A, B = cylinder.placed(R, p)
            normals = contour_normals(camera, A, B - A, cylinder.radius)
            if not np.isfinite(normals).all():
                continue
            u = (B - A) / np.linalg.norm(B - A) @ camera.pose.R
            axis = camera.seen(A + np.linspace(0.0, 1.0, _POINTS)[:, None] * (B - A))
            for side, n in enumerate(normals):
                # The line on the cylinder that is seen as its edge: from the axis by the radius along -+ n.
                points = axis - (1.0 - 2.0 * side) * cylinder.radius * n
                E = np.column_stack([u, np.cross(n, u)])
                C = edge_covariance(camera, n, E, points, self._sigma)
                # Drawn whether it is used or not: the noise of others does not depend on it.
                drawn = self._rng.standard_normal(2)
                if C is None:
                    continue
                seen = n + E @ (np.linalg.cholesky(C) @ drawn)
                seen = seen / np.linalg.norm(seen)
                across = (np.eye(3) - np.outer(seen, seen)) @ E
                found.append(
                    EdgeMeasurement(exposure.time, exposure.arrival, k, side, seen, across @ C @ across.T)
                )
        return found
