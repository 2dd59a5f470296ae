"""The Cramér-Rao bound: how well any unbiased method can measure a cylinder in an image.

The pixel model gives pixel i the mean I_i(q) and a Gaussian of variance v_i, q the two numbers of each edge's
normal. The Fisher information of all pixels and the least covariance of q are

    J^T W J = sum_i dI_i/dq^T dI_i/dq / v_i,     C >= (J^T W J)^-1

over every pixel that depends on what is seen of the edges. Blur, noise and grey levels count as known, which
makes the bound as low as it can be: a fit has to find the levels. (What v_i itself says of q under shot noise
is left out: it is smaller by v_i / contrast^2.) Direction and place of the cylinder follow from both normals
(`line_from_edges`), so their least covariance is C carried over. Along one straight edge of n pixels this is
about, w the width of the blurred edge and s the noise,

    variance of its place = 2 sqrt(pi) w s^2 / (n contrast^2),     of its angle = 12 / n^2 of that
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag

from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.image.edges import (
    PixelBand,
    _candidate_pixels,
    _make_band,
    edge_response,
    information_inverse,
    jacobian_rows,
    level_mixture,
    normal_tangents,
)
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.measurement import EdgeMeasurement, LineMeasurement, line_from_edges
from nacelle.vision.scene import CameraScene
from nacelle.vision.visibility import EdgeVisibility, edge_visibility


def normals_bound(band: PixelBand, normals: Array, model: PixelModel) -> Array | None:
    """Least covariance (3 sides, 3 sides) of the normals of edges, from the pixels of a band.

    Args:
        band: the pixels that are looked at.
        normals: the true normals (2, 3).
        model: the pixel model, with its grey levels.

    Returns:
        The bound; None where the pixels do not determine the normals.
    """
    n = normals[list(band.sides)]
    basis = normal_tangents(n, band.middles)
    F, D = edge_response(band.patch, n, basis, band.sides, model.blur)
    levels = np.array([model.background, model.leg, model.background])
    levels = levels if len(band.sides) == 2 else levels[:2] if band.sides == (0,) else levels[1:]
    weight = 1.0 / np.sqrt(model.variance(levels @ level_mixture(F, band.sides)))
    spread = block_diag(*np.swapaxes(basis, 1, 2))
    inverse = information_inverse((jacobian_rows(F, D, levels, band.sides) * weight)[: spread.shape[1]])
    return None if inverse is None else np.asarray(spread @ inverse @ spread.T)


def whole_band(camera: Camera, seen: EdgeVisibility, reach: float) -> PixelBand | None:
    """All pixels within a distance (px) of what is free of the edges, up to the ends and to other solids."""
    u, v, patch = _candidate_pixels(camera, seen, seen.free, reach)
    use = np.zeros(len(u), dtype=bool)
    for side in (0, 1):
        t = seen.lines.position_along(side, patch)
        sample = np.clip(np.nan_to_num(np.rint(t * (len(seen.t) - 1))), 0, len(seen.t) - 1).astype(int)
        near = np.abs(patch.distance_from_plane(seen.lines.normals[side]).s) < reach
        use |= near & seen.free[side, sample] & (t >= 0.0) & (t <= 1.0)
    return _make_band(u[use], v[use], patch.some(use), seen)


def line_bound(scene: CameraScene, index: int, model: PixelModel) -> LineMeasurement | None:
    """The true line of a cylinder with the least covariance of its direction and place, camera axes.

    Args:
        scene: the solids before the camera.
        index: of the cylinder.
        model: the pixel model.

    Returns:
        The bound over all pixels that depend on the free parts of both edges; None where an edge is not seen.
    """
    seen = edge_visibility(scene, index, clearance=0.0)
    band = whole_band(scene.camera, seen, model.reach)
    if band is None or len(band.sides) < 2:
        return None
    covariance = normals_bound(band, seen.lines.normals, model)
    if covariance is None:
        return None
    edges = [
        EdgeMeasurement(0.0, 0.0, index, k, n, covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3])
        for k, n in enumerate(seen.lines.normals)
    ]
    return line_from_edges(edges[0], edges[1], scene.rods[index].radius, covariance[:3, 3:])
