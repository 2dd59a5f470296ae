"""Mass, centre and inertia of homogeneous solids: boxes, ellipsoids, cylinders, capsules, cones, meshes.

A closed mesh is the sum of the tetrahedra between the origin and its triangles a, b, c (points as columns of
P), each with the sign of its volume v = det P / 6:

    centre (a + b + c) / 4,     second moments  v / 20 (P P^T + s s^T),  s = a + b + c
"""

from __future__ import annotations

import math

import numpy as np

from nacelle.exchange.graph import Solid
from nacelle.spatial.scalar import Array


def box(size: Array, density: float) -> Solid:
    """A box by its edges (3,), about its middle."""
    mass = density * float(np.prod(size))
    return _solid(mass, np.diag(size**2) / 12.0)


def ellipsoid(radii: Array, density: float) -> Solid:
    """An ellipsoid by its half axes (3,)."""
    mass = density * 4.0 / 3.0 * math.pi * float(np.prod(radii))
    return _solid(mass, np.diag(radii**2) / 5.0)


def cylinder(radius: float, length: float, density: float) -> Solid:
    """A cylinder along z."""
    mass = density * math.pi * radius**2 * length
    return _solid(mass, np.diag([radius**2 / 4.0, radius**2 / 4.0, length**2 / 12.0]))


def capsule(radius: float, length: float, density: float) -> Solid:
    """A cylinder along z with a half ball at either end."""
    middle = cylinder(radius, length, density)
    ball = ellipsoid(np.full(3, radius), density)
    # The centre of a half ball is 3/8 r from its flat side.
    away = ball.mass * (0.25 * length**2 + 0.375 * radius * length) * np.diag([1.0, 1.0, 0.0])
    return Solid(middle.mass + ball.mass, np.zeros(3), middle.inertia + ball.inertia + away)


def cone(radius: float, length: float, density: float) -> Solid:
    """A cone along z, its base at -length/2, its tip at length/2."""
    mass = density * math.pi * radius**2 * length / 3.0
    moments = np.diag([3.0 * radius**2 / 20.0, 3.0 * radius**2 / 20.0, 3.0 * length**2 / 80.0])
    solid = _solid(mass, moments)
    return Solid(mass, np.array([0.0, 0.0, -0.25 * length]), solid.inertia)


def mesh(points: Array, triangles: Array, density: float) -> Solid:
    """A closed mesh by its points (n, 3) and the indices of its triangles (m, 3), seen from outside.

    Raises:
        ValueError: if the triangles enclose no volume.
    """
    start = points.mean(axis=0)
    P = (points - start)[triangles]
    volumes = np.linalg.det(P) / 6.0
    volume = float(volumes.sum())
    extent = float(np.prod(np.ptp(points, axis=0)))
    if not volume > 1e-9 * extent:
        raise ValueError("its triangles enclose no volume, or are seen from inside")
    corners = P.sum(axis=1)
    centre = volumes @ corners / 4.0 / volume
    second = (
        np.einsum("t,tki,tkj->ij", volumes, P, P) + np.einsum("t,ti,tj->ij", volumes, corners, corners)
    ) / 20.0
    about_centre = density * (second - volume * np.outer(centre, centre))
    solid = _solid(1.0, about_centre)
    return Solid(density * volume, start + centre, solid.inertia)


def _solid(mass: float, second_moments: Array) -> Solid:
    """A body by its mass and its second moments over the mass (3, 3), about its centre."""
    trace = float(np.trace(second_moments))
    return Solid(mass, np.zeros(3), mass * (trace * np.eye(3) - second_moments))
