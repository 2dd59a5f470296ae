"""What a camera has before it: all solids of a robot at a pose, in camera axes.

The legs' solids come first in meaning: each cylinder of `visible_cylinders` is one of them. The platform and
a base that is described hide what is behind them; the frame that joins the anchors of a base without a
description is drawn in pictures but is not there.

Where rays from the camera's centre enter and leave convex solids, all in camera axes.

Points of a ray are l d, d (..., 3) with d_z = 1, so l is the depth, m. A convex solid is met on an interval:

    half-spaces N . X <= h       l from max h / N.d over N.d < 0 to min h / N.d over N.d > 0
    cylinder about A with u      |(l d - A) x u| = r: a quadratic in l, and 0 <= (l d - A) . u <= length
    ball                         |l d - C| = r

A ray misses a solid where the interval is empty or behind the camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import BodyPoses, inverse_kinematics
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.shapes.solid import Ball, Plate, Rod, Solid, described_solids
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, is_rod, robot_solids, visible_cylinders


def depth_span(solid: Solid, rays: Array) -> tuple[Array, Array]:
    """Depths (...) at which rays (..., 3) enter and leave a solid; enter > leave where they miss it."""
    first, last, missed = _span(solid, rays)
    return np.where(missed, np.inf, first), np.where(missed, -np.inf, last)


def passing_depth(solid: Solid, rays: Array) -> Array:
    """Depth (...) at which rays enter a solid, or pass it where they miss it: says what is nearer."""
    return np.nan_to_num(_span(solid, rays)[0], posinf=1e30, neginf=0.0)


def _span(solid: Solid, rays: Array) -> tuple[Array, Array, Array]:
    """Depths at which rays enter and leave, or pass, and whether they miss the solid."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(solid, Rod):
            return _rod_span(solid, rays)
        if isinstance(solid, Ball):
            C = solid.centre
            return _sphere_roots(
                np.einsum("...i,...i->...", rays, rays), rays @ C, float(C @ C), solid.radius
            )
        return _hull_span(*half_spaces(solid), rays)


def entry_depth(solid: Solid, rays: Array) -> Array:
    """Depth (...) at which rays enter a solid, 0 from within it; infinite where they miss it."""
    first, last = depth_span(solid, rays)
    with np.errstate(invalid="ignore"):
        return np.where((first <= last) & (last > 0.0), np.maximum(first, 0.0), np.inf)


def camera_is_within(solid: Solid, margin: float = 0.0) -> bool:
    """Whether the camera's centre is within a solid, or nearer to it than a margin, m."""
    if isinstance(solid, Rod):
        axis = solid.stop - solid.start
        length = float(np.linalg.norm(axis))
        along = -float(solid.start @ axis) / length
        out = max(-along, along - length, 0.0)
        across = max(float(np.linalg.norm(solid.start + along * axis / length)) - solid.radius, 0.0)
        return float(np.hypot(out, across)) <= margin
    if isinstance(solid, Ball):
        return float(np.linalg.norm(solid.centre)) <= solid.radius + margin
    N, h = half_spaces(solid)
    return bool(np.all(h >= -margin)) and len(N) > 0


def half_spaces(solid: Solid) -> tuple[Array, Array]:
    """Outward unit normals N (k, 3) and offsets h (k,) of a block or a plate: N . X <= h within."""
    if isinstance(solid, Plate):
        corners = solid.corners
        centre = corners.mean(axis=0)
        up = np.linalg.svd(corners - centre)[2][2]
        sides = np.cross(np.roll(corners, -1, axis=0) - corners, up)
        sides /= np.linalg.norm(sides, axis=1, keepdims=True)
        sides *= np.sign(np.sum(sides * (corners - centre), axis=1, keepdims=True))
        N = np.vstack([sides, up, -up])
        h = np.concatenate(
            [np.sum(sides * corners, axis=1), [up @ centre + solid.half, solid.half - up @ centre]]
        )
        return N, h
    if isinstance(solid, Rod | Ball):
        raise TypeError("a round solid is not bounded by planes")
    N = np.vstack([solid.at.R.T, -solid.at.R.T])
    return N, N @ solid.at.p + 0.5 * np.tile(solid.size, 2)


def vertices(solid: Solid) -> Array:
    """Corners (k, 3) of a block or a plate."""
    if isinstance(solid, Plate):
        up = np.linalg.svd(solid.corners - solid.corners.mean(axis=0))[2][2]
        return np.vstack([solid.corners + solid.half * up, solid.corners - solid.half * up])
    if isinstance(solid, Rod | Ball):
        raise TypeError("a round solid has no corners")
    signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
    return np.asarray((signs * solid.size) @ solid.at.R.T + solid.at.p)


def _sphere_roots(aa: Array, ab: Array, bb: float, radius: float) -> tuple[Array, Array, Array]:
    """Depths l with |l a - b| = radius, from a.a, a.b and b.b; the nearest one twice without a solution."""
    middle = ab / aa
    half = middle * middle - (bb - radius * radius) / aa
    reach = np.sqrt(np.maximum(half, 0.0))
    return middle - reach, middle + reach, half < 0.0


def _rod_span(rod: Rod, rays: Array) -> tuple[Array, Array, Array]:
    axis = rod.stop - rod.start
    length = float(np.linalg.norm(axis))
    u = axis / length
    along, start = rays @ u, float(rod.start @ u)
    # Across the axis: |a|^2 - (a.u)^2 for a = d, and the same for the products.
    aa = np.einsum("...i,...i->...", rays, rays) - along * along
    first, last, missed = _sphere_roots(
        np.maximum(aa, 1e-300),
        rays @ rod.start - along * start,
        float(rod.start @ rod.start) - start * start,
        rod.radius,
    )
    near, far = start / along, (start + length) / along
    return np.maximum(first, np.minimum(near, far)), np.minimum(last, np.maximum(near, far)), missed


def _hull_span(N: Array, h: Array, rays: Array) -> tuple[Array, Array, Array]:
    speed = rays @ N.T
    depth = h / speed
    first = np.max(np.where(speed < 0.0, depth, -np.inf), axis=-1)
    last = np.min(np.where(speed > 0.0, depth, np.inf), axis=-1)
    return first, last, np.any((speed == 0.0) & (h < 0.0), axis=-1)


# ---- what a camera has before it: all solids of a robot at a pose, in camera axes


@dataclass(frozen=True, eq=False)
class SceneSolid:
    """A solid before a camera.

    Attributes:
        solid: in camera axes, m.
        body: index of its body.
        leg: index of its leg; -1 for the platform and the base.
        cylinder: index in `visible_cylinders(robot)`; -1 if it is not one of them.
    """

    solid: Solid
    body: int
    leg: int
    cylinder: int


class RobotScenery:
    """The solids of a robot, fixed on its bodies: made once, placed at many poses.

    Attributes:
        robot: the robot.
        cylinders: those of its legs.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.cylinders: tuple[Cylinder, ...] = visible_cylinders(robot)
        solids = robot_solids(robot)
        of_body: dict[int, list[int]] = {}
        for k, cylinder in enumerate(self.cylinders):
            of_body.setdefault(cylinder.body, []).append(k)
        legs = {b: k for k, leg in enumerate(robot.legs) for b in leg.bodies}
        self._solids = [
            SceneSolid(solid, b, legs.get(b, -1), of_body[b].pop(0) if b in of_body and is_rod(solid) else -1)
            for b in range(len(robot.bodies))
            for solid in (solids[b] if b != BASE else described_solids(robot.bodies[BASE]))
        ]

    def bodies(self, x: Any = None) -> BodyPoses:
        """Poses of all bodies R (..., bodies, 3, 3), p (..., bodies, 3); the reference pose if None."""
        return inverse_kinematics(
            self.robot, reference_pose(self.robot) if x is None else x, limits=False
        ).bodies

    def scene(self, camera: Camera, R: Array, p: Array) -> CameraScene:
        """What a camera sees at poses of the bodies R (bodies, 3, 3), p (bodies, 3)."""
        view = camera.pose.inverse()
        poses = [view @ Pose(rotation, origin) for rotation, origin in zip(R, p, strict=True)]
        return CameraScene(
            camera,
            self.cylinders,
            tuple(
                SceneSolid(s.solid.transform(poses[s.body]), s.body, s.leg, s.cylinder) for s in self._solids
            ),
        )

    def at(self, camera: Camera, x: Any = None) -> CameraScene:
        """What a camera sees at a reduced pose (nx,); at the reference pose if None."""
        return self.scene(camera, *self.bodies(x))


@dataclass(frozen=True, eq=False)
class CameraScene:
    """Solids before a camera.

    Attributes:
        camera: the camera.
        cylinders: the cylinders of the legs, in their order.
        solids: all solids, in camera axes.
    """

    camera: Camera
    cylinders: Sequence[Cylinder]
    solids: tuple[SceneSolid, ...]

    @cached_property
    def rods(self) -> tuple[Rod, ...]:
        """The cylinders of the legs in camera axes, in their order."""
        rods = {seen.cylinder: seen.solid for seen in self.solids if seen.cylinder >= 0}
        return tuple(rod for _, rod in sorted(rods.items()) if isinstance(rod, Rod))

    def first(self, rays: Array) -> Array:
        """Index (...) of the solid that rays (..., 3) meet first, -1 for the background."""
        if not self.solids:
            return np.full(rays.shape[:-1], -1)
        depths = np.stack([entry_depth(seen.solid, rays) for seen in self.solids])
        nearest = np.argmin(depths, axis=0)
        missed = np.isinf(np.min(depths, axis=0))
        return np.where(missed, -1, nearest)
