"""Shapes of bodies whose description has no `display`: rods, telescopic parts, plates, arcs.

Everything follows from the joints of a body: their centres and, where a joint slides, its stroke
(`nacelle.shapes.strokes`). Lengths are parts of the robot's extent.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from nacelle.shapes.points import distinct_points, rim
from nacelle.shapes.solid import Ball, Plate, Rod, Solid
from nacelle.spatial.scalar import Array

# Radii of a rod, of the tube of a telescopic pair and of a ball, and half the thickness of a plate.
ROD = 0.0056
TUBE = 0.0095
BALL = 0.0176
PLATE = 0.005
# Radius of a rail.
RAIL = 0.006


def body_solids(
    centres: Sequence[Array], slides: Sequence[Rod], origin: Array, extent: float, *, platform: bool
) -> list[Solid]:
    """Solids of a body.

    Its parts of telescopic pairs and rails, a plate over the joints of a platform that lie in a plane, and
    rods between the joints of a link (to their middle where there are more than two). A ball where there is
    nothing else.

    Args:
        centres: centres of all joints of the body, (3,) each, m.
        slides: tubes, rods and rails of its sliding joints.
        origin: of the body (3,), for one without joints.
        extent: of the robot, m.
        platform: whether the body belongs to the nacelle.
    """
    solids: list[Solid] = [*slides]
    points = distinct_points([*centres], 1e-3 * extent)
    if len(points) >= 2:
        edges = rim(points, 0.05 * extent) if platform and len(points) > 2 else []
        if len(edges) > 2:
            corners = [points[i] for i, _ in edges]
            solids.append(Plate(np.array(corners), PLATE * extent))
            inner = [point for point in points if not any(point is corner for corner in corners)]
            solids += [Ball(point, ROD * extent) for point in inner]
        else:
            solids += _rods(points, ROD * extent)
    if not solids:
        solids.append(Ball(points[0] if points else origin, BALL * extent))
    return solids


def arc_solids(tips: Sequence[Array], centre: Array, radius: float) -> list[Solid]:
    """Solids of a body of a spherical mechanism: arcs about the centre between the tips of its axes.

    Args:
        tips: for each joint a point on its axis (3,), m, all at one distance from the centre.
        centre: where all axes meet (3,), m.
        radius: of the rods, m.
    """
    points = distinct_points([*tips], 1e-6 + radius)
    solids: list[Solid] = []
    for a, b in itertools.pairwise(points):
        way = arc(a, b, centre)
        solids += [Rod(start, stop, radius) for start, stop in itertools.pairwise(way)]
    return solids or [Ball(points[0] if points else centre, 2.0 * radius)]


def arc(a: Array, b: Array, centre: Array, pieces: int = 12) -> Array:
    """Points (pieces + 1, 3) on the shorter great circle from a to b about a centre."""
    u, v = a - centre, b - centre
    n = np.cross(u, v)
    if np.linalg.norm(n) < 1e-9 * float(u @ u):
        # The same or opposite directions: any plane will do.
        n = np.cross(u, np.eye(3)[int(np.argmin(np.abs(u)))])
    side = np.cross(n, u)
    side = side * (np.linalg.norm(u) / np.linalg.norm(side))
    angle = float(np.arctan2(side @ v, u @ v))
    turn = np.linspace(0.0, angle, pieces + 1)[:, None]
    return np.asarray(centre + np.cos(turn) * u + np.sin(turn) * side)


def _rods(points: list[Array], radius: float) -> list[Rod]:
    if len(points) == 2:
        return [Rod(points[0], points[1], radius)]
    centre = np.mean(points, axis=0)
    return [
        Rod(point, centre, radius) for point in points if float(np.linalg.norm(point - centre)) > 0.1 * radius
    ]
