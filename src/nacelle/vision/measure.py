"""Measuring a cylinder: from a predicted scene and an image to the planes of its edges.

    predicted scene -> free parts of both edges -> pixels around them -> fitted normals -> measurements

`measure` reads an image, of which a region may be enough; `look` renders no more than the pixels that are
read, which is what a camera with small regions of interest transfers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Exposure
from nacelle.vision.image.edges import EdgeFit, band_around, fit_edges, search_normals
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render_pixels
from nacelle.vision.measurement import EdgeMeasurement, LineMeasurement, line_from_edges
from nacelle.vision.scene import CameraScene
from nacelle.vision.visibility import edge_visibility

# Edges beyond the reach of a blurred edge that a fit reads, px: it shall see the levels on both sides.
FLAT_MARGIN = 4.0
# Errors of a prediction that a fit starts from directly, px: so far from other parts the pixels are kept.
_SLACK = 1.0
# A fit whose residuals are larger than this many times the noise squared is no fit of this model.
MISFIT = 2.0


@dataclass(frozen=True, eq=False)
class CylinderMeasurement:
    """What an image gives of one cylinder.

    Attributes:
        edges: the edges, one or two.
        fit: the fit that they come from.
    """

    edges: tuple[EdgeMeasurement, ...]
    fit: EdgeFit

    def line(self, radius: float) -> LineMeasurement:
        """The axis of the cylinder, from both edges and the radius (m), camera axes.

        Raises:
            KinematicsError: if one edge alone was seen, or their planes are parallel.
        """
        # The covariance of the normal of side 0 with that of side 1.
        return line_from_edges(self.edges[0], self.edges[-1], radius, self.fit.covariance[:3, 3:])


def measure(
    image: Array,
    predicted: CameraScene,
    index: int,
    model: PixelModel,
    *,
    search: float = 0.0,
    exposure: Exposure | None = None,
) -> CylinderMeasurement | None:
    """Measure cylinder `index` in an image, from a predicted scene.

    Args:
        image: grey levels (height, width) of the camera; NaN where it was not read.
        predicted: the scene at the predicted pose.
        index: of the cylinder.
        model: the pixel model: blur and noise.
        search: how far the edges may be from the prediction, px; they are looked for first where this is
            more than the blur.
        exposure: its times; zero if None.

    Returns:
        The measurement; None where no edge is free, or the pixels are not those of such a cylinder.
    """
    seen = edge_visibility(predicted, index, model.reach + FLAT_MARGIN + search)
    start: Array | None = seen.lines.normals
    if search > max(model.width, 1.0):
        start = search_normals(image, predicted.camera, seen, search, model)
    if start is None:
        return None
    band = band_around(predicted, index, seen, model, margin=FLAT_MARGIN, uncertainty=max(search, _SLACK))
    if band is None:
        return None
    return _cylinder_measurement(fit_edges(band, band.values(image), start, model), index, exposure)


def render_and_measure(
    true: CameraScene,
    predicted: CameraScene,
    index: int,
    model: PixelModel,
    rng: np.random.Generator,
    *,
    exposure: Exposure | None = None,
) -> CylinderMeasurement | None:
    """Render and measure cylinder `index`: no more pixels than the measurement reads.

    Args:
        true: the scene as it is.
        predicted: the scene as it is expected; within about the blur (px) of the true one.
        index: of the cylinder.
        model: the pixel model.
        rng: makes the noise.
        exposure: its times; zero if None.
    """
    seen = edge_visibility(predicted, index, model.reach + FLAT_MARGIN)
    band = band_around(predicted, index, seen, model, margin=FLAT_MARGIN, uncertainty=_SLACK)
    if band is None:
        return None
    values = model.noisy(render_pixels(true, model, band.patch), rng)
    return _cylinder_measurement(fit_edges(band, values, seen.lines.normals, model), index, exposure)


def _cylinder_measurement(
    fit: EdgeFit | None, index: int, exposure: Exposure | None
) -> CylinderMeasurement | None:
    if fit is None or not fit.converged or fit.misfit > MISFIT:
        return None
    time, arrival = (exposure.time, exposure.arrival) if exposure else (0.0, 0.0)
    edges = tuple(
        EdgeMeasurement(time, arrival, index, side, n, fit.covariance_of(side))
        for side, n in zip(fit.sides, fit.normals, strict=True)
    )
    return CylinderMeasurement(edges, fit)
