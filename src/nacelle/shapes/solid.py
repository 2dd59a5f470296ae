"""Solids: rods, balls, blocks, plates and meshes, in metres, in the axes of the frame they are given in.

What a description draws (`display`) becomes solids in the frame of its body; meshes are read where they are
drawn (`nacelle.scene.geometry`). Nothing here knows how a solid is drawn or seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nacelle.model.description.frame import FrameSpec
from nacelle.model.leg import Body
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Rod:
    """A solid circular cylinder between the centres of its ends (3,), with its radius, m."""

    start: Array
    stop: Array
    radius: float
    colour: str | None = None

    def transform(self, pose: Pose) -> Rod:
        """The same in another frame, in which its own is placed."""
        return replace(self, start=pose.R @ self.start + pose.p, stop=pose.R @ self.stop + pose.p)


@dataclass(frozen=True, eq=False)
class Ball:
    """A sphere around a point (3,), m."""

    centre: Array
    radius: float
    colour: str | None = None

    def transform(self, pose: Pose) -> Ball:
        """The same in another frame, in which its own is placed."""
        return replace(self, centre=pose.R @ self.centre + pose.p)


@dataclass(frozen=True, eq=False)
class Block:
    """A box of a size (3,), m, with its centre at a frame."""

    at: Pose
    size: Array
    colour: str | None = None

    def transform(self, pose: Pose) -> Block:
        """The same in another frame, in which its own is placed."""
        return replace(self, at=pose @ self.at)


@dataclass(frozen=True, eq=False)
class Plate:
    """A flat plate over the corners (k, 3) of a convex polygon, in turn, with half its thickness, m."""

    corners: Array
    half: float
    colour: str | None = None

    def transform(self, pose: Pose) -> Plate:
        """The same in another frame, in which its own is placed."""
        return replace(self, corners=self.corners @ pose.R.T + pose.p)


@dataclass(frozen=True, eq=False)
class Mesh:
    """A surface of triangles (m, 3), indices of points (n, 3), m; the one solid that need not be convex."""

    points: Array
    triangles: Array
    colour: str | None = None

    def transform(self, pose: Pose) -> Mesh:
        """The same in another frame, in which its own is placed."""
        return replace(self, points=self.points @ pose.R.T + pose.p)


# Convex ones, and all that can be drawn.
Solid = Rod | Ball | Block | Plate
DrawableSolid = Solid | Mesh


def described_solids(body: Body) -> list[Solid]:
    """The shapes of a body's description, in the body's frame."""
    solids = (_solid_of_shape(shape) for shape in body.display)
    return [solid for solid in solids if solid is not None]


def _solid_of_shape(shape: dict[str, Any]) -> Solid | None:
    colour = shape.get("color")
    if "cylinder" in shape:
        data = shape["cylinder"]
        return Rod(_as_point(data["from"]), _as_point(data["to"]), float(data["radius"]), colour)
    if "sphere" in shape:
        data = shape["sphere"]
        return Ball(_as_point(data.get("at", (0.0, 0.0, 0.0))), float(data["radius"]), colour)
    if "box" in shape:
        data = shape["box"]
        return Block(FrameSpec.model_validate(data.get("at", {})).pose(), _as_point(data["size"]), colour)
    return None


def _as_point(values: Sequence[float]) -> Array:
    return np.array(values, dtype=float)
