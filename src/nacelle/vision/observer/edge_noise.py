"""How well the normal of an edge is measured: the covariance of a line through the pixels of an edge.

An edge of N pixels length, each with an error of s px across it, is a line fitted to N points. With the rays
d_i = (a_x, a_y, 1) of its points, e_i = n . d_i is s |g| of them, g = (n_x / f_x, n_y / f_y), and the normal
that fits best has

    C = s^2 g^2 E (sum of (E^T d_i)(E^T d_i)^T)^-1 E^T,     E = [u, m] across n (`sight`)

which is the Cramer-Rao bound of N independent points. Only the part of an edge within the image counts.
"""

from __future__ import annotations

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder

# Points of an edge that stand for all its pixels.
_POINTS = 17
# An edge shorter than this, px, gives no line.
_SHORTEST = 8.0


def edge_points(cylinder: Cylinder, E: Array, along: float, tangent: float) -> Array:
    """Points (k, 3) of an edge, evenly spaced: (a + s) u + q m, E = [u, m] (3, 2), camera axes, m."""
    span = along + np.linspace(0.0, cylinder.length, _POINTS)
    return np.asarray(span[:, None] * E[:, 0] + tangent * E[:, 1])


def edge_covariance(camera: Camera, n: Array, E: Array, points: Array, sigma: float) -> Array | None:
    """Covariance (2, 2) of a normal across itself, from an error of sigma px at each pixel of its edge.

    Args:
        camera: the camera.
        n: normal (3,), camera axes.
        E: two unit vectors across it (3, 2).
        points: of the edge (k, 3), evenly spaced, camera axes, m.
        sigma: px.

    Returns:
        None where too little of the edge is in the image.
    """
    pixels = camera.pixels(points)
    inside = camera.holds(pixels)
    pixels, points = pixels[inside], points[inside]
    if len(pixels) < 3:
        return None
    length = float(np.linalg.norm(pixels[-1] - pixels[0]))
    if length < _SHORTEST:
        return None
    rays = points / points[:, 2:]
    g = float(np.hypot(*(n[:2] / camera.focal)))
    lever = rays @ E
    # Each point stands for as many pixels as there are to its neighbours.
    information = (length / len(rays)) * lever.T @ lever / (sigma * g) ** 2
    return np.asarray(np.linalg.inv(information))
