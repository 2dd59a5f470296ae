"""Sets of points: those that differ, the rim of those in one plane, the shortest way to join others."""

from __future__ import annotations

import itertools

import numpy as np

from nacelle.spatial.scalar import Array


def distinct_points(points: list[Array], distance: float) -> list[Array]:
    """Points that are not the same, in their order."""
    distinct: list[Array] = []
    for point in points:
        if all(float(np.linalg.norm(point - earlier)) > distance for earlier in distinct):
            distinct.append(point)
    return distinct


def planar_rim(points: list[Array], distance: float) -> list[tuple[int, int]]:
    """Edges around points that lie in one plane within a distance; none if they do not."""
    if len(points) < 2:
        return []
    if len(points) == 2:
        return [(0, 1)]
    cloud = np.array(points)
    centred = cloud - cloud.mean(axis=0)
    axes = np.linalg.svd(centred)[2]
    if np.max(np.abs(centred @ axes[2])) > distance:
        return []
    ring = convex_hull(centred @ axes[:2].T)
    if len(ring) < 3:  # all on one line
        ring = [int(k) for k in np.argsort(centred @ axes[0])]
        return list(itertools.pairwise(ring))
    return list(zip(ring, [*ring[1:], ring[0]], strict=True))


def spanning_edges(points: list[Array]) -> list[tuple[int, int]]:
    """The edges that join all points by the shortest way in all (Prim's algorithm)."""
    joined, edges = [0] if points else [], []
    while len(joined) < len(points):
        i, k = min(
            ((i, k) for i in joined for k in range(len(points)) if k not in joined),
            key=lambda edge: float(np.linalg.norm(points[edge[0]] - points[edge[1]])),
        )
        joined.append(k)
        edges.append((i, k))
    return edges


def convex_hull(points: Array) -> list[int]:
    """Corners of the convex hull of points (N, 2), counterclockwise, by Andrew's monotone chain."""
    order = [int(k) for k in np.lexsort((points[:, 1], points[:, 0]))]
    flat = 1e-12 * float(np.max(np.ptp(points, axis=0))) ** 2

    def chain(indices: list[int]) -> list[int]:
        corners: list[int] = []
        for k in indices:
            while len(corners) > 1:
                (ax, ay), (bx, by) = (
                    points[corners[-1]] - points[corners[-2]],
                    points[k] - points[corners[-2]],
                )
                if ax * by - ay * bx > flat:
                    break
                corners.pop()
            corners.append(k)
        return corners

    return chain(order)[:-1] + chain(order[::-1])[:-1]
