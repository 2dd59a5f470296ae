"""Meshes of `display`: read from beside the description, or named and replaced by simpler shapes."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DrawingWarning
from nacelle.model.leg import Body
from nacelle.scene.faces import simplified
from nacelle.scene.figure import SceneItem, scene_figure
from nacelle.scene.geometry import robot_geometry
from nacelle.scene.meshes import body_meshes
from nacelle.scene.motion import still
from nacelle.scene.placed import scene
from nacelle.shapes.solid import Mesh

trimesh = pytest.importorskip("trimesh")

CARRIAGE = """format: nacelle/1
name: carriage
motion: [x, y]
nacelle:
  name: plate
  mass: 1 kg
  inertia: 0.01 0.01 0.01 kg*m^2
  display:
    - {mesh: {file: FILE, scale: 0.001, at: 0 0 10 mm}, color: teal}
legs:
  - name: guide
    bodies: {cart: {mass: 1 kg, inertia: 0.01 0.01 0.01 kg*m^2}}
    joints: {drive: {type: prismatic, parent: base, child: cart, axis: x, active: true}}
    closures: {lift: {type: prismatic, parent: cart, child: plate, axis: y, active: true}}
"""


def carriage(folder: Path, file: str) -> nacelle.Robot:
    place = folder / "carriage.yaml"
    place.write_text(CARRIAGE.replace("FILE", file), encoding="utf-8")
    return nacelle.load(place)


@pytest.mark.parametrize("kind", ["stl", "obj", "ply", "glb"])
def test_meshes_are_read_scaled_and_placed(tmp_path: Path, kind: str) -> None:
    (tmp_path / "parts").mkdir()
    trimesh.creation.box((100.0, 200.0, 20.0)).export(tmp_path / "parts" / f"plate.{kind}")
    robot = carriage(tmp_path, f"parts/plate.{kind}")
    geometry = robot_geometry(robot)
    (part,) = [part for part in geometry.parts if part.name == "plate"]
    (mesh,) = part.solids
    assert isinstance(mesh, Mesh)
    assert part.colours == ("#008080",)
    np.testing.assert_allclose(np.ptp(mesh.points, axis=0), [0.1, 0.2, 0.02], rtol=1e-6)
    np.testing.assert_allclose(mesh.points.mean(axis=0), [0.0, 0.0, 0.01], atol=1e-9)
    assert len(mesh.triangles) == 12
    assert '"mesh":{"points":' in scene_figure([SceneItem(geometry, still(robot))])
    painted = next(part for part in scene(robot).bodies if part.name == "plate")
    np.testing.assert_allclose(np.ptp(painted.points, axis=0), [0.1, 0.2, 0.02], rtol=1e-6)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("none.stl", "there is no file none.stl"),
        ("../outside.stl", "leaves the folder"),
        ("/etc/hostname", "leaves the folder"),
        ("broken.stl", "no triangles"),
        ("words.txt", "is no kind of mesh"),
    ],
)
def test_what_cannot_be_read_is_named_and_drawn_simply(tmp_path: Path, file: str, words: str) -> None:
    folder = tmp_path / "robot"
    folder.mkdir()
    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / "outside.stl")
    (folder / "broken.stl").write_bytes(b"no mesh at all")
    (folder / "words.txt").write_text("words", encoding="utf-8")
    robot = carriage(folder, file)
    with pytest.warns(DrawingWarning, match=rf"body 'plate': the mesh '.*' is not drawn: .*{words}"):
        geometry = robot_geometry(robot)
    (part,) = [part for part in geometry.parts if part.name == "plate"]
    assert part.solids
    assert not any(isinstance(solid, Mesh) for solid in part.solids)
    said = [
        problem for problem in nacelle.check(folder / "carriage.yaml").problems if "mesh" in problem.message
    ]
    assert [(problem.line, problem.severity) for problem in said] == (
        [] if "broken" in file else [(9, "warning")]
    )


def test_without_trimesh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trimesh.creation.box((1.0, 1.0, 1.0)).export(tmp_path / "box.stl")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.warns(DrawingWarning, match="nacelle\\[view\\]"):
        robot_geometry(carriage(tmp_path, "box.stl"))


def test_mirrored_meshes_look_outwards(tmp_path: Path) -> None:
    trimesh.creation.cone(1.0, 2.0).apply_translation([3.0, 0.0, 0.0]).export(tmp_path / "a.stl")
    shapes = ({"mesh": {"file": "a.stl"}}, {"mesh": {"file": "a.stl", "mirror": True}})
    plain, mirrored = body_meshes(Body("b", display=shapes), str(tmp_path))
    np.testing.assert_allclose(mirrored.points, plain.points * [-1.0, 1.0, 1.0])
    volumes = [np.sum(np.linalg.det(mesh.points[mesh.triangles])) / 6.0 for mesh in (plain, mirrored)]
    assert volumes[0] == pytest.approx(volumes[1])
    assert volumes[0] > 0.0


def test_fine_meshes_are_made_coarser() -> None:
    fine = trimesh.creation.icosphere(subdivisions=5)
    few = simplified(Mesh(np.array(fine.vertices), np.array(fine.faces)), 2000)
    assert 500 < len(few.triangles) <= 2000
    assert np.all(np.abs(np.linalg.norm(few.points, axis=1) - 1.0) < 0.03)
