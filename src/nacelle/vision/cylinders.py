"""The cylinders of a robot's legs, and the two planes in which a camera sees the edges of each.

A cylinder of radius r about the axis through P with unit direction u, both in camera axes, is seen between
two planes through the camera's centre that touch it. Their unit normals n meet n . u = 0 and n . P = +-r.
With D e the part of P across u (|e| = 1) and f = u x e:

    n_0 = (r / D) e + s f,     n_1 = -(r / D) e + s f,     s = sqrt(1 - r^2 / D^2)

A ray d is inside where n_0 . d > 0 > n_1 . d. Turning u around swaps the sides. For D <= r the camera is
within the cylinder and there are no edges. (Doignon and de Mathelin, A degenerate conic-based method for a
direct fitting and 3-D pose of cylinders with a single perspective view, ICRA 2007; [OAM], section 2.1.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder of a leg, fixed on its body.

    Attributes:
        name: that of its body, "leg1.forearm"; with a number where the body has several.
        leg: index of the leg.
        body: index of the body.
        A: centre of the first end in the body's frame (3,), m.
        B: centre of the other end (3,), m.
        radius: m.
    """

    name: str
    leg: int
    body: int
    A: Array
    B: Array
    radius: float

    @property
    def length(self) -> float:
        """Distance of the ends, m."""
        return float(np.linalg.norm(self.B - self.A))

    @property
    def direction(self) -> Array:
        """Unit direction (3,) from A to B in the body's frame."""
        return np.asarray((self.B - self.A) / self.length)

    def placed(self, R: Array, p: Array) -> tuple[Array, Array]:
        """Both ends in the base from the poses of bodies R (..., bodies, 3, 3), p (..., bodies, 3), m."""
        turn, origin = R[..., self.body, :, :], p[..., self.body, :]
        return np.asarray(turn @ self.A + origin), np.asarray(turn @ self.B + origin)


def visible_cylinders(robot: Robot) -> tuple[Cylinder, ...]:
    """All cylinders of the legs, leg by leg and body by body, from the shapes of the description."""
    cylinders = []
    for k, leg in enumerate(robot.legs):
        for b in leg.bodies:
            shapes = [shape["cylinder"] for shape in robot.bodies[b].display if "cylinder" in shape]
            for i, shape in enumerate(shapes):
                name = robot.bodies[b].name + (f"#{i + 1}" if len(shapes) > 1 else "")
                A, B = np.array(shape["from"], dtype=float), np.array(shape["to"], dtype=float)
                if float(np.linalg.norm(B - A)) > 0.0 and shape["radius"] > 0.0:
                    cylinders.append(Cylinder(name, k, b, A, B, float(shape["radius"])))
    return tuple(cylinders)


def contour_normals(camera: Camera, point: Any, direction: Any, radius: Any) -> Array:
    """Unit normals (..., 2, 3), camera axes, of the planes in which the edges of cylinders are seen.

    n_k . u = 0, n_0 . P = radius and n_1 . P = -radius; the image of an edge is n . ray = 0.

    Args:
        camera: the camera.
        point: a point (..., 3) of each axis in the base, m.
        direction: the direction (..., 3) of each axis, base axes, of any length.
        radius: of each cylinder (...), m.

    Returns:
        The normals; NaN where the camera's centre is within a cylinder.
    """
    u = np.asarray(direction, dtype=float) @ camera.pose.R
    u = u / np.linalg.norm(u, axis=-1, keepdims=True)
    return tangent_normals(camera.seen(point), u, radius)


def tangent_normals(P: Array, u: Array, radius: Any) -> Array:
    """The same (..., 2, 3) from a point (..., 3) and a unit direction (..., 3) in camera axes."""
    across = P - np.sum(P * u, axis=-1, keepdims=True) * u
    D = np.linalg.norm(across, axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        e = across / D
        c = np.asarray(radius, dtype=float)[..., None] / D
        s = np.sqrt(np.where(c < 1.0, 1.0 - c * c, np.nan))
    f = np.cross(u, e)
    return np.stack([c * e + s * f, s * f - c * e], axis=-2)
