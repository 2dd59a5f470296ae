"""Contour error: how far a point is from a path, wherever on it the desired point is.

The path is a polygon fine enough to be taken for the curve; the distance of a point is that from the two
segments at its nearest corner. A controller that only lags has a tracking error and no contour error.
"""

from __future__ import annotations

import numpy as np

from nacelle.spatial.scalar import Array


def contour_error(path: Array, points: Array) -> Array:
    """Distances (N,) of points (N, d) from a polygon with corners (M, d), in their unit."""
    from scipy.spatial import cKDTree

    corners = path[np.concatenate([[True], np.any(np.diff(path, axis=0) != 0.0, axis=1)])]
    finite = np.isfinite(points).all(axis=1)
    result = np.full(len(points), np.nan)
    nearest, place = cKDTree(corners).query(points[finite])
    best = np.asarray(nearest, dtype=float)
    for ahead in (-1, 1):
        other = np.clip(place + ahead, 0, len(corners) - 1)
        start, way = corners[place], corners[other] - corners[place]
        length = np.maximum(np.einsum("ni,ni->n", way, way), np.finfo(float).tiny)
        part = np.clip(np.einsum("ni,ni->n", points[finite] - start, way) / length, 0.0, 1.0)
        off = np.linalg.norm(points[finite] - start - part[:, None] * way, axis=1)
        best = np.minimum(best, off)
    result[finite] = best
    return result
