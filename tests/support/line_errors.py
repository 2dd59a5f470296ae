"""Directions of legs from rendered images against the Cramér-Rao bound, over widths and blurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.image.edges import PixelBand, band_around, fit_edges
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render_pixels
from nacelle.vision.measure import FLAT_MARGIN
from nacelle.vision.measurement import EdgeMeasurement, LineMeasurement, line_from_edges
from nacelle.vision.placing import view_directions
from nacelle.vision.scene import CameraScene, RobotScenery
from nacelle.vision.visibility import EdgeVisibility, edge_visibility
from support.line_bound import line_bound, normals_bound

# How far the image of the corner is moved by the lens, as a part of its distance from the centre.
LENS = 0.05


@dataclass(frozen=True)
class LineErrors:
    """Errors of the direction of one cylinder over seeded runs.

    Attributes:
        name: of the cylinder.
        width: its width in the image, px.
        ratio: root mean square of the errors over that of the bound for all that is free of the edges.
        region: the same for the bound of the pixels that are read.
        worst: the larger of the first ratio along the two axes of the bound.
        bias: squared mean error over its own covariance, two degrees of freedom.
        nees: mean squared error by the fit's own covariance, over two.
        bound: root mean square of the bound, rad.
        failed: runs without a measurement.
    """

    name: str
    width: float
    ratio: float
    region: float
    worst: float
    bias: float
    nees: float
    bound: float
    failed: int


def best_place(scenery: RobotScenery, index: int) -> Array:
    """Where a camera measures a cylinder best: a point (3,) twice the robot's size from it.

    Of the ten directions that see most of both edges the one with the least covariance of what is read where
    the cylinder is narrow, which is when other parts are nearest in the image.
    """
    A, B = scenery.cylinders[index].ends_in_base(*scenery.bodies())
    middle, distance = 0.5 * (A + B), 2.0 * scenery.robot.size
    model = PixelModel(blur=1.0)

    def hidden(place: Array) -> float:
        scene = scenery.at(zoomed_camera(scenery, 20.0, index, place, size=2048))
        return -float(np.min(edge_visibility(scene, index, 8.0).free_length(8.0)))

    def uncertainty(place: Array) -> float:
        scene = scenery.at(zoomed_camera(scenery, 5.0, index, place))
        read = _measured_bound(scene, index, model)
        return np.inf if read is None else float(np.trace(read[2].direction_covariance))

    places = sorted((middle + distance * direction for direction in view_directions(60)), key=hidden)
    return min(places[:10], key=uncertainty)


def _measured_bound(
    scene: CameraScene, index: int, model: PixelModel
) -> tuple[EdgeVisibility, PixelBand, LineMeasurement] | None:
    """What a fit reads of a cylinder, and the bound for that; None without two edges."""
    seen = edge_visibility(scene, index, model.reach)
    band = band_around(scene, index, seen, model, margin=FLAT_MARGIN, uncertainty=0.4)
    if band is None or len(band.sides) < 2:
        return None
    covariance = normals_bound(band, seen.lines.normals, model)
    if covariance is None:
        return None
    edges = _edges(seen.lines.normals, covariance, index)
    return seen, band, line_from_edges(*edges, scene.rods[index].radius, covariance[:3, 3:])


def zoomed_camera(scenery: RobotScenery, width: float, index: int, place: Array, size: int = 256) -> Camera:
    """A camera at a place, zoomed so that a cylinder is `width` px wide, off the centre; distorted."""
    A, B = scenery.cylinders[index].ends_in_base(*scenery.bodies())
    middle = 0.5 * (A + B)
    distance = float(np.linalg.norm(middle - place))
    focal = width * distance / (2.0 * scenery.cylinders[index].radius)
    # The cylinder along the image's diagonal, its middle beside the centre by a tenth of the image.
    way = (B - A) / np.linalg.norm(B - A)
    sight = (middle - place) / distance
    up = way + np.cross(sight, way)
    aside = 0.1 * size / focal * distance * np.cross(sight, way)
    corner = 0.5 * (size / focal) ** 2
    lens = np.array([-1.0 / corner, 0.3 / corner**2, 0.02 / corner**0.5, -0.01 / corner**0.5, 0.0])
    return Camera.look_at(
        middle + aside,
        place,
        up=up,
        size=(size, size),
        field=2.0 * np.arctan(0.5 * size / focal),
        distortion=LENS * lens,
    )


def line_errors(
    scenery: RobotScenery, camera: Camera, index: int, model: PixelModel, runs: int, seed: int = 0
) -> LineErrors:
    """Measure one cylinder in many noisy images and compare with the bound.

    The fit starts from a prediction that is wrong by about a third of a pixel, and reads no pixel that the
    bound does not know of; the bound has more, up to the ends of what is free.
    """
    rng = np.random.default_rng((seed, index, int(10 * model.blur)))
    scene = scenery.at(camera)
    bound = line_bound(scene, index, model)
    cylinder = scenery.cylinders[index]
    if bound is None:
        return LineErrors(cylinder.name, *[np.nan] * 7, runs)
    read = _measured_bound(scene, index, model)
    if read is None:
        return LineErrors(cylinder.name, *[np.nan] * 7, runs)
    seen, band, best = read
    width = float(np.median(seen.width[np.any(seen.inside, axis=0)]))
    mean = render_pixels(scene, model, band.patch)
    lines, own, failed = [], [], 0
    shift = 0.3 / camera.focal[0]
    for _ in range(runs):
        start = seen.lines.normals + shift * rng.standard_normal((2, 3))
        start /= np.linalg.norm(start, axis=1, keepdims=True)
        fit = fit_edges(band, model.noisy(mean, rng), start, model)
        if fit is None or not fit.converged:
            failed += 1
            continue
        line = line_from_edges(
            *_edges(fit.normals, fit.covariance, index), cylinder.radius, fit.covariance[:3, 3:]
        )
        lines.append(line.direction - bound.direction)
        own.append(_squared_mahalanobis(line.direction - bound.direction, line.direction_covariance))
    errors = np.array(lines)
    variances, axes = np.linalg.eigh(bound.direction_covariance)
    along = errors @ axes[:, 1:]
    variances = variances[1:]
    mean_error = np.mean(along, axis=0)
    bias = mean_error @ np.linalg.solve(np.atleast_2d(np.cov(along.T)) / len(along), mean_error)
    return LineErrors(
        cylinder.name,
        width,
        float(np.sqrt(np.sum(along**2) / len(along) / np.sum(variances))),
        float(np.sqrt(np.sum(errors**2) / len(along) / np.trace(best.direction_covariance))),
        float(np.sqrt(np.max(np.mean(along**2, axis=0) / variances))),
        float(bias),
        float(np.mean(own) / 2.0),
        float(np.sqrt(np.sum(variances))),
        failed,
    )


def _edges(normals: Array, covariance: Array, index: int) -> tuple[EdgeMeasurement, EdgeMeasurement]:
    first, second = (
        EdgeMeasurement(0.0, 0.0, index, k, normals[k], covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3])
        for k in (0, 1)
    )
    return first, second


def _squared_mahalanobis(error: Array, covariance: Array) -> float:
    """e^T C^+ e over the two directions in which a unit vector may err."""
    values, axes = np.linalg.eigh(covariance)
    return float(np.sum((error @ axes[:, 1:]) ** 2 / values[1:]))
