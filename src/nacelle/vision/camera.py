"""A pinhole camera with Brown's distortion, placed in the base of a robot.

Camera axes: z forward, x to the right and y down in the image. With R, p the pose of the camera in the base,
a point P of the base is seen at s = R^T (P - p) (3,), m, at the normalised coordinates a = (s_x, s_y) / s_z
and, with r^2 = a_x^2 + a_y^2, at the pixel

    d_x = a_x (1 + k1 r^2 + k2 r^4 + k3 r^6) + 2 p1 a_x a_y + p2 (r^2 + 2 a_x^2)
    d_y = a_y (1 + k1 r^2 + k2 r^4 + k3 r^6) + p1 (r^2 + 2 a_y^2) + 2 p2 a_x a_y
    u = f_x d_x + c_x,     v = f_y d_y + c_y

(Brown, Decentering distortion of lenses, Photogrammetric Engineering 32(3), 1966.) Pixels (u, v): u to the
right, v down, the centre of the first pixel at (0, 0), so pixel (i, j) covers i +- 1/2, j +- 1/2. The
inverse, from a pixel to its ray, has no closed form: Newton's method on the two equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# Newton's method converges quadratically from the distorted coordinates.
_STEPS = 12
_DONE = 1e-14


@dataclass(frozen=True, eq=False)
class Camera:
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
    def looking(
        cls,
        at: Any,
        position: Any,
        *,
        up: Any = (0.0, 0.0, 1.0),
        size: tuple[int, int] = (1024, 1024),
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
        f = 0.5 * min(size) / float(np.tan(0.5 * field))
        k1, k2, p1, p2, k3 = distortion
        centre = (0.5 * (size[0] - 1), 0.5 * (size[1] - 1))
        return cls((f, f), centre, size, Pose(R, position), (k1, k2, p1, p2, k3))

    def placed(self, pose: Pose) -> Camera:
        """The same camera at another pose in the base."""
        return replace(self, pose=pose)

    def seen(self, points: Any) -> Array:
        """Points (..., 3) of the base in camera axes: R^T (P - p), m."""
        return np.asarray((np.asarray(points, dtype=float) - self.pose.p) @ self.pose.R)

    def project(self, points: Any) -> Array:
        """Pixels (..., 2) of points (..., 3) of the base; NaN behind the camera."""
        return self.pixels(self.seen(points))

    def pixels(self, rays: Any) -> Array:
        """Pixels (..., 2) of points or rays (..., 3) in camera axes; NaN behind the camera."""
        rays = np.asarray(rays, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            flat = np.where(rays[..., 2:] > 0.0, rays[..., :2] / rays[..., 2:], np.nan)
        return np.asarray(self._distorted(flat) * self.focal + self.centre)

    def pixel_jacobian(self, rays: Any) -> Array:
        """Derivatives (..., 2, 3) of the pixels with respect to points or rays in camera axes, px/m."""
        rays = np.asarray(rays, dtype=float)
        flat = rays[..., :2] / rays[..., 2:]
        J = np.asarray(self.focal)[:, None] * self._slopes(flat)
        whole = np.concatenate([J, -J @ flat[..., None]], axis=-1)
        return np.asarray(whole / rays[..., 2, None, None])

    def ray(self, pixels: Any) -> Array:
        """Unit rays (..., 3) in camera axes of pixels (..., 2); NaN where no ray leads to a pixel.

        Distortion is inverted by Newton's method on the branch that contains the principal point: with a
        strong negative k1 there is a radius beyond which the lens has no image.
        """
        goal = (np.asarray(pixels, dtype=float) - self.centre) / self.focal
        flat = goal
        if any(self.distortion):
            flat = self._undistorted(goal)
        rays = np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)
        return np.asarray(rays / np.linalg.norm(rays, axis=-1, keepdims=True))

    def holds(self, pixels: Any, margin: float = 0.0) -> Array:
        """Whether pixels (..., 2) are in the image, at least `margin` px from its border."""
        pixels = np.asarray(pixels, dtype=float)
        with np.errstate(invalid="ignore"):
            inside = (pixels >= -0.5 + margin) & (pixels <= np.array(self.size) - 0.5 - margin)
        return np.asarray(np.all(inside, axis=-1))

    def _undistorted(self, goal: Array) -> Array:
        flat = goal.copy()
        with np.errstate(all="ignore"):
            for _ in range(_STEPS):
                J = self._slopes(flat)
                gap = goal - self._distorted(flat)
                det = J[..., 0, 0] * J[..., 1, 1] - J[..., 0, 1] * J[..., 1, 0]
                step = np.stack(
                    [
                        J[..., 1, 1] * gap[..., 0] - J[..., 0, 1] * gap[..., 1],
                        J[..., 0, 0] * gap[..., 1] - J[..., 1, 0] * gap[..., 0],
                    ],
                    axis=-1,
                )
                step = step / det[..., None]
                flat = flat + step
                if not np.any(np.abs(step) > _DONE * (1.0 + np.abs(flat))):
                    break
            J = self._slopes(flat)
            folded = J[..., 0, 0] * J[..., 1, 1] <= J[..., 0, 1] * J[..., 1, 0]
            open_ = np.max(np.abs(goal - self._distorted(flat)), axis=-1) > 1e-9
        return np.asarray(np.where((folded | open_)[..., None], np.nan, flat))

    def _distorted(self, flat: Array) -> Array:
        k1, k2, p1, p2, k3 = self.distortion
        x, y = flat[..., 0], flat[..., 1]
        s = x * x + y * y
        radial = 1.0 + s * (k1 + s * (k2 + s * k3))
        return np.stack(
            [
                x * radial + 2.0 * p1 * x * y + p2 * (s + 2.0 * x * x),
                y * radial + p1 * (s + 2.0 * y * y) + 2.0 * p2 * x * y,
            ],
            axis=-1,
        )

    def _slopes(self, flat: Array) -> Array:
        """Derivatives (..., 2, 2) of the distorted coordinates with respect to the plain ones."""
        k1, k2, p1, p2, k3 = self.distortion
        x, y = flat[..., 0], flat[..., 1]
        s = x * x + y * y
        radial = 1.0 + s * (k1 + s * (k2 + s * k3))
        slope = 2.0 * (k1 + s * (2.0 * k2 + s * 3.0 * k3))
        cross = x * y * slope + 2.0 * (p1 * x + p2 * y)
        return np.stack(
            [
                np.stack([radial + x * x * slope + 2.0 * p1 * y + 6.0 * p2 * x, cross], axis=-1),
                np.stack([cross, radial + y * y * slope + 6.0 * p1 * y + 2.0 * p2 * x], axis=-1),
            ],
            axis=-2,
        )
