"""The pixels around the two edges of a cylinder, without looking at the rest of the image.

An edge is a curve that is nearly straight: for each row of pixels that it crosses (each column, where it is
nearer to the horizontal), the pixels within a distance of it. Those of both edges are taken once. Left out
are pixels near the ends of the cylinder, and those in which other solids are seen, or hide it, by more than a
trace (`seen_parts`, with a blur that allows for the uncertainty of the prediction).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.image.compose import meets, seen_parts
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import CameraScene
from nacelle.vision.visibility import EdgeVisibility

# Another solid that fills less than this of a pixel is not noticed beside the noise, and where a blurred edge
# fills less than that, in standard deviations.
_TRACE = 3e-3
_TAIL = 2.75
# An edge needs this many pixels near to it.
_LEAST = 20


@dataclass(frozen=True, eq=False)
class Band:
    """Pixels around the edges of a cylinder.

    Attributes:
        u: columns (k,), whole numbers.
        v: rows (k,).
        patch: their rays.
        sides: the sides, of 0 and 1, that have pixels.
        middles: for each of these sides a ray (3,) in the middle of its pixels, camera axes.
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


def band_around(
    scene: CameraScene,
    index: int,
    seen: EdgeVisibility,
    model: PixelModel,
    *,
    wide: float = 0.0,
    slack: float = 0.0,
) -> Band | None:
    """Pixels that depend on the edges of cylinder `index` and on nothing else; None where there are none.

    Args:
        scene: the solids before the camera, as predicted.
        index: of the cylinder.
        seen: where its edges are.
        model: the pixel model.
        wide: how far beyond the reach of a blurred edge to read, px.
        slack: uncertainty of the prediction, px.
    """
    reach = model.reach + wide + slack
    u, v, patch = _candidates(scene.camera, seen, seen.inside, reach)
    near = [np.abs(patch.from_plane(normal).s) < reach for normal in seen.lines.normals]
    use = near[0] | near[1]
    for side in (0, 1):
        use &= ~near[side] | _between(seen, side, patch, _TAIL * float(np.hypot(model.width, slack)))
    u, v, patch = u[use], v[use], patch.some(use)
    if not len(u):
        return None
    clear = ~_disturbed(scene, index, patch, float(np.hypot(model.blur, slack)))
    band = _band(u[clear], v[clear], patch.some(clear), seen)
    if band is None or len(band.sides) == 2:
        return band
    # Pixels that depend on the other edge as well cannot be explained by one.
    other = np.abs(band.patch.from_plane(seen.lines.normals[1 - band.sides[0]]).s) >= model.reach + slack
    return _band(band.u[other], band.v[other], band.patch.some(other), seen)


def _candidates(
    camera: Camera, seen: EdgeVisibility, kept: Array, reach: float
) -> tuple[Array, Array, Patch]:
    """Pixels beside the parts of both edges that are kept (2, samples)."""
    keys = np.unique(
        np.concatenate([_beside(seen.pixels[side], kept[side], reach, camera) for side in (0, 1)])
    )
    u, v = keys % camera.size[0], keys // camera.size[0]
    return u, v, Patch.of(camera, u.astype(float), v.astype(float))


def _band(u: Array, v: Array, patch: Patch, seen: EdgeVisibility) -> Band | None:
    """A band with the sides that have pixels; None if there are none."""
    sides, middles = [], []
    for side in (0, 1):
        close = np.flatnonzero(np.abs(patch.from_plane(seen.lines.normals[side]).s) < 1.0)
        if len(close) >= _LEAST:
            sides.append(side)
            middles.append(np.mean(patch.rays[close], axis=0))
    return Band(u, v, patch, tuple(sides), np.array(middles)) if sides else None


def _between(seen: EdgeVisibility, side: int, patch: Patch, margin: float) -> Array:
    """Whether pixels are beside an edge, a margin (px) away from its ends."""
    t = seen.lines.place(side, patch)
    ends = []
    for first, second in ((0, 1), (-1, -2)):
        step = float(np.linalg.norm(seen.pixels[side, second] - seen.pixels[side, first]))
        # What is behind the camera ends nowhere in the image.
        ends.append(margin / step * abs(seen.t[1] - seen.t[0]) if np.isfinite(step) and step > 0.0 else 0.0)
    return np.asarray((t >= ends[0]) & (t <= 1.0 - ends[1]))


def _disturbed(scene: CameraScene, index: int, patch: Patch, blur: float) -> Array:
    """Whether other solids are seen in pixels, or hide the cylinder there."""
    own = next(k for k, seen in enumerate(scene.solids) if seen.cylinder == index)
    rays = patch.rays / np.linalg.norm(patch.rays, axis=-1, keepdims=True)
    axis = np.mean(rays, axis=0)
    axis = axis / np.linalg.norm(axis)
    angle = float(np.arccos(min(float(np.min(rays @ axis)), 1.0))) * 1.01 + 8.0 * blur * float(
        np.max(patch.M)
    )
    near = [k for k, seen in enumerate(scene.solids) if k == own or meets(seen.solid, axis, angle)]
    parts = seen_parts([scene.solids[k].solid for k in near], patch, blur)
    place = near.index(own)
    others = sum((seen for k, (_, seen) in parts.items() if k != place), np.zeros(patch.x.shape))
    covered, seen = parts.get(place, (0.0, 0.0))
    return np.asarray((others > _TRACE) | (covered - seen > _TRACE))


def _beside(pixels: Array, kept: Array, reach: float, camera: Camera) -> Array:
    """Places v width + u in the image of the pixels beside a curve through points (k, 2)."""
    places = []
    ends = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(int)))
    for first, last in ends.reshape(-1, 2):
        run = pixels[first:last]
        span = np.abs(run[-1] - run[0])
        major = int(np.argmax(span))
        if len(run) < 2 or not span[major] > 0.0:
            continue
        # Pixels beside its ends belong to it, too: it is lengthened.
        way = reach * (run[-1] - run[0]) / np.linalg.norm(run[-1] - run[0])
        run = np.concatenate([run[:1] - way, run, run[-1:] + way])
        run = run[np.argsort(run[:, major])]
        rows = np.arange(int(np.ceil(run[0, major])), int(np.floor(run[-1, major])) + 1)
        across = np.interp(rows, run[:, major], run[:, 1 - major])
        half = int(np.ceil(reach * float(np.hypot(*span)) / float(span[major]) + 1.0))
        minor = np.rint(across).astype(int)[:, None] + np.arange(-half, half + 1)
        rows = np.broadcast_to(rows[:, None], minor.shape)
        u, v = (rows, minor) if major == 0 else (minor, rows)
        inside = (u >= 0) & (v >= 0) & (u < camera.size[0]) & (v < camera.size[1])
        places.append((v * camera.size[0] + u)[inside])
    return np.concatenate(places) if places else np.zeros(0, dtype=int)
