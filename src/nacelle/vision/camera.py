"""A camera: where it is and how it maps, the pixels of a region, and when it sees what.

It is a pinhole camera with Brown's distortion, placed in the base of a robot.

Camera axes: z forward, x to the right and y down in the image. With R, p the pose of the camera in the base,
a point P of the base is seen at s = R^T (P - p) (3,), m, at the normalised coordinates a = (s_x, s_y) / s_z
and, with r^2 = a_x^2 + a_y^2, at the pixel

    d_x = a_x (1 + k1 r^2 + k2 r^4 + k3 r^6) + 2 p1 a_x a_y + p2 (r^2 + 2 a_x^2)
    d_y = a_y (1 + k1 r^2 + k2 r^4 + k3 r^6) + p1 (r^2 + 2 a_y^2) + 2 p2 a_x a_y
    u = f_x d_x + c_x,     v = f_y d_y + c_y

(Brown, Decentering distortion of lenses, Photogrammetric Engineering 32(3), 1966.) Pixels (u, v): u to the
right, v down, the centre of the first pixel at (0, 0), so pixel (i, j) covers i +- 1/2, j +- 1/2. The
inverse, from a pixel to its ray, has no closed form: Newton's method on the two equations.

A region of an image: its pixels, the rays through their centres, and distances from edges in pixels.

A pixel at p (2,) has the ray (x, y, 1) in camera axes, (x, y) the undistorted coordinates (`Camera`). A
smooth function g of the ray is zero on an edge; its gradient in the image is M^T dg/d(x, y), M = d(x, y)/dp,
so the signed distance of a pixel from the edge and the edge's unit normal in the image are, to first order,

    s = g / |M^T dg|,     (a, b) = M^T dg / |M^T dg|

Components are kept in arrays of their own, which NumPy runs through several times faster.

When a camera sees what: a global shutter, or regions of interest one after the other.

Exposure k begins at k / rate by the clock of the camera and lasts e; what it gives belongs to its middle.
With the offset o = (camera's clock) - (robot's clock) and the latency l from the end of the exposure to the
result:

    time_k = k / rate + e / 2  (camera's clock),     arrival_k = time_k - o + e / 2 + l  (robot's clock)

A global shutter sees all cylinders in each exposure. A sequential one reads a small region around one
cylinder in each: `rate` is then that of the regions, so a cylinder comes again after (number of cylinders) /
rate ([OAM], section 1: about 500 Hz).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.results import HasTable
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar

# Newton's method converges quadratically; it ends 1e-10 px from the solution or nearer.
_STEPS = 12
_DONE = 1e-13


class Region(NamedTuple):
    """A rectangle of pixels of an image: its first pixel (u, v), its width and its height, px."""

    u: int
    v: int
    width: int
    height: int


@dataclass(frozen=True, eq=False)
class Camera(HasTable):
    """A pinhole camera with distortion.

    Attributes:
        focal: focal lengths (f_x, f_y), px.
        centre: principal point (c_x, c_y), px.
        size: width and height of the image, px.
        pose: of the camera in the base, p_base = R p_camera + p; m.
        distortion: Brown's coefficients k1, k2, p1, p2, k3, no units.
    """

    focal: tuple[float, float]
    centre: tuple[float, float]
    size: tuple[int, int]
    pose: Pose
    distortion: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)

    @classmethod
    def look_at(
        cls,
        at: Any,
        position: Any,
        *,
        up: Any = (0.0, 0.0, 1.0),
        size: Sequence[int] = (1024, 1024),
        field: float = 0.7,
        distortion: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0),
    ) -> Camera:
        """A camera at a position that looks at a point, both in the base (3,), m.

        Args:
            at: the point that is seen in the middle of the image.
            position: the optical centre.
            up: direction that points up in the image, base axes; another one where it is along the view.
            size: width and height of the image, px.
            field: full angle of view across the shorter side, without distortion, rad.
            distortion: Brown's coefficients k1, k2, p1, p2, k3.
        """
        at, position, up = (np.asarray(value, dtype=float) for value in (at, position, up))
        way = at - position
        distance = float(np.linalg.norm(way))
        if not distance > 0.0:
            raise KinematicsError("a camera cannot look at its own centre")
        z = way / distance
        across = np.cross(z, up)
        if float(np.linalg.norm(across)) < 1e-6 * float(np.linalg.norm(up)):
            across = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
        x = across / np.linalg.norm(across)
        R = np.column_stack([x, np.cross(z, x), z])
        width, height = size
        f = 0.5 * min(width, height) / float(np.tan(0.5 * field))
        k1, k2, p1, p2, k3 = distortion
        centre = (0.5 * (width - 1), 0.5 * (height - 1))
        return cls((f, f), centre, (width, height), Pose(R, position), (k1, k2, p1, p2, k3))

    def at_pose(self, pose: Pose) -> Camera:
        """The same camera at another pose in the base: axes R (3, 3), centre p (3,), m."""
        return replace(self, pose=pose)

    def in_camera_axes(self, points: Any) -> Array:
        """Points (..., 3) of the base in camera axes: R^T (P - p), m."""
        return np.asarray((np.asarray(points, dtype=float) - self.pose.p) @ self.pose.R)

    def project(self, points: Any) -> Array:
        """Pixels (u, v) (..., 2) of points (..., 3), m, base axes; NaN behind the camera."""
        return self.pixels(self.in_camera_axes(points))

    def pixels(self, rays: Any) -> Array:
        """Pixels (..., 2) of points or rays (..., 3) in camera axes; NaN behind the camera."""
        rays = np.asarray(rays, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = (np.where(rays[..., 2] > 0.0, rays[..., k] / rays[..., 2], np.nan) for k in (0, 1))
        return np.stack(self._distort(x, y), axis=-1) * self.focal + self.centre

    def pixel_jacobian(self, rays: Any) -> Array:
        """Derivatives (..., 2, 3) of the pixels with respect to points or rays in camera axes, px/m."""
        rays = np.asarray(rays, dtype=float)
        x, y = rays[..., 0] / rays[..., 2], rays[..., 1] / rays[..., 2]
        a, b, d = self._distortion_derivatives(x, y)
        fx, fy = self.focal
        rows = [[fx * a, fx * b, -fx * (a * x + b * y)], [fy * b, fy * d, -fy * (b * x + d * y)]]
        whole = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
        return np.asarray(whole / rays[..., 2, None, None])

    def ray(self, pixels: Any) -> Array:
        """Unit rays (..., 3) in camera axes of pixels (..., 2); NaN where no ray leads to a pixel.

        Distortion is inverted by Newton's method on the branch that contains the principal point: with a
        strong negative k1 there is a radius beyond which the lens has no image.
        """
        x, y = self.undistort(*np.moveaxis(np.asarray(pixels, dtype=float), -1, 0))
        rays = np.stack([x, y, np.ones_like(x)], axis=-1)
        return np.asarray(rays / np.linalg.norm(rays, axis=-1, keepdims=True))

    def undistort(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Undistorted coordinates x (...) and y (...), without unit, of pixels: rays are along (x, y, 1).

        Newton's method with the 2 x 2 Jacobian of Brown's equations; NaN without a solution.
        """
        gx, gy = (u - self.centre[0]) / self.focal[0], (v - self.centre[1]) / self.focal[1]
        if not any(self.distortion):
            return np.asarray(gx), np.asarray(gy)
        with np.errstate(all="ignore"):
            # As if the lens bent the distorted point.
            dx, dy = self._distort(gx, gy)
            x, y = 2.0 * gx - dx, 2.0 * gy - dy
            for _ in range(_STEPS):
                dx, dy = self._distort(x, y)
                dx, dy = gx - dx, gy - dy
                if not (np.max(np.abs(dx), initial=0.0) > _DONE or np.max(np.abs(dy), initial=0.0) > _DONE):
                    break
                a, b, d = self._distortion_derivatives(x, y)
                scale = 1.0 / (a * d - b * b)
                x, y = x + (d * dx - b * dy) * scale, y + (a * dy - b * dx) * scale
            a, b, d = self._distortion_derivatives(x, y)
            good = (a * d > b * b) & (a > 0.0) & (np.abs(dx) < 1e-9) & (np.abs(dy) < 1e-9)
        if np.all(good):
            return np.asarray(x), np.asarray(y)
        return np.where(good, x, np.nan), np.where(good, y, np.nan)

    def undistorted_jacobian(self, x: Array, y: Array) -> Array:
        """Derivatives dx/du, dx/dv, dy/du, dy/dv (4, ...) of undistorted coordinates, 1/px."""
        a, b, d = self._distortion_derivatives(x, y)
        scale = 1.0 / (a * d - b * b)
        fx, fy = self.focal
        return np.stack([d * scale / fx, -b * scale / fy, -b * scale / fx, a * scale / fy])

    def contains(self, pixels: Any, margin: float = 0.0) -> Array:
        """Whether pixels (..., 2) are in the image, at least `margin` px from its border."""
        pixels = np.asarray(pixels, dtype=float)
        with np.errstate(invalid="ignore"):
            inside = (pixels >= -0.5 + margin) & (pixels <= np.array(self.size) - 0.5 - margin)
        return np.asarray(np.all(inside, axis=-1))

    def _distort(self, x: Array, y: Array) -> tuple[Array, Array]:
        k1, k2, p1, p2, k3 = self.distortion
        xx, yy, xy = x * x, y * y, x * y
        s = xx + yy
        radial = 1.0 + s * (k1 + s * (k2 + s * k3))
        return (
            x * radial + 2.0 * p1 * xy + p2 * (s + 2.0 * xx),
            y * radial + p1 * (s + 2.0 * yy) + 2.0 * p2 * xy,
        )

    def _distortion_derivatives(self, x: Array, y: Array) -> tuple[Array, Array, Array]:
        """Derivatives of the distorted coordinates: d_x by x, d_x by y (and d_y by x, the same), d_y by y."""
        k1, k2, p1, p2, k3 = self.distortion
        xx, yy, xy = x * x, y * y, x * y
        s = xx + yy
        radial = 1.0 + s * (k1 + s * (k2 + s * k3))
        slope = 2.0 * (k1 + s * (2.0 * k2 + s * 3.0 * k3))
        return (
            radial + xx * slope + 2.0 * p1 * y + 6.0 * p2 * x,
            xy * slope + 2.0 * (p1 * x + p2 * y),
            radial + yy * slope + 6.0 * p1 * y + 2.0 * p2 * x,
        )


# ---- A region of an image: its pixels, the rays through their centres, and distances from edges in pixels


class EdgeDistance(NamedTuple):
    """Signed distances s (...) of pixels from an edge, px, its unit normal (a, b), and |gradient|, 1/px."""

    s: Array
    a: Array
    b: Array
    slope: Array

    def some(self, chosen: Array) -> EdgeDistance:
        """Those of the pixels (k,) that are chosen by a mask (...) or by indices."""
        return EdgeDistance(*(part[chosen] for part in self))


@dataclass(frozen=True, eq=False)
class PixelPatch:
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
    def region(cls, camera: Camera, region: Region) -> PixelPatch:
        """A rectangle of pixels (height, width)."""
        u = np.arange(region.u, region.u + region.width, dtype=float)
        v = np.arange(region.v, region.v + region.height, dtype=float)
        return cls.of(camera, *np.meshgrid(u, v))

    @classmethod
    def of(cls, camera: Camera, u: Array, v: Array) -> PixelPatch:
        """Any pixels u (...), v (...) of a camera."""
        x, y = camera.undistort(u, v)
        return cls(x, y, camera.undistorted_jacobian(x, y))

    @cached_property
    def rays(self) -> Array:
        """Rays (x, y, 1) (..., 3) in camera axes."""
        return np.stack([self.x, self.y, np.ones_like(self.x)], axis=-1)

    def some(self, chosen: Array) -> PixelPatch:
        """The pixels (k,) that are chosen by a mask (...) or by indices."""
        return PixelPatch(self.x[chosen], self.y[chosen], self.M[:, chosen])

    def distance_from_plane(self, normal: Array) -> EdgeDistance:
        """Distances from the image of a plane through the camera's centre: g = n . ray."""
        a, b, c = (float(part) for part in normal)
        return self.distance_from_level(a * self.x + (b * self.y + c), a, b)

    def distance_from_quadric(self, Q: Array) -> EdgeDistance:
        """Distances from the curve d^T Q d = 0 of the rays d, positive where it is; Q symmetric (3, 3)."""
        x, y = self.x, self.y
        half = [Q[i, 0] * x + Q[i, 1] * y + Q[i, 2] for i in range(3)]
        return self.distance_from_level(half[0] * x + half[1] * y + half[2], 2.0 * half[0], 2.0 * half[1])

    def distance_from_level(self, value: Array, gx: Scalar, gy: Scalar) -> EdgeDistance:
        """Distances from the level 0 of a function, from its values (...) and gradients in x and y."""
        xu, xv, yu, yv = self.M
        gu, gv = xu * gx + yu * gy, xv * gx + yv * gy
        length = np.sqrt(gu * gu + gv * gv)
        scale = 1.0 / np.maximum(length, 1e-300)
        return EdgeDistance(value * scale, gu * scale, gv * scale, length)


# ---- when a camera sees what: a global shutter, or regions of interest one after the other


@dataclass(frozen=True)
class Exposure:
    """One exposure.

    Attributes:
        time: its middle, by the camera's clock, s.
        arrival: when the controller has its result, by the robot's clock, s.
        cylinders: indices of the cylinders that it sees.
    """

    time: float
    arrival: float
    cylinders: tuple[int, ...]


@dataclass(frozen=True)
class Shutter:
    """How a camera takes its images.

    Attributes:
        rate: frames, or regions of interest, a second, Hz.
        exposure: how long each is exposed, s.
        latency: from the end of the exposure to the result, s.
        kind: "global" or "sequential".
        clock_offset: camera's clock minus robot's clock, s.
    """

    rate: float = 500.0
    exposure: float = 0.5e-3
    latency: float = 2e-3
    kind: Literal["global", "sequential"] = "sequential"
    clock_offset: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.rate) and self.rate > 0.0):
            raise KinematicsError(f"the rate of a shutter is a positive number, got {self.rate}")
        if not 0.0 <= self.exposure <= 1.0 / self.rate:
            raise KinematicsError(
                f"an exposure of {self.exposure:g} s does not fit into a period of {1.0 / self.rate:g} s"
            )
        if not (self.latency >= 0.0 and np.isfinite(self.latency + self.clock_offset)):
            raise KinematicsError("the latency is not negative, and the clock's offset is finite")
        if self.kind not in ("global", "sequential"):
            raise KinematicsError(f"a shutter is global or sequential, not {self.kind!r}")

    def robot_time(self, time: float) -> float:
        """The time of the robot's clock, s, at a time of the camera's clock, s."""
        return time - self.clock_offset

    def exposures(self, start: float, stop: float, order: Sequence[int]) -> Iterator[Exposure]:
        """All exposures that end within an interval of the robot's clock, in the order of their times.

        Args:
            start: first time, s.
            stop: last time, s.
            order: indices of the cylinders; a sequential shutter takes them in turn.
        """
        if not order:
            return
        # Exposure k ends at k / rate + exposure - clock_offset by the robot's clock.
        shift = self.exposure - self.clock_offset
        first, last = (self.rate * (time - shift) for time in (start, stop))
        for k in range(int(np.ceil(first - 1e-9)), int(np.floor(last + 1e-9)) + 1):
            time = k / self.rate + 0.5 * self.exposure
            arrival = self.robot_time(time) + 0.5 * self.exposure + self.latency
            seen = tuple(order) if self.kind == "global" else (order[k % len(order)],)
            yield Exposure(time, arrival, seen)
