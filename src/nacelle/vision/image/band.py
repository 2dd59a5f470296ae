"""The pixels around the two edges of a cylinder, without looking at the rest of the image.

An edge is a curve that is nearly straight: for each row of pixels that it crosses (each column, where it is
nearer to the horizontal), the pixels within a distance of it. Those of both edges are taken once. A pixel is
kept if both edges are free wherever it is near to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.image.patch import Patch
from nacelle.vision.visibility import EdgeVisibility


@dataclass(frozen=True, eq=False)
class Band:
    """Pixels around the edges of a cylinder.

    Attributes:
        u: columns (k,), whole numbers.
        v: rows (k,).
        patch: their rays.
        sides: the sides, of 0 and 1, that have pixels.
        middles: for each of these sides a ray (3,) in the middle of its free part, camera axes.
    """

    u: Array
    v: Array
    patch: Patch
    sides: tuple[int, ...]
    middles: Array

    def values(self, image: Array, corner: tuple[int, int] = (0, 0)) -> Array:
        """Values (k,) of the pixels in an image whose first pixel is at a corner (u, v); NaN outside it."""
        u, v = self.u - corner[0], self.v - corner[1]
        inside = (u >= 0) & (v >= 0) & (u < image.shape[1]) & (v < image.shape[0])
        return np.where(inside, image[np.where(inside, v, 0), np.where(inside, u, 0)], np.nan)


def band_around(camera: Camera, seen: EdgeVisibility, reach: float, clearance: float) -> Band | None:
    """Pixels within a distance of the free edges; None where nothing is free.

    Args:
        camera: the camera.
        seen: what is free.
        reach: distance from the edges, px.
        clearance: how far along the edges to stay away from where they are not free, px.
    """
    kept = seen.kept(clearance)
    sides = tuple(side for side in (0, 1) if np.count_nonzero(kept[side]) > 1)
    if not sides:
        return None
    keys = np.unique(
        np.concatenate([_beside(seen.pixels[side], kept[side], reach, camera) for side in sides])
    )
    u, v = keys % camera.size[0], keys // camera.size[0]
    patch = Patch.of(camera, u.astype(float), v.astype(float))
    use, some = np.ones(len(u), dtype=bool), np.zeros(len(u), dtype=bool)
    for side in (0, 1):
        near = np.abs(patch.from_plane(seen.lines.normals[side]).s) < reach
        t = seen.lines.place(side, patch) * (len(seen.t) - 1)
        low = np.clip(np.nan_to_num(np.floor(t)), 0, len(seen.t) - 2).astype(int)
        # A pixel lies between two samples: both must be free.
        free = kept[side, low] & kept[side, low + 1] & (t >= 0.0) & (t <= len(seen.t) - 1)
        use &= free | ~near
        some |= near & free
    use &= some
    if not np.any(use):
        return None
    middles = []
    for side in sides:
        pixels = seen.pixels[side, kept[side]]
        middles.append(camera.ray(pixels[len(pixels) // 2]))
    return Band(u[use], v[use], patch.some(use), sides, np.array(middles))


def _beside(pixels: Array, kept: Array, reach: float, camera: Camera) -> Array:
    """Places v width + u in the image of the pixels beside a curve through points (k, 2)."""
    places = []
    ends = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(int)))
    for first, last in ends.reshape(-1, 2):
        run = pixels[first:last]
        if len(run) < 2:
            continue
        span = np.abs(run[-1] - run[0])
        major = int(np.argmax(span))
        run = run[np.argsort(run[:, major])]
        rows = np.arange(int(np.ceil(run[0, major])), int(np.floor(run[-1, major])) + 1)
        across = np.interp(rows, run[:, major], run[:, 1 - major])
        half = reach * float(np.hypot(*span)) / float(span[major]) + 1.0
        offsets = np.arange(-int(np.ceil(half)), int(np.ceil(half)) + 1)
        minor = np.rint(across).astype(int)[:, None] + offsets
        rows = np.broadcast_to(rows[:, None], minor.shape)
        u, v = (rows, minor) if major == 0 else (minor, rows)
        inside = (u >= 0) & (v >= 0) & (u < camera.size[0]) & (v < camera.size[1])
        places.append((v * camera.size[0] + u)[inside])
    return np.concatenate(places) if places else np.zeros(0, dtype=int)
