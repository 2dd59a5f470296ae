"""Solids as quadrilaterals (faces, 4, 3), and sets of points."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from nacelle.shapes.solid import Ball, Block, DrawableSolid, Mesh, Rod
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# Triangles of a mesh in a picture on paper.
_MAX_PAINTED_TRIANGLES = 1500


def solid_faces(solid: DrawableSolid, max_size: float) -> Array:
    """Faces (faces, 4, 3) of a solid, none much longer than `max_size`, m."""
    if isinstance(solid, Rod):
        return cylinder_faces(solid.start, solid.stop, solid.radius, max_size)
    if isinstance(solid, Ball):
        return sphere_faces(solid.centre, solid.radius)
    if isinstance(solid, Block):
        return box_faces(solid.at, solid.size, max_size)
    if isinstance(solid, Mesh):
        # Painters are slow: a mesh of few triangles, each a quadrilateral with one corner twice.
        few = simplify_mesh(solid, _MAX_PAINTED_TRIANGLES)
        return np.asarray(few.points[few.triangles[:, [0, 1, 2, 2]]])
    return plate_faces([*solid.corners], solid.half, max_size)


def solid_corners(solid: DrawableSolid) -> Array:
    """Points (n, 3) whose convex hull is about that of a solid, m."""
    return solid.points if isinstance(solid, Mesh) else solid_faces(solid, np.inf).reshape(-1, 3)


def simplify_mesh(mesh: Mesh, max_triangles: int) -> Mesh:
    """Merge the points in each cell of a grid, the finest that leaves at most `max_triangles` triangles.

    (Rossignac and Borrel, Multi-resolution 3D approximations for rendering complex scenes, 1993.)
    """
    cells = 512
    result = mesh
    while len(result.triangles) > max_triangles and cells > 1:
        low, size = mesh.points.min(axis=0), float(np.max(np.ptp(mesh.points, axis=0))) / cells
        keys = np.floor((mesh.points - low) / (size or 1.0)).astype(int)
        _, index = np.unique(keys, axis=0, return_inverse=True)
        index = index.reshape(-1)
        counts = np.bincount(index)
        sums = [np.bincount(index, weights=mesh.points[:, k]) for k in range(3)]
        merged = index[mesh.triangles]
        proper = [merged[:, a] != merged[:, b] for a, b in ((0, 1), (1, 2), (2, 0))]
        result = replace(
            mesh, points=np.stack(sums, axis=1) / counts[:, None], triangles=merged[np.all(proper, axis=0)]
        )
        cells = int(0.7 * cells)
    return result


def cylinder_faces(
    start: Array, stop: Array, radius: float, max_size: float, *, end: float = 1.0, sides: int | None = None
) -> Array:
    """Faces of a cylinder between two points, none longer than `max_size`; a cone with `end` = 0.

    Args:
        start: centre of the first end (3,).
        stop: centre of the other end (3,).
        radius: its radius, m.
        max_size: longest face, m.
        end: radius at the other end, as a part of the first.
        sides: how many it has around; 12 if it is thin, else 40, if None.
    """
    start, stop = np.asarray(start, dtype=float), np.asarray(stop, dtype=float)
    length = float(np.linalg.norm(stop - start))
    axis = (stop - start) / length if length else np.array([0.0, 0.0, 1.0])
    across = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    across = across / np.linalg.norm(across)
    count = sides or (12 if radius < 0.5 * max_size else 40)
    angle = np.linspace(0.0, 2.0 * np.pi, count + 1)[:, None]
    circle = radius * (np.cos(angle) * across + np.sin(angle) * np.cross(axis, across))
    steps = max(1, int(np.ceil(length / max_size)))
    rings = [
        start + t * (stop - start) + (1.0 + t * (end - 1.0)) * circle
        for t in np.linspace(0.0, 1.0, steps + 1)
    ]
    discs = max(1, int(np.ceil(radius / (2.0 * max_size))))
    first = [start + t * circle for t in np.linspace(0.0, 1.0, discs + 1)]
    last = [stop + t * end * circle for t in np.linspace(1.0, 0.0, discs + 1)]
    return faces_between_rings([*first, *rings[1:-1], *last])


def triangulate(quads: Array) -> tuple[Array, Array]:
    """Corners (n, d) and triangles (m, 3), indices, of quadrilaterals (faces, 4, d), without empty ones."""
    points, index = np.unique(np.round(quads.reshape(-1, quads.shape[-1]), 12), axis=0, return_inverse=True)
    index = index.reshape(-1, 4)
    halves = np.concatenate([index[:, [0, 1, 2]], index[:, [0, 2, 3]]])
    proper = (halves[:, 0] != halves[:, 1]) & (halves[:, 1] != halves[:, 2]) & (halves[:, 2] != halves[:, 0])
    return points, halves[proper]


def plate_faces(corners: list[Array], half: float, face: float) -> Array:
    """Faces of a flat plate over the corners of a convex polygon.

    Args:
        corners: of the polygon, in turn (3,), m.
        half: half the thickness, m.
        face: longest face along the rim, m.
    """
    ring = np.array([*corners, corners[0]])
    pieces = [
        np.linspace(a, b, max(1, int(np.ceil(np.linalg.norm(b - a) / face))), endpoint=False)
        for a, b in itertools.pairwise(ring)
    ]
    outline = np.concatenate([*pieces, ring[:1]])
    centre = np.mean(corners, axis=0)
    normal = np.linalg.svd(ring[:-1] - centre)[2][2]
    steps = max(1, int(np.ceil(np.max(np.linalg.norm(ring - centre, axis=1)) / (2.0 * face))))
    rings = [centre + t * (outline - centre) for t in np.linspace(0.0, 1.0, steps + 1)]
    above, below = ([row + side * half * normal for row in rings] for side in (1.0, -1.0))
    return faces_between_rings([*below, *above[::-1]])


def sphere_faces(centre: Array, radius: float, sides: int = 16) -> Array:
    """Faces of a sphere, `sides` of them around its equator."""
    azimuth = np.linspace(0.0, 2.0 * np.pi, sides + 1)[:, None]
    circle = np.hstack([np.cos(azimuth), np.sin(azimuth), np.zeros_like(azimuth)])
    pole = np.array([0.0, 0.0, 1.0])
    rise = np.linspace(-0.5 * np.pi, 0.5 * np.pi, sides // 2 + 1)
    return faces_between_rings(
        [centre + radius * (np.cos(angle) * circle + np.sin(angle) * pole) for angle in rise]
    )


def box_faces(pose: Pose, size: Array, face: float) -> Array:
    """Faces of a box with its centre at a frame."""
    half = 0.5 * np.asarray(size, dtype=float)
    faces = []
    for k, sign in itertools.product(range(3), (-1.0, 1.0)):
        i, j = (k + 1) % 3, (k + 2) % 3
        lines = [
            np.linspace(-half[m], half[m], max(1, min(40, int(np.ceil(2.0 * half[m] / face)))) + 1)
            for m in (i, j)
        ]
        grid = np.empty((len(lines[0]), len(lines[1]), 3))
        grid[..., i], grid[..., j] = np.meshgrid(*lines, indexing="ij")
        grid[..., k] = sign * half[k]
        faces.append(faces_between_rings(list(grid if sign > 0.0 else grid[::-1])))
    return np.asarray(np.concatenate(faces) @ pose.R.T + pose.p)


def faces_between_rings(rings: list[Array]) -> Array:
    """Quadrilaterals (faces, 4, n) between rows of points (rows, points, n)."""
    net = np.stack(rings)
    corners = [net[:-1, :-1], net[1:, :-1], net[1:, 1:], net[:-1, 1:]]
    return np.stack(corners, axis=2).reshape(-1, 4, net.shape[-1])


def face_normals(faces: Array) -> Array:
    """Unit normals (faces, 3); zero where a face has no area."""
    normals = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(normals / np.where(length > 0.0, length, 1.0))


def outward_normals(solid: Array) -> Array:
    """Normals of a convex solid, pointing out of it."""
    normals = face_normals(solid)
    centres = solid.mean(axis=1)
    inward = np.einsum("fi,fi->f", normals, centres - centres.mean(axis=0)) < 0.0
    return np.asarray(np.where(inward[:, None], -normals, normals))
