"""A region of an image: its pixels, the rays through their centres, and distances from edges in pixels.

A pixel at p (2,) has the ray (x, y, 1) in camera axes, (x, y) the undistorted coordinates (`Camera`). A
smooth function g of the ray is zero on an edge; its gradient in the image is M^T dg/d(x, y), M = d(x, y)/dp,
so the signed distance of a pixel from the edge and the edge's unit normal in the image are, to first order,

    s = g / |M^T dg|,     (a, b) = M^T dg / |M^T dg|

Components are kept in arrays of their own, which NumPy runs through several times faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from nacelle.spatial.scalar import Array, Scalar
from nacelle.vision.camera import Camera


class Distance(NamedTuple):
    """Signed distances s (...) of pixels from an edge, px, its unit normal (a, b), and |gradient|, 1/px."""

    s: Array
    a: Array
    b: Array
    slope: Array

    def some(self, chosen: Array) -> Distance:
        """Those of the pixels (k,) that are chosen by a mask (...) or by indices."""
        return Distance(*(part[chosen] for part in self))


@dataclass(frozen=True, eq=False)
class Patch:
    """Some pixels of a camera.

    Attributes:
        x: undistorted coordinates (...), no units.
        y: the same.
        M: dx/du, dx/dv, dy/du, dy/dv (4, ...), 1/px.
    """

    x: Array
    y: Array
    M: Array

    @classmethod
    def region(cls, camera: Camera, corner: tuple[int, int], size: tuple[int, int]) -> Patch:
        """A rectangle of pixels (height, width), from its first pixel (u, v) and its size in u and v."""
        u = np.arange(corner[0], corner[0] + size[0], dtype=float)
        v = np.arange(corner[1], corner[1] + size[1], dtype=float)
        return cls.of(camera, *np.meshgrid(u, v))

    @classmethod
    def of(cls, camera: Camera, u: Array, v: Array) -> Patch:
        """Any pixels u (...), v (...) of a camera."""
        x, y = camera.undistorted(u, v)
        return cls(x, y, camera.undistorted_jacobian(x, y))

    @cached_property
    def rays(self) -> Array:
        """Rays (x, y, 1) (..., 3) in camera axes."""
        return np.stack([self.x, self.y, np.ones_like(self.x)], axis=-1)

    def some(self, chosen: Array) -> Patch:
        """The pixels (k,) that are chosen by a mask (...) or by indices."""
        return Patch(self.x[chosen], self.y[chosen], self.M[:, chosen])

    def from_plane(self, normal: Array) -> Distance:
        """Distances from the image of a plane through the camera's centre: g = n . ray."""
        a, b, c = (float(part) for part in normal)
        return self.from_level(a * self.x + (b * self.y + c), a, b)

    def from_quadric(self, Q: Array) -> Distance:
        """Distances from the curve d^T Q d = 0 of the rays d, positive where it is; Q symmetric (3, 3)."""
        x, y = self.x, self.y
        half = [Q[i, 0] * x + Q[i, 1] * y + Q[i, 2] for i in range(3)]
        return self.from_level(half[0] * x + half[1] * y + half[2], 2.0 * half[0], 2.0 * half[1])

    def from_level(self, value: Array, gx: Scalar, gy: Scalar) -> Distance:
        """Distances from the level 0 of a function, from its values (...) and gradients in x and y."""
        xu, xv, yu, yv = self.M
        gu, gv = xu * gx + yu * gy, xv * gx + yv * gy
        length = np.sqrt(gu * gu + gv * gv)
        scale = 1.0 / np.maximum(length, 1e-300)
        return Distance(value * scale, gu * scale, gv * scale, length)
