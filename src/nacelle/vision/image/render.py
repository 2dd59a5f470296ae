"""Rendered images: solids over a background by the pixel model.

With seen_k the part of a pixel in which solid k is seen (`seen_parts`) and v_k its grey level,

    I = background + sum_k (v_k - background) seen_k

Motion during an exposure averages images over its instants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.spatial.scalar import Array
from nacelle.vision.image.compose import meets, seen_parts
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import CameraScene, SeenSolid

# Whole images are rendered in tiles of this size, px: only solids that meet a tile are looked at.
_TILE = 64


def render(
    scene: CameraScene | Sequence[CameraScene],
    model: PixelModel,
    *,
    corner: tuple[int, int] = (0, 0),
    size: tuple[int, int] | None = None,
    rng: np.random.Generator | None = None,
) -> Array:
    """Image (height, width) of a scene, grey levels.

    Args:
        scene: what is before the camera; several scenes are instants of one exposure, equally long.
        model: blur, grey levels, noise.
        corner: first pixel (u, v) of the region.
        size: its width and height, px; to the end of the image if None.
        rng: makes the noise; without noise if None.
    """
    scenes = [scene] if isinstance(scene, CameraScene) else list(scene)
    if not scenes:
        raise KinematicsError("an image needs at least one scene")
    whole = scenes[0].camera.size
    width, height = size or (whole[0] - corner[0], whole[1] - corner[1])
    image = np.empty((height, width))
    for v in range(0, height, _TILE):
        for u in range(0, width, _TILE):
            tile = (min(_TILE, width - u), min(_TILE, height - v))
            start = (corner[0] + u, corner[1] + v)
            parts = [_tile(one, model, start, tile) for one in scenes]
            image[v : v + tile[1], u : u + tile[0]] = np.mean(parts, axis=0) if len(parts) > 1 else parts[0]
    return image if rng is None else model.noisy(image, rng)


def render_pixels(scene: CameraScene | Sequence[CameraScene], model: PixelModel, patch: Patch) -> Array:
    """Mean values (...) of any pixels of a patch, grey levels; several scenes are instants of an exposure."""
    scenes = [scene] if isinstance(scene, CameraScene) else list(scene)
    return np.asarray(np.mean([_composed(one.solids, model, patch) for one in scenes], axis=0))


def _tile(scene: CameraScene, model: PixelModel, corner: tuple[int, int], size: tuple[int, int]) -> Array:
    camera = scene.camera
    margin = model.reach + 1.0
    u, v = corner[0] - margin, corner[1] - margin
    far_u, far_v = corner[0] + size[0] - 1 + margin, corner[1] + size[1] - 1 + margin
    frame = np.array([(u, v), (far_u, v), (u, far_v), (far_u, far_v), (0.5 * (u + far_u), 0.5 * (v + far_v))])
    rays = camera.ray(frame)
    solids: Sequence[SeenSolid] = scene.solids
    if np.all(np.isfinite(rays)):
        # The cone around the middle that holds the corners; a lens may bend the sides outwards a little.
        angle = float(np.arccos(min(float(np.min(rays @ rays[-1])), 1.0))) * 1.05 + 1e-3
        solids = [seen for seen in solids if meets(seen.solid, rays[-1], angle)]
    if not solids:
        return np.full((size[1], size[0]), model.background)
    return _composed(solids, model, Patch.region(camera, corner, size))


def _composed(solids: Sequence[SeenSolid], model: PixelModel, patch: Patch) -> Array:
    image = np.full(patch.x.shape, model.background)
    for k, (_, seen) in seen_parts([seen.solid for seen in solids], patch, model.blur).items():
        level = model.leg if solids[k].leg >= 0 else model.other
        image += (level - model.background) * seen
    return image
