"""Geometry in body frames: rods end at the joints at every pose; meshes of `display`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DrawingWarning
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import JointKind
from nacelle.model.leg import Body
from nacelle.model.robot import Robot
from nacelle.scene.configured import scene
from nacelle.scene.faces import simplify_mesh
from nacelle.scene.figure import SceneItem, scene_figure
from nacelle.scene.geometry import RobotGeometry, body_meshes, robot_geometry
from nacelle.scene.motion import motion_at_rest, poses_along
from nacelle.shapes.solid import Mesh, Rod
from support.library import library_robot


def bare(name: str) -> Robot:
    robot = library_robot(name)
    return replace(robot, bodies=tuple(replace(body, display=()) for body in robot.bodies))


def rods(geometry: RobotGeometry, body: int) -> list[Rod]:
    parts = [part for part in geometry.parts if part.body == body and part.kind != "joint"]
    return [solid for part in parts for solid in part.solids if isinstance(solid, Rod)]


def distance(point: np.ndarray, rod: Rod) -> float:
    bar = rod.stop - rod.start
    foot = rod.start + bar * np.clip((point - rod.start) @ bar / (bar @ bar), 0.0, 1.0)
    return float(np.linalg.norm(point - foot))


@pytest.mark.parametrize("name", ["delta", "3rrr", "gough-stewart", "orthoglide", "quattro"])
def test_rods_touch_at_the_joints_at_random_poses(name: str) -> None:
    """Placed by the kinematics, the rods of both bodies of a joint contain its centre, at poses all over."""
    robot = bare(name)
    geometry = robot_geometry(robot)
    reference = reference_pose(robot)
    x = np.random.default_rng(5).normal(reference, 0.02 * geometry.extent, (6, len(reference)))
    poses = inverse_kinematics(robot, x)
    R, p = (values[poses.reachable] for values in poses.bodies)
    assert len(R) > 2
    for joint in robot.joints:
        if joint.kind is JointKind.FIXED or joint.kind is JointKind.PRISMATIC or joint.at_point:
            continue
        pairs = ((joint.predecessor, joint.frame_predecessor.p), (joint.successor, joint.frame_successor.p))
        places = [R[:, b] @ own + p[:, b] for b, own in pairs]
        np.testing.assert_allclose(places[0], places[1], atol=1e-8 * geometry.extent)
        for b, own in pairs:
            if rods(geometry, b):
                assert min(distance(own, rod) for rod in rods(geometry, b)) < 1e-9 * geometry.extent


@pytest.mark.parametrize("name", ["gough-stewart", "palida", "3rps"])
def test_tubes_hold_their_rods_over_a_motion(name: str) -> None:
    robot = bare(name)
    reference = reference_pose(robot)
    x = np.tile(reference, (25, 1))
    x[:, 2] += 0.25 * abs(reference[2]) * np.sin(np.linspace(0.0, 2.0 * np.pi, 25))
    motion = poses_along(robot, np.arange(25.0), x)
    geometry = robot_geometry(robot, motion)
    R, p = inverse_kinematics(robot, x, limits=False).bodies
    struts = [joint for joint in robot.joints if joint.kind is JointKind.PRISMATIC]
    assert len(struts) >= 3
    for joint in struts:
        before, after = joint.predecessor, joint.successor
        axis = R[:, before] @ joint.frame_predecessor.R[:, 2]
        start = R[:, before] @ joint.frame_predecessor.p + p[:, before]
        stop = R[:, after] @ joint.frame_successor.p + p[:, after]
        stroke = np.sum(axis * (stop - start), axis=1)

        def along(b: int, point: np.ndarray, axis=axis, start=start) -> np.ndarray:
            return np.asarray(np.sum(axis * (R[:, b] @ point + p[:, b] - start), axis=1))

        (tube,), (rod,) = rods(geometry, before), rods(geometry, after)
        tube_low, tube_high = np.sort([along(before, tube.start), along(before, tube.stop)], axis=0)
        rod_low, rod_high = np.sort([along(after, rod.start), along(after, rod.stop)], axis=0)
        np.testing.assert_allclose(rod_high, stroke, atol=1e-8)
        assert np.all(rod_low < tube_high)
        assert np.all(rod_low > tube_low - 1e-9)
        assert np.all(tube_high <= stroke + 1e-9)


def test_joints_are_marked_by_kind() -> None:
    robot = library_robot("gough-stewart")
    geometry = robot_geometry(robot)
    marks = [part for part in geometry.parts if part.kind == "joint"]
    driven = {robot.joints[actuator.joint].name for actuator in robot.actuators}
    assert {part.name for part in marks if part.active} == driven
    universal = [joint for joint in robot.joints if joint.kind is JointKind.UNIVERSAL]
    for joint in universal:
        pins = [part for part in marks if part.name == joint.name]
        assert [part.body for part in pins] == [joint.predecessor, joint.successor]
    assert geometry.across is None
    assert robot_geometry(library_robot("fivebar")).across is not None


# ---- Plates, and arcs on a sphere, where nothing is described


def body_of(view, name):
    return next(part for part in view.bodies if part.name == name)


@pytest.mark.parametrize(("name", "corners"), [("gough-stewart", 6), ("3rps", 3), ("3rrr", 3)])
def test_platforms_without_shapes_are_plates(name, corners):
    robot = bare(name)
    view = scene(robot)
    solid = body_of(view, robot.bodies[1].name).solids[0]
    poses = inverse_kinematics(robot, reference_pose(robot)).bodies
    ends = np.array(
        [poses.R[1] @ joint.frame_successor.p + poses.p[1] for joint in robot.joints if joint.successor == 1]
    )
    assert len(np.unique(ends.round(9), axis=0)) == corners
    near = np.linalg.norm(solid.reshape(-1, 1, 3) - ends, axis=2).min(axis=0)
    np.testing.assert_allclose(near, 0.005 * view.extent, rtol=1e-6)


AGILE_EYE = """
format: nacelle/1
name: eye
motion: [rx, ry, rz]
platform: {name: camera, mass: 0.3 kg, com: 0 0 5 mm, inertia: 0.0003 0.0003 0.0002 kg*m^2}
templates:
  leg:
    bodies:
      proximal: {mass: 0.15 kg, com: 40 0 -40 mm, inertia: 0.0003 0.0004 0.0003 kg*m^2}
      distal: {mass: 0.1 kg, com: 0 -30 -30 mm, inertia: 0.0002 0.00015 0.00015 kg*m^2}
    joints:
      motor: {type: revolute, parent: base, child: proximal, axis: x, active: true}
      mid: {type: revolute, parent: proximal, child: distal, axis: [0, 0, -1]}
    closures:
      eye: {type: revolute, parent: distal, child: camera, axis: [0, -1, 0]}
legs:
  - {repeat: leg, placements: [{}, {axis: [1, 1, 1], angle: 120 deg}, {axis: [1, 1, 1], angle: 240 deg}]}
"""


def test_spherical_mechanisms_are_drawn_on_a_sphere():
    """All joints meet in one point: links are arcs at one distance from it that end at the joints' axes."""
    robot = nacelle.loads(AGILE_EYE)
    view = scene(robot)
    radius = 0.5 * view.extent
    assert radius == pytest.approx(np.hypot(0.04, 0.04))
    for name in ("leg1.proximal", "leg3.distal"):
        points = body_of(view, name).points
        distance = np.linalg.norm(points, axis=1)
        assert np.all(np.abs(distance - radius) < 0.05 * radius)
        # Links of 90 degrees.
        assert np.ptp(points, axis=0).max() == pytest.approx(radius, rel=0.2)
    marks = [part for part in view.parts if part.kind == "joint"]
    assert len(marks) == 9
    assert all(np.linalg.norm(part.points.mean(axis=0)) == pytest.approx(radius, rel=0.05) for part in marks)


# ---- Meshes of `display`: read from beside the description, or named and replaced by simpler shapes

trimesh = pytest.importorskip("trimesh")

CARRIAGE = """format: nacelle/1
name: carriage
motion: [x, y]
platform:
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
    assert '"mesh":{"points":' in scene_figure([SceneItem(geometry, motion_at_rest(robot))])
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
    with pytest.warns(DrawingWarning, match="nacelle-robotics\\[view\\]"):
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
    few = simplify_mesh(Mesh(np.array(fine.vertices), np.array(fine.faces)), 2000)
    assert 500 < len(few.triangles) <= 2000
    assert np.all(np.abs(np.linalg.norm(few.points, axis=1) - 1.0) < 0.03)
