"""What an edge says of a camera: rows of residuals without units, and how they change.

The model has the normal n of the edge's plane and the frame (n, u, m) in camera axes (`observer.sight`). A
normal that was measured by a lens that is known leaves, whitened by its covariance C,

    r = W E^T n_measured,     E = [u, m],     W^T W = (E^T C E)^-1,     dr = -W (u . dn, m . dn)

Points of the edge in the image, (u, v) px, have the rays d = (a_x, a_y, 1), on which the lens has a say:

    r_i = n . d_i / s_i,   s_i = s |n . dd/d(u, v)|,   dr_i = (d_i . u, d_i . m) (u . dn, m . dn) / s_i + ...

and with the pixel as a function of ray and lens, P(a, k) = pixel, da = -(dP/da)^-1 dP/dk dk for the lens k =
(f_x, f_y, c_x, c_y, k1, k2, p1, p2, k3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.measurement import EdgeMeasurement

LENS = ("focal x", "focal y", "centre x", "centre y", "k1", "k2", "p1", "p2", "k3")
"""Names of the numbers of a lens: px, and Brown's coefficients."""


@dataclass(frozen=True, eq=False)
class EdgePoints:
    """Points of one edge of a cylinder in an image.

    Attributes:
        cylinder: index in `visible_cylinders(robot)`.
        side: 0 or 1.
        pixels: (k, 2).
        sigma: error of each across the edge, px.
    """

    cylinder: int
    side: int
    pixels: Array
    sigma: float


Observation: TypeAlias = EdgeMeasurement | EdgePoints


@dataclass(frozen=True, eq=False)
class Sighting:
    """What was seen at one pose of the robot: the pose x (nx,), from encoders, and edges."""

    x: Array
    edges: tuple[Observation, ...]


class EdgeRows(NamedTuple):
    """Rows of one observation, without units.

    Attributes:
        r: residuals (k,).
        by_normal: their derivatives (k, 2) by (u . dn, m . dn) of the model.
        by_lens: by the nine numbers of the lens (k, 9).
    """

    r: Array
    by_normal: Array
    by_lens: Array


def lens_of(camera: Camera) -> Array:
    """The numbers of a lens (9,), named in `LENS`."""
    return np.array([*camera.focal, *camera.centre, *camera.distortion])


def with_lens(camera: Camera, lens: Array) -> Camera:
    """The camera with other numbers of its lens (9,)."""
    fx, fy, cx, cy, k1, k2, p1, p2, k3 = (float(value) for value in lens)
    return replace(camera, focal=(fx, fy), centre=(cx, cy), distortion=(k1, k2, p1, p2, k3))


def edge_rows(camera: Camera, edge: Observation, frame: Array) -> EdgeRows:
    """Rows of one observation where the model has the frame (3, 3) with rows n, u, m, camera axes."""
    n, E = frame[0], frame[1:].T
    if isinstance(edge, EdgeMeasurement):
        W = np.linalg.inv(np.linalg.cholesky(E.T @ edge.covariance @ E))
        return EdgeRows(W @ (E.T @ edge.normal), -W, np.zeros((2, len(LENS))))
    rays = camera.ray(edge.pixels)
    rays = rays / rays[:, 2:]
    bent = np.linalg.inv(camera.pixel_jacobian(rays)[:, :, :2])
    across = np.einsum("j,kji->ki", n[:2], bent)
    s = edge.sigma * np.linalg.norm(across, axis=1)
    by_lens = -np.einsum("ki,kij->kj", across, _by_lens(camera, edge.pixels, rays[:, :2]))
    return EdgeRows(rays @ n / s, rays @ E / s[:, None], by_lens / s[:, None])


def _by_lens(camera: Camera, pixels: Array, a: Array) -> Array:
    """Derivatives (k, 2, 9) of the pixels of rays (a, 1) by the numbers of the lens."""
    x, y = a[:, 0], a[:, 1]
    s = x * x + y * y
    result = np.zeros((len(a), 2, len(LENS)))
    flat = (pixels - camera.centre) / camera.focal
    result[:, 0, 0], result[:, 1, 1] = flat[:, 0], flat[:, 1]
    result[:, 0, 2] = result[:, 1, 3] = 1.0
    bends = [(x * s, y * s), (x * s**2, y * s**2), (2 * x * y, s + 2 * y * y)]
    bends += [(s + 2 * x * x, 2 * x * y), (x * s**3, y * s**3)]
    for k, (first, second) in enumerate(bends):
        result[:, 0, 4 + k], result[:, 1, 4 + k] = camera.focal[0] * first, camera.focal[1] * second
    return result
