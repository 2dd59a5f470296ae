"""Where meshes are, and why one is not read."""

from __future__ import annotations

from pathlib import Path

from nacelle.model.source.yaml import read_yaml
from nacelle.shapes.mesh_file import described_meshes, why_no_mesh


def test_meshes_are_below_the_description(tmp_path: Path) -> None:
    (tmp_path / "robot").mkdir()
    for name in ("robot/a.STL", "b.stl"):
        (tmp_path / name).touch()
    (tmp_path / "robot" / "link.stl").symlink_to(tmp_path / "b.stl")
    folder = str(tmp_path / "robot")
    assert why_no_mesh(folder, "a.STL") == ("", "")
    assert "leaves" in why_no_mesh(folder, "../b.stl")[0]
    assert "leaves" in why_no_mesh(folder, "link.stl")[0]
    assert "no file" in why_no_mesh("", "a.STL")[0]
    assert "cannot be read" in why_no_mesh(folder, "a\0.stl")[0]


def test_meshes_are_found_in_a_description() -> None:
    source = read_yaml("legs:\n- bodies: {a: {display: [{mesh: {file: a.stl}}]}}\nmesh: {file: 3}\n", "f")
    ((path, file),) = described_meshes(source.root)
    assert path == ("legs", 0, "bodies", "a", "display", 0, "mesh", "file")
    assert file == "a.stl"
