"""Rendered images: solids over a background by the pixel model, the nearer ones before the others.

Solid k covers c_k of a pixel (`coverage`) at the depth at which the pixel's ray enters it, and two solids
both cover c_kj (`overlap`). From the nearest to the farthest, with grey levels v_k,

    seen_k = c_k prod_{j nearer} (1 - c_kj / c_k),     I = sum_k v_k seen_k + background (1 - sum_k seen_k)

which is the integral over the pixel wherever one outline, or straight parts of two, pass through its
neighbourhood. Motion during an exposure averages images over its instants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.shapes.solid import Ball, Rod, Solid
from nacelle.spatial.scalar import Array
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.silhouette import coverage, overlap
from nacelle.vision.ray_casting import span, vertices
from nacelle.vision.scene import Scene, SeenSolid

# Whole images are rendered in tiles of this size, px: only solids that meet a tile are looked at.
_TILE = 64


def render(
    scene: Scene | Sequence[Scene],
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
    scenes = [scene] if isinstance(scene, Scene) else list(scene)
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


def render_pixels(scene: Scene, model: PixelModel, patch: Patch) -> Array:
    """Mean values (...) of any pixels of a patch, grey levels."""
    return _composed(scene.solids, model, patch)


def _tile(scene: Scene, model: PixelModel, corner: tuple[int, int], size: tuple[int, int]) -> Array:
    camera = scene.camera
    margin = model.reach + 1.0
    u, v = corner[0] - margin, corner[1] - margin
    far_u, far_v = corner[0] + size[0] - 1 + margin, corner[1] + size[1] - 1 + margin
    # The middle of the tile and a circle around it, as a cone of rays.
    frame = np.array([(u, v), (far_u, v), (u, far_v), (far_u, far_v), (0.5 * (u + far_u), 0.5 * (v + far_v))])
    rays = camera.ray(frame)
    solids = scene.solids
    if np.all(np.isfinite(rays)):
        axis = rays[-1]
        cosine = float(np.min(rays @ axis))
        # A lens that bends the tile's sides outwards is allowed for by half a degree.
        angle = float(np.arccos(min(cosine, 1.0))) * 1.05 + 1e-3
        solids = tuple(seen for seen in solids if _meets(seen.solid, axis, angle))
    if not solids:
        return np.full((size[1], size[0]), model.background)
    return _composed(solids, model, Patch.region(camera, corner, size))


def _composed(solids: Sequence[SeenSolid], model: PixelModel, patch: Patch) -> Array:
    layers = [(coverage(seen.solid, patch, model.blur), seen) for seen in solids]
    layers = [(cover, seen) for cover, seen in layers if np.any(cover.part > 0.0)]
    image = np.full(patch.x.shape, model.background)
    levels = [(model.leg if seen.leg >= 0 else model.other) - model.background for _, seen in layers]
    depths = [_depth(seen.solid, patch.rays) for _, seen in layers] if len(layers) > 1 else []
    for k, (cover, _) in enumerate(layers):
        seen_part = np.nan_to_num(cover.part)
        for j, (other, _) in enumerate(layers):
            if j != k and np.any((other.part > 0.0) & (cover.part > 0.0)):
                # Of two at the same depth the first one counts as nearer.
                nearer = depths[j] < depths[k] if j > k else depths[j] <= depths[k]
                hidden = overlap(cover, other, model.width) / np.maximum(cover.part, 1e-300)
                seen_part = seen_part * (1.0 - np.where(nearer, hidden, 0.0))
        image += levels[k] * seen_part
    return image


def _depth(solid: Solid, rays: Array) -> Array:
    """Depth at which pixels count a solid: where they enter it, or would at its outline."""
    first, last = span(solid, rays)
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (first + last)
        depth = np.where(first <= last, first, middle)
    return np.nan_to_num(depth, nan=_middle(solid)[2], posinf=1e30, neginf=0.0)


def _middle(solid: Solid) -> Array:
    if isinstance(solid, Rod):
        return np.asarray(0.5 * (solid.start + solid.stop))
    return solid.centre if isinstance(solid, Ball) else np.asarray(vertices(solid).mean(axis=0))


def _meets(solid: Solid, axis: Array, angle: float) -> bool:
    """Whether a solid may meet a cone of rays around a unit axis (half its opening, rad)."""
    if isinstance(solid, Rod):
        ends, radius = np.stack([solid.start, solid.stop]), solid.radius
    elif isinstance(solid, Ball):
        ends, radius = np.stack([solid.centre, solid.centre]), solid.radius
    else:
        corners = vertices(solid)
        middle = corners.mean(axis=0)
        ends, radius = np.stack([middle, middle]), float(np.max(np.linalg.norm(corners - middle, axis=1)))
    # Distance of the segment's points from the cone's surface, at samples; between them it changes by at
    # most the spacing.
    points = np.linspace(ends[0], ends[1], 33)
    spacing = float(np.linalg.norm(ends[1] - ends[0])) / 64.0
    along = points @ axis
    across = np.linalg.norm(points - along[:, None] * axis, axis=1)
    outside = across * np.cos(angle) - along * np.sin(angle)
    return bool(np.any(outside <= radius + spacing))
