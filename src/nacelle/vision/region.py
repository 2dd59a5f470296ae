"""Regions of interest: which small part of the image to read for a cylinder.

Of all places along the cylinder the region is centred where the two edges together have the longest free
parts within it (`nacelle.vision.visibility`), and it lies within the image. A region is a camera of its own
with the same rays (`Camera.region`), so whatever measures in an image measures in it:

    corner = region_of_interest(predicted, index, size)
    look(true.region(corner, size), predicted.region(corner, size), index, model, rng)
"""

from __future__ import annotations

import numpy as np

from nacelle.vision.scene import CameraScene
from nacelle.vision.visibility import edge_visibility


def region_of_interest(
    predicted: CameraScene, index: int, size: tuple[int, int] = (64, 64), clearance: float = 6.0
) -> tuple[int, int] | None:
    """First pixel (u, v) of the region that sees most of the edges of a cylinder; None where none is free.

    Args:
        predicted: the scene at the predicted pose.
        index: of the cylinder.
        size: width and height of the region, px.
        clearance: width of the background that an edge needs beside it, px.
    """
    seen = edge_visibility(predicted, index, clearance)
    if not np.any(seen.free):
        return None
    whole = np.array(predicted.camera.size)
    middle = np.mean(seen.pixels, axis=0)
    middle = middle[np.all(np.isfinite(middle), axis=1) & np.any(seen.inside, axis=0)]
    corners = np.clip(np.rint(middle - 0.5 * np.array(size)), 0, np.maximum(whole - size, 0))
    # Lengths of the free pieces between samples, and whether their middles are in each region.
    both = seen.free[:, 1:] & seen.free[:, :-1]
    places = 0.5 * (seen.pixels[:, 1:] + seen.pixels[:, :-1])[both]
    lengths = seen.steps[both]
    offsets = places[None] - corners[:, None]
    inside = np.all((offsets >= clearance) & (offsets <= np.array(size) - 1.0 - clearance), axis=-1)
    seen_lengths = inside @ lengths
    if not len(seen_lengths) or not np.max(seen_lengths) > 0.0:
        return None
    # The middle one of equally good places.
    best = np.flatnonzero(seen_lengths > 0.98 * np.max(seen_lengths))
    u, v = corners[best[len(best) // 2]].astype(int)
    return int(u), int(v)
