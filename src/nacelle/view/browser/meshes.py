"""Solids as triangles, round ones smooth: vertices (N, 3), m, and faces (M, 3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from nacelle.scene.faces import faces
from nacelle.shapes import solid as shapes
from nacelle.shapes.solid import Ball, Drawn, Rod
from nacelle.spatial.scalar import Array

_SIDES, _RINGS = 24, 12


class Triangles(NamedTuple):
    """Triangles: vertices (N, 3), m, and for each face three of them (M, 3), outward."""

    vertices: Array
    faces: Array


def one_mesh(meshes: Iterable[Triangles]) -> Triangles:
    """Several meshes as one."""
    parts = list(meshes)
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    return Triangles(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.faces + start for part, start in zip(parts, starts[:-1], strict=True)]),
    )


def solid_mesh(solid: Drawn) -> Triangles:
    """The triangles of a solid in its own frame."""
    if isinstance(solid, shapes.Mesh):
        return Triangles(solid.points, solid.triangles)
    if isinstance(solid, Rod):
        return _cylinder(np.asarray(solid.start), np.asarray(solid.stop), solid.radius)
    if isinstance(solid, Ball):
        return _sphere(np.asarray(solid.centre), solid.radius)
    # Flat faces, which share no corners: so their edges stay sharp.
    quads = faces(solid, np.inf)
    corners = quads.reshape(-1, 3)
    first = 4 * np.arange(len(quads))[:, None]
    triangles = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
    return Triangles(corners, triangles)


def _grid(rows: int, columns: int) -> Array:
    """Triangles between rows of vertices that close upon themselves."""
    k, i = (axis.ravel() for axis in np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij"))
    a, b = k * columns + i, k * columns + (i + 1) % columns
    c, d = b + columns, a + columns
    return np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def _cylinder(start: Array, stop: Array, radius: float) -> Triangles:
    length = float(np.linalg.norm(stop - start))
    axis = (stop - start) / length if length else np.array([0.0, 0.0, 1.0])
    u = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    u = u / np.linalg.norm(u)
    turn = np.linspace(0.0, 2.0 * np.pi, _SIDES, endpoint=False)[:, None]
    circle = radius * (np.cos(turn) * u + np.sin(turn) * np.cross(axis, u))
    side = Triangles(np.concatenate([start + circle, stop + circle]), _grid(2, _SIDES))
    k = np.arange(_SIDES)
    fan = np.stack([np.full(_SIDES, _SIDES), k, (k + 1) % _SIDES], axis=1)
    bottom = Triangles(np.concatenate([start + circle, [start]]), fan[:, [0, 2, 1]])
    top = Triangles(np.concatenate([stop + circle, [stop]]), fan)
    return one_mesh([side, bottom, top])


def _sphere(centre: Array, radius: float) -> Triangles:
    turn = np.linspace(0.0, 2.0 * np.pi, _SIDES, endpoint=False)
    rise = np.linspace(-0.5 * np.pi, 0.5 * np.pi, _RINGS + 1)
    ring = np.stack([np.cos(turn), np.sin(turn), np.zeros(_SIDES)], axis=1)
    pole = np.array([0.0, 0.0, 1.0])
    rows = [centre + radius * (np.cos(angle) * ring + np.sin(angle) * pole) for angle in rise]
    return Triangles(np.concatenate(rows), _grid(len(rows), _SIDES))
