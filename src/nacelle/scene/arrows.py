"""Arrows beside a robot: forces and moments over time, with one scale for all of a set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import NacelleError
from nacelle.spatial.scalar import Array

# The longest arrow as a part of the robot's extent.
LONGEST = 0.3


@dataclass(frozen=True, eq=False)
class Arrows:
    """Vectors at points that move with time.

    Attributes:
        name: what they are, for the legend: "actuator forces".
        points: where they begin (T, N, 3) in the base, m.
        vectors: what they show (T, N, 3), base axes, in `unit`; not drawn where it is not finite.
        unit: "N" or "N m".
        colour: by name or #rrggbb.
    """

    name: str
    points: Array
    vectors: Array
    unit: str = "N"
    colour: str = "#0072B2"

    def __post_init__(self) -> None:
        points, vectors = np.asarray(self.points, dtype=float), np.asarray(self.vectors, dtype=float)
        if points.ndim != 3 or points.shape[-1] != 3 or vectors.shape != points.shape:
            raise NacelleError(
                f"arrows have points and vectors (T, N, 3), not {points.shape} and {vectors.shape}"
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "vectors", vectors)

    @property
    def largest(self) -> float:
        """Length of the longest vector over the whole time, in its unit."""
        lengths = np.linalg.norm(self.vectors, axis=-1)
        return float(np.max(lengths[np.isfinite(lengths)], initial=0.0))

    def scale(self, extent: float) -> float:
        """Metres a unit, such that the longest arrow is a part of the robot's extent."""
        return LONGEST * extent / self.largest if self.largest > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class PathLine:
    """A line in space, such as the path of the nacelle.

    Attributes:
        points: (T, 3) in the base, m; those that are not finite are left out.
        name: what it is, for the legend; none if empty.
        colour: by name or #rrggbb.
    """

    points: Any
    name: str = ""
    colour: str = "#3a4048"

    @property
    def line(self) -> Array:
        """Its finite points (T, 3), m."""
        line = np.asarray(self.points, dtype=float).reshape(-1, 3)
        return np.asarray(line[np.all(np.isfinite(line), axis=1)])


def as_trace(given: Any) -> PathLine:
    """A trace from points (T, 3), m, or as it is."""
    return given if isinstance(given, PathLine) else PathLine(given)
