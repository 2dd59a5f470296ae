"""What a camera has before it: all solids of a robot at a pose, in camera axes.

The legs' solids come first in meaning: each cylinder of `visible_cylinders` is one of them. The nacelle and a
base that is described hide what is behind them; the frame that joins the anchors of a base without a
description is drawn in pictures but is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.pose_input import reference_pose
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.shapes.solid import Rod, Solid, described_solids
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import Cylinder, is_rod, robot_solids, visible_cylinders
from nacelle.vision.ray_casting import entry


@dataclass(frozen=True, eq=False)
class SeenSolid:
    """A solid before a camera.

    Attributes:
        solid: in camera axes, m.
        body: index of its body.
        leg: index of its leg; -1 for the nacelle and the base.
        cylinder: index in `visible_cylinders(robot)`; -1 for what is none.
    """

    solid: Solid
    body: int
    leg: int
    cylinder: int


class Scenery:
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
            SeenSolid(solid, b, legs.get(b, -1), of_body[b].pop(0) if b in of_body and is_rod(solid) else -1)
            for b in range(len(robot.bodies))
            for solid in (solids[b] if b != BASE else described_solids(robot.bodies[BASE]))
        ]

    def bodies(self, x: Any = None) -> tuple[Array, Array]:
        """Poses of all bodies R (..., bodies, 3, 3), p (..., bodies, 3); the reference pose if None."""
        return inverse_kinematics(
            self.robot, reference_pose(self.robot) if x is None else x, limits=False
        ).bodies

    def scene(self, camera: Camera, R: Array, p: Array) -> CameraScene:
        """What a camera sees at poses of the bodies R (bodies, 3, 3), p (bodies, 3)."""
        view = camera.pose.inverse()
        placed = [view @ Pose(turn, origin) for turn, origin in zip(R, p, strict=True)]
        return CameraScene(
            camera,
            self.cylinders,
            tuple(SeenSolid(s.solid.moved(placed[s.body]), s.body, s.leg, s.cylinder) for s in self._solids),
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
    solids: tuple[SeenSolid, ...]

    @cached_property
    def rods(self) -> tuple[Rod, ...]:
        """The cylinders of the legs in camera axes, in their order."""
        rods = {seen.cylinder: seen.solid for seen in self.solids if seen.cylinder >= 0}
        return tuple(rod for _, rod in sorted(rods.items()) if isinstance(rod, Rod))

    def region(self, corner: tuple[int, int], size: tuple[int, int]) -> CameraScene:
        """The same solids before a region of the camera, from its first pixel (u, v), px."""
        return replace(self, camera=self.camera.region(corner, size))

    def first(self, rays: Array) -> Array:
        """Index (...) of the solid that rays (..., 3) meet first, -1 for the background."""
        if not self.solids:
            return np.full(rays.shape[:-1], -1)
        depths = np.stack([entry(seen.solid, rays) for seen in self.solids])
        nearest = np.argmin(depths, axis=0)
        missed = np.isinf(np.min(depths, axis=0))
        return np.where(missed, -1, nearest)
