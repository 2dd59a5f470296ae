"""Edges that may be several pixels from their prediction: sub-pixel points on scan lines, then a plane.

Across each predicted edge, at samples of its free part, the image is read along a scan line (bilinear). The
edge on it is where the profile rises most: the maximum of its correlation with the derivative of a Gaussian
of the blurred edge's width, of the sign that a bright (or dark) cylinder has, sharpened by a parabola through
three values. The plane through the camera's centre and the points has the normal n of least sum (n . d_i)^2
over the rays d_i; points farther from it than three median distances are left out, twice.
"""

from __future__ import annotations

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.visibility import EdgeVisibility

# Steps of a scan line, px.
_STEP = 0.5
_ROUNDS = 2
# Points that a plane needs, and how many times the noise the rise of a profile is.
_LEAST = 4
_CLEAR = 4.0


class Picture:
    """An image with its place in that of the camera.

    Attributes:
        values: grey levels (height, width).
        corner: pixel (u, v) of the camera at the first pixel.
    """

    def __init__(self, values: Array, corner: tuple[int, int] = (0, 0)) -> None:
        self.values, self.corner = values, corner

    def at(self, pixels: Array) -> Array:
        """Values (...) between pixels (..., 2), bilinear; NaN outside."""
        u, v = pixels[..., 0] - self.corner[0], pixels[..., 1] - self.corner[1]
        height, width = self.values.shape
        with np.errstate(invalid="ignore"):
            inside = (u >= 0.0) & (v >= 0.0) & (u <= width - 1.0) & (v <= height - 1.0)
        u, v = np.where(inside, u, 0.0), np.where(inside, v, 0.0)
        i = np.minimum(v.astype(int), max(height - 2, 0))
        j = np.minimum(u.astype(int), max(width - 2, 0))
        below, right = np.minimum(i + 1, height - 1), np.minimum(j + 1, width - 1)
        a, b, image = v - i, u - j, self.values
        upper = (1.0 - b) * image[i, j] + b * image[i, right]
        lower = (1.0 - b) * image[below, j] + b * image[below, right]
        return np.where(inside, (1.0 - a) * upper + a * lower, np.nan)


def searched_normals(
    picture: Picture, camera: Camera, seen: EdgeVisibility, search: float, model: PixelModel
) -> Array | None:
    """Normals (2, 3) of both edges, looked for within a distance of the predicted ones.

    Args:
        picture: the image.
        camera: the camera.
        seen: where the edges are expected, and free.
        search: how far they may be from there, px.
        model: whether the legs are brighter than the background, blur and noise.

    Returns:
        The normals, as predicted for an edge that is not free; None where an edge shows no step.
    """
    normals = seen.lines.normals.copy()
    kept = seen.kept(model.reach + search)
    for side in (0, 1):
        if np.count_nonzero(kept[side]) < _LEAST:
            continue
        points = image_edge(picture, camera, seen, side, search, model)[kept[side]]
        points = points[np.all(np.isfinite(points), axis=1)]
        if len(points) < _LEAST:
            return None
        n = plane_through(camera.ray(points))
        normals[side] = n if n @ normals[side] > 0.0 else -n
    return normals


def image_edge(
    picture: Picture,
    camera: Camera,
    seen: EdgeVisibility,
    side: int,
    search: float,
    model: PixelModel,
) -> Array:
    """Points (samples, 2) of an edge in the image, px, one at each sample of it; NaN where none is clear."""
    p = seen.pixels[side]
    sign = 1.0 if side == 0 else -1.0
    edge = Patch.of(camera, p[:, 0], p[:, 1]).from_plane(sign * seen.lines.normals[side])
    inwards = np.stack([edge.a, edge.b], axis=-1)
    width = model.width
    half = int(np.ceil(3.0 * width / _STEP))
    count = int(np.ceil(search / _STEP)) + half
    offsets = _STEP * np.arange(-count, count + 1)
    profile = picture.at(p[:, None] + offsets[:, None] * inwards[:, None])
    z = _STEP * np.arange(-half, half + 1) / width
    kernel = z * np.exp(-0.5 * z * z)
    windows = np.lib.stride_tricks.sliding_window_view(profile, 2 * half + 1, axis=1)
    brighter = 1.0 if model.leg >= model.background else -1.0
    rise = brighter * (windows @ kernel)
    best = np.argmax(np.nan_to_num(rise, nan=-np.inf), axis=1)
    inner = np.clip(best, 1, rise.shape[1] - 2)
    low, mid, high = (np.take_along_axis(rise, (inner + k)[:, None], axis=1)[:, 0] for k in (-1, 0, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = 0.5 * (low - high) / (low - 2.0 * mid + high)
        noise = np.sqrt(model.variance(np.asarray(max(model.leg, model.background))) * np.sum(kernel**2))
        clear = (mid > _CLEAR * noise) & (np.abs(shift) <= 1.0) & (inner == best)
    place = _STEP * (inner + shift) - _STEP * (count - half)
    return np.where(clear[:, None], p + place[:, None] * inwards, np.nan)


def plane_through(rays: Array) -> Array:
    """Unit normal (3,) of the plane through the camera's centre that is nearest to rays (k, 3)."""
    kept = np.ones(len(rays), dtype=bool)
    n = np.linalg.svd(rays)[2][2]
    for _ in range(_ROUNDS):
        distance = np.abs(rays @ n)
        kept = distance <= 3.0 * np.median(distance[kept]) + 1e-12
        if np.count_nonzero(kept) < _LEAST:
            break
        n = np.linalg.svd(rays[kept])[2][2]
    return np.asarray(n)
