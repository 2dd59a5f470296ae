"""What an image gives of a cylinder: the planes of its two edges, and the line that they determine.

The edge of side k of a cylinder is seen in a plane through the camera's centre, with unit normal n_k (3,) in
camera axes (`nacelle.vision.cylinders`). With P the point of the axis nearest to the camera's centre, u the
direction of the axis and r the radius, n_0 . P = r, n_1 . P = -r and n_k . u = 0, so

    u = n_0 x n_1 / |n_0 x n_1|,     P = 2 r (n_0 - n_1) / |n_0 - n_1|^2

Four numbers (two unit vectors) give four (a line): nothing is lost and nothing is redundant, so the line of
the best edges is the best line. Far away or thin, the planes are nearly parallel, |n_0 x n_1| = about
2 r / |P|, and what is across them, the depth and the inclination in depth, is uncertain by its inverse; the
covariance says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array

# Planes whose normals differ by less (rad) have no line of their own.
PARALLEL = 1e-9


@dataclass(frozen=True, eq=False)
class EdgeMeasurement:
    """One edge of a cylinder, from an image.

    Attributes:
        time: middle of the exposure, by the camera's clock, s.
        arrival: when the controller has it, by the robot's clock, s.
        cylinder: index in `visible_cylinders(robot)`.
        side: 0 or 1.
        normal: unit normal (3,) of the plane in which the edge is seen, camera axes.
        covariance: of the normal (3, 3), rank 2: covariance @ normal = 0.
    """

    time: float
    arrival: float
    cylinder: int
    side: int
    normal: Array
    covariance: Array


@dataclass(frozen=True, eq=False)
class LineMeasurement:
    """The axis of a cylinder, from its two edges.

    Attributes:
        direction: unit direction u (3,), camera axes.
        point: the point P (3,) of the axis nearest to the camera's centre, camera axes, m.
        covariance: of [u, P] (6, 6); 1, m and m^2.
    """

    direction: Array
    point: Array
    covariance: Array

    @property
    def direction_covariance(self) -> Array:
        """Covariance (3, 3) of the direction."""
        return np.asarray(self.covariance[:3, :3])


def line_from_edges(
    first: EdgeMeasurement, second: EdgeMeasurement, radius: float, cross: Array | None = None
) -> LineMeasurement:
    """Direction and place of a cylinder from its edges, sides 0 and 1, with their covariance.

    Args:
        first: one edge.
        second: the other one, of the same cylinder.
        radius: of the cylinder, m.
        cross: covariance (3, 3) of the normal of side 0 with that of side 1; independent if None.

    Raises:
        KinematicsError: if both are the same side, or their planes are parallel.
    """
    if first.side == second.side or first.cylinder != second.cylinder:
        raise KinematicsError("a line needs both edges of one cylinder")
    ordered = (first, second) if first.side == 0 else (second, first)
    n0, n1 = (edge.normal for edge in ordered)
    w, d = np.cross(n0, n1), n0 - n1
    length, square = float(np.linalg.norm(w)), float(d @ d)
    if length < PARALLEL:
        raise KinematicsError(
            f"the two edges lie in planes that are parallel within {PARALLEL:g} rad: they determine no line"
        )
    u, P = w / length, 2.0 * radius * d / square
    # du = (1 - u u^T) (dn0 x n1 + n0 x dn1) / |w|,  dP = 2 r (1 - 2 d d^T / |d|^2) (dn0 - dn1) / |d|^2
    across = (np.eye(3) - np.outer(u, u)) / length
    nearer = 2.0 * radius * (np.eye(3) - 2.0 * np.outer(d, d) / square) / square
    J0 = np.vstack([-across @ skew(n1), nearer])
    J1 = np.vstack([across @ skew(n0), -nearer])
    covariance = J0 @ ordered[0].covariance @ J0.T + J1 @ ordered[1].covariance @ J1.T
    if cross is not None:
        mixed = J0 @ cross @ J1.T
        covariance = covariance + mixed + mixed.T
    return LineMeasurement(u, P, covariance)
