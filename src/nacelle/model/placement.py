"""Placing a leg: turned, shifted and mirrored, on the base's side and on the nacelle's."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.model.description import DisplaySpec, PlacementSpec
from nacelle.model.joint import MOTION, JointKind
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array


def sides(spec: PlacementSpec) -> tuple[Pose, Pose, Array | None]:
    """Base-side and nacelle-side placement of a leg, and its reflection."""
    base = spec.pose()
    nacelle = spec.nacelle.pose() if spec.nacelle is not None else Pose(base.R, np.zeros(3))
    mirror = None
    if spec.mirror is not None:
        mirror = np.eye(3)
        mirror["xyz".index(spec.mirror), "xyz".index(spec.mirror)] = -1.0
    return base, nacelle, mirror


def joint_mirror(kind: JointKind) -> Array:
    """Reflection of a joint's own frame that keeps its coordinates.

    The inversion -1 commutes with every rotation, so turning joints keep their angles; a prismatic
    joint keeps its stroke under the reflection of x. Slides of the other kinds change sign.
    """
    return np.diag([-1.0, 1.0, 1.0]) if kind is JointKind.PRISMATIC else -np.eye(3)


def mirror_coordinates(
    kind: JointKind, coordinates: tuple[float, ...], limits: tuple[tuple[float, float], ...]
) -> tuple[tuple[float, ...], tuple[tuple[float, float], ...]]:
    """Change the sign of the slides of cylindrical and C5 joints in a mirrored leg."""
    if kind is JointKind.PRISMATIC:
        return coordinates, limits
    values, start = list(coordinates), 0
    pairs = list(limits)
    for k, primitive in enumerate(MOTION[kind]):
        if not primitive.turns:
            values[start] = -values[start] + 0.0
            pairs[k] = (-pairs[k][1], -pairs[k][0])
        start += primitive.nq
    return tuple(values), tuple(pairs)


def clean(R: Array) -> Array:
    """Turn entries of a rotation within rounding of 0 and +-1 into them exactly.

    Cosines of right angles written in degrees or multiples of pi come out as 6e-17; exact zeros make
    the programs traced from the robot smaller.
    """
    cleaned = np.where(np.abs(R) < 4e-16, 0.0, R)
    near_one = np.abs(np.abs(cleaned) - 1.0) < 4e-16
    return np.where(near_one, np.sign(cleaned), cleaned) + 0.0


def placed_display(shapes: list[DisplaySpec], mirror: Array | None) -> tuple[dict[str, Any], ...]:
    """Shapes as plain data, reflected with the leg."""
    result = []
    for shape in shapes:
        data = shape.model_dump(by_alias=True, exclude_none=True)
        if mirror is not None:
            for part, key in (("cylinder", "from"), ("cylinder", "to"), ("sphere", "at")):
                if part in data:
                    data[part][key] = tuple(float(v) + 0.0 for v in mirror @ np.array(data[part][key]))
            for part in ("box", "mesh"):
                if data.get(part, {}).get("at", {}).get("translation"):
                    at = data[part]["at"]
                    at["translation"] = tuple(float(v) + 0.0 for v in mirror @ np.array(at["translation"]))
        result.append(data)
    return tuple(result)
