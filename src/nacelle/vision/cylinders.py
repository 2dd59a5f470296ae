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
from typing import Any, TypeGuard

import numpy as np

from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.shapes.configured import ConfiguredRobot
from nacelle.shapes.solid import Block, Rod, Solid, described_solids
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array


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

    def ends_in_base(self, R: Array, p: Array) -> tuple[Array, Array]:
        """Both ends in the base from the poses of bodies R (..., bodies, 3, 3), p (..., bodies, 3), m."""
        rotation, origin = R[..., self.body, :, :], p[..., self.body, :]
        return np.asarray(rotation @ self.A + origin), np.asarray(rotation @ self.B + origin)


def robot_solids(robot: Robot) -> list[list[Solid]]:
    """Solids of all bodies in their frames: described, or what the joints suggest at the reference pose."""
    by_body = [described_solids(body) for body in robot.bodies]
    if all(by_body[BASE + 1 :]):
        return by_body
    bodies = inverse_kinematics(robot, reference_pose(robot), limits=False).bodies
    configured = ConfiguredRobot(robot, [Pose(R, p) for R, p in zip(*bodies, strict=True)])
    return [
        solids or [solid.transform(configured.poses[b].inverse()) for solid in configured.solids(b)]
        for b, solids in enumerate(by_body)
    ]


def visible_cylinders(robot: Robot) -> tuple[Cylinder, ...]:
    """All cylinders of the legs, leg by leg and body by body.

    From the shapes of the description; of a body without any, the rods that its joints suggest at the
    reference pose, as drawings have them.
    """
    cylinders = []
    for leg, b, solids in _leg_solids(robot):
        rods = [solid for solid in solids if is_rod(solid)]
        for i, rod in enumerate(rods):
            name = robot.bodies[b].name + (f"#{i + 1}" if len(rods) > 1 else "")
            cylinders.append(Cylinder(name, leg, b, rod.start, rod.stop, rod.radius))
    return tuple(cylinders)


def leg_boxes(robot: Robot) -> tuple[tuple[str, int], ...]:
    """Body's name and leg of all boxes of the legs: their edges are not planes that touch a cylinder."""
    return tuple(
        (robot.bodies[b].name, leg)
        for leg, b, solids in _leg_solids(robot)
        for solid in solids
        if isinstance(solid, Block)
    )


def is_rod(solid: Solid) -> TypeGuard[Rod]:
    """Whether a solid is a cylinder with a length and a thickness."""
    return isinstance(solid, Rod) and solid.radius > 0.0 and bool(np.any(solid.start != solid.stop))


def _leg_solids(robot: Robot) -> list[tuple[int, int, list[Solid]]]:
    """Leg, body and solids of all bodies of legs."""
    solids = robot_solids(robot)
    return [(k, b, solids[b]) for k, leg in enumerate(robot.legs) for b in leg.bodies]


def tangent_normals(P: Array, u: Array, radius: Any) -> Array:
    """Unit normals (..., 2, 3) of the planes in which the edges of cylinders are seen, all in camera axes.

    n_k . u = 0, n_0 . P = radius and n_1 . P = -radius; the image of an edge is n . ray = 0.

    Args:
        P: a point (..., 3) of each axis, m.
        u: the unit direction (..., 3) of each axis.
        radius: of each cylinder (...), m.

    Returns:
        The normals; NaN where the camera's centre is within a cylinder.
    """
    across = P - np.sum(P * u, axis=-1, keepdims=True) * u
    D = np.linalg.norm(across, axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        e = across / D
        c = np.asarray(radius, dtype=float)[..., None] / D
        s = np.sqrt(np.where(c < 1.0, 1.0 - c * c, np.nan))
    f = np.cross(u, e)
    return np.stack([c * e + s * f, s * f - c * e], axis=-2)
