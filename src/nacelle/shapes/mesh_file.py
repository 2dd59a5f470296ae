"""Files of meshes that a description names: below its own folder, and of a kind that can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nacelle.model.source.node import KeyPath, Node

# Kinds of files, by their endings.
MESH_ENDINGS = (".stl", ".obj", ".ply", ".off", ".glb", ".gltf")
# Larger files are no pictures of a robot.
_MAX_FILE_SIZE = 100_000_000


def mesh_path(folder: str, file: str) -> Path:
    """Where a mesh is: its path is relative to the folder of the description."""
    return Path(folder) / file


def mesh_reason(folder: str, file: str) -> tuple[str, str]:
    """Why a mesh cannot be read, and a hint; two empty texts if nothing speaks against it.

    Args:
        folder: of the description; "" if it is no file.
        file: the path as the description has it.
    """
    if not folder:
        return "the description is no file, and meshes are next to it", "load the robot from its file"
    try:
        path = mesh_path(folder, file)
        below = path.resolve().is_relative_to(Path(folder).resolve())
        if Path(file).is_absolute() or not below:
            return "its path leaves the folder of the description", "put the mesh next to the description"
        if not path.is_file():
            return f"there is no file {file} next to the description", ""
        if path.stat().st_size > _MAX_FILE_SIZE:
            return f"the file has more than {_MAX_FILE_SIZE // 1_000_000} MB", "simplify the mesh"
    except (OSError, ValueError) as error:
        return f"the file cannot be read: {getattr(error, 'strerror', None) or error}", ""
    if path.suffix.lower() not in MESH_ENDINGS:
        return f"{path.suffix or 'its ending'!r} is no kind of mesh", f"use one of {', '.join(MESH_ENDINGS)}"
    return "", ""


def find_meshes(node: Node, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Where an expanded description names meshes, and the files that it names."""
    if isinstance(node.value, dict):
        mesh = node.value.get("mesh")
        file = mesh.value.get("file") if mesh is not None and isinstance(mesh.value, dict) else None
        if file is not None and isinstance(file.value, str):
            yield (*path, "mesh", "file"), file.value
        for key, child in node.value.items():
            yield from find_meshes(child, (*path, key))
    elif isinstance(node.value, list):
        for k, child in enumerate(node.value):
            yield from find_meshes(child, (*path, k))
