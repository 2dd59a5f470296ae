"""Which solid is seen in which part of a pixel: the nearer ones before the others.

Solid k covers c_k of a pixel (`coverage`) at the depth at which the pixel's ray enters it, and two solids
both cover c_kj (`overlap`). Of solid k is seen

    seen_k = c_k prod_{j nearer} (1 - c_kj / c_k)

and of the background 1 - sum_k seen_k: the integral over the pixel wherever one outline, or straight parts of
two, pass through its neighbourhood.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.shapes.solid import Ball, Rod, Solid
from nacelle.spatial.scalar import Array
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.silhouette import Cover, coverage, overlap
from nacelle.vision.ray_casting import passing, vertices


def seen_parts(solids: Sequence[Solid], patch: Patch, blur: float) -> dict[int, tuple[Array, Array]]:
    """For each solid that is before some pixels, by its index: what it covers and what is seen of it (...).

    Args:
        solids: in camera axes.
        patch: the pixels.
        blur: standard deviation of the point spread, px.
    """
    covers: dict[int, Cover] = {}
    for k, solid in enumerate(solids):
        cover = coverage(solid, patch, blur)
        if np.any(cover.part > 0.0):
            covers[k] = cover._replace(part=np.nan_to_num(cover.part))
    depths = {k: passing(solids[k], patch.rays) for k in covers} if len(covers) > 1 else {}
    width = PixelModel(blur=blur).width
    result = {}
    for k, cover in covers.items():
        seen = cover.part
        for j, other in covers.items():
            if j != k and np.any((other.part > 0.0) & (cover.part > 0.0)):
                # Of two at the same depth the first one counts as nearer.
                nearer = depths[j] < depths[k] if j > k else depths[j] <= depths[k]
                hidden = overlap(cover, other, width) / np.maximum(cover.part, 1e-300)
                seen = seen * (1.0 - np.where(nearer, hidden, 0.0))
        result[k] = (cover.part, seen)
    return result


def meets(solid: Solid, axis: Array, angle: float) -> bool:
    """Whether a solid may meet a cone of rays around a unit axis (3,), half its opening an angle, rad."""
    if isinstance(solid, Rod):
        ends, radius = np.stack([solid.start, solid.stop]), solid.radius
    elif isinstance(solid, Ball):
        ends, radius = np.stack([solid.centre, solid.centre]), solid.radius
    else:
        corners = vertices(solid)
        middle = corners.mean(axis=0)
        ends, radius = np.stack([middle, middle]), float(np.max(np.linalg.norm(corners - middle, axis=1)))
    # Distance of the segment's points from the cone's surface, at samples; between them it changes by at
    # most half their spacing.
    points = np.linspace(ends[0], ends[1], 33)
    spacing = float(np.linalg.norm(ends[1] - ends[0])) / 64.0
    along = points @ axis
    across = np.sqrt(np.maximum(np.einsum("ki,ki->k", points, points) - along * along, 0.0))
    outside = across * np.cos(angle) - along * np.sin(angle)
    return bool(np.any(outside <= radius + spacing))
