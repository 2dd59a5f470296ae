"""Meshes of bodies, read from the files beside the description. The one home of trimesh (extra `view`)."""

from __future__ import annotations

import importlib
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.errors import DrawingWarning
from nacelle.model.description.frame import FrameSpec
from nacelle.model.leg import Body
from nacelle.scene.faces import simplified
from nacelle.shapes.mesh_file import mesh_path, why_no_mesh
from nacelle.shapes.solid import Mesh

# Triangles of one mesh in a page; finer ones are made coarser.
MOST = 20_000


def body_meshes(body: Body, folder: str) -> list[Mesh]:
    """The meshes of a body in its frame; those that cannot be read are left out with a `DrawingWarning`.

    Args:
        body: the body.
        folder: of the description.
    """
    meshes = []
    for shape in body.display:
        if "mesh" in shape:
            try:
                meshes.append(_placed(shape["mesh"], folder, shape.get("color")))
            except _UnreadableError as error:
                words = f"body {body.name!r}: the mesh {shape['mesh']['file']!r} is not drawn: {error}"
                warnings.warn(words, DrawingWarning, stacklevel=2)
    return meshes


class _UnreadableError(Exception):
    """Why a mesh cannot be read."""


def _placed(data: dict[str, Any], folder: str, colour: str | None) -> Mesh:
    reason, _ = why_no_mesh(folder, data["file"])
    if reason:
        raise _UnreadableError(reason)
    path = mesh_path(folder, data["file"])
    stamp = path.stat()
    mesh = _read(path, stamp.st_mtime_ns, stamp.st_size)
    scale = float(data.get("scale", 1.0)) * np.array([-1.0 if data.get("mirror") else 1.0, 1.0, 1.0])
    # A reflection turns the triangles inside out.
    order = [0, 2, 1] if np.prod(scale) < 0.0 else [0, 1, 2]
    own = Mesh(mesh.points * scale, mesh.triangles[:, order], colour)
    return own.moved(FrameSpec.model_validate(data.get("at", {})).pose())


@lru_cache(maxsize=64)
def _read(path: Path, changed: int, size: int) -> Mesh:
    """Read a file; it is read again when it has changed."""
    try:
        trimesh = importlib.import_module("trimesh")
    except ImportError:
        raise _UnreadableError('meshes need trimesh: pip install "nacelle[view]"') from None
    try:
        # From the open file alone: nothing that it refers to is opened.
        with path.open("rb") as file:
            read = trimesh.load(file, file_type=path.suffix.lower().removeprefix("."), force="mesh")
        points = np.asarray(read.vertices, dtype=float)
        triangles = np.asarray(read.faces, dtype=int)
    except Exception as error:  # a reader of broken files may raise anything
        raise _UnreadableError(f"it cannot be read: {type(error).__name__}: {error}"[:300]) from None
    if not len(triangles) or not np.all(np.isfinite(points)):
        raise _UnreadableError("it has no triangles, or points that are not finite")
    return simplified(Mesh(points, triangles), MOST)
