"""Scene: animate, arrows, between, colours, faces, figure, marks, motion."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nacelle
from nacelle import load
from nacelle.errors import KinematicsError, NacelleError, UnreachableError
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import JointKind
from nacelle.model.robot import Robot
from nacelle.scene.colours import _HEX_BY_NAME, hex_colour, rgb
from nacelle.scene.configured import scene
from nacelle.scene.faces import box_faces, cylinder_faces, outward_normals, plate_faces, sphere_faces
from nacelle.scene.figure import (
    MAX_ARROW_LENGTH,
    Arrows,
    SceneItem,
    _as_motion,
    animate,
    body_points,
    finite_points,
    scene_figure,
    scene_page,
)
from nacelle.scene.geometry import BodyLink, joint_marks, link_frame, robot_geometry, stretch_link
from nacelle.scene.motion import motion_at_rest, poses_along, rotation_matrices_wxyz
from nacelle.shapes.configured import ConfiguredRobot
from nacelle.shapes.solid import Ball, Rod
from nacelle.spatial.pose import Pose, identity
from support.browser import chromium_page, fits, until
from support.described import mechanism
from support.library import library_robot

# ---- Pages of robots from poses and from results


def test_pages_are_written_once(tmp_path: Path) -> None:
    robot = nacelle.load("fivebar")
    place = animate(robot, out=tmp_path / "a.html")
    before = place.read_text(encoding="utf-8")
    assert 'class="scene3d"' in before
    with pytest.raises(NacelleError, match="exists already"):
        animate(robot, out=place)
    assert place.read_text(encoding="utf-8") == before
    animate(robot, reference_pose(robot) + 0.01, out=place, overwrite=True)
    assert place.read_text(encoding="utf-8") != before


def test_results_give_their_times() -> None:
    robot = nacelle.load("fivebar")
    x = np.tile(reference_pose(robot), (1300, 1))
    result = SimpleNamespace(t=np.linspace(0.0, 2.6, 1300), x=x)
    motion = _as_motion(robot, result, None)
    assert len(motion.times) <= 600
    assert motion.times[0] == 0.0
    assert motion.times[-1] == pytest.approx(2.6, abs=0.01)
    assert _as_motion(robot, x[:3], None).times[1] == pytest.approx(0.04)
    with pytest.raises(NacelleError, match="shape"):
        _as_motion(robot, np.zeros((2, 2, 2)), None)


# ---- Arrows: one scale for a set, and shapes that fit


def test_the_longest_arrow_is_a_part_of_the_extent() -> None:
    vectors = np.zeros((3, 2, 3))
    vectors[1, 0] = [0.0, 30.0, 40.0]
    vectors[2, 1] = np.nan
    arrows = Arrows("f", np.zeros((3, 2, 3)), vectors)
    assert arrows.largest == 50.0
    assert arrows.scale(2.0) * 50.0 == pytest.approx(2.0 * MAX_ARROW_LENGTH)
    assert Arrows("none", np.zeros((1, 1, 3)), np.zeros((1, 1, 3))).scale(1.0) == 0.0
    with pytest.raises(NacelleError, match=r"\(T, N, 3\)"):
        Arrows("f", np.zeros((3, 3)), np.zeros((3, 3)))


def test_traces_leave_out_what_is_not_finite() -> None:
    line = finite_points([[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(line, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


# ---- Colours by name and number


def test_names_are_those_of_css() -> None:
    from matplotlib.colors import CSS4_COLORS

    assert {name: f"#{number}" for name, number in _HEX_BY_NAME.items()} == {
        name: number.lower() for name, number in CSS4_COLORS.items()
    }


def test_colours() -> None:
    assert hex_colour(" Orange ") == "#ffa500"
    assert hex_colour("#AbC") == "#aabbcc"
    assert rgb("#ff0080") == (1.0, 0.0, 128 / 255)
    with pytest.raises(NacelleError, match="is no colour"):
        hex_colour("red; background: url(x)")


@pytest.mark.parametrize(
    "solid",
    [
        cylinder_faces(np.zeros(3), np.array([0.0, 0.3, 0.4]), 0.05, 0.1),
        cylinder_faces(np.zeros(3), np.array([0.0, 0.3, 0.4]), 0.05, 0.1, end=0.0),
        sphere_faces(np.array([1.0, 2.0, 3.0]), 0.2),
        box_faces(identity(), np.array([0.1, 0.2, 0.3]), 0.07),
        plate_faces([np.zeros(3), np.array([0.3, 0.0, 0.1]), np.array([0.1, 0.4, 0.0])], 0.01, 0.05),
    ],
)
def test_solids_are_closed(solid):
    """Solids are closed and look outwards."""
    # The vector areas of the faces of a closed surface add up to nothing.
    areas = 0.5 * np.cross(solid[:, 2] - solid[:, 0], solid[:, 3] - solid[:, 1])
    out = outward_normals(solid)
    total = np.linalg.norm(areas, axis=1)[:, None] * out
    np.testing.assert_allclose(total.sum(axis=0), 0.0, atol=1e-12)


def test_marks_are_at_their_joints() -> None:
    """Marks of joints: where they are, and on which bodies."""
    for name in ("delta", "gough-stewart", "3rps"):
        robot = library_robot(name)
        bodies = inverse_kinematics(robot, reference_pose(robot)).bodies
        configured = ConfiguredRobot(robot, [Pose(R, p) for R, p in zip(*bodies, strict=True)])
        for j, joint in enumerate(robot.joints):
            for b, solid in joint_marks(configured, j):
                assert b in (joint.predecessor, joint.successor)
                if joint.kind is JointKind.PRISMATIC:
                    continue
                centre = solid.centre if isinstance(solid, Ball) else None
                if isinstance(solid, Rod):
                    centre = 0.5 * (solid.start + solid.stop)
                np.testing.assert_allclose(centre, configured.ends[j][1].p, atol=1e-9)
            if joint.kind is JointKind.REVOLUTE:
                ((_, pin),) = joint_marks(configured, j)
                assert isinstance(pin, Rod)
                axis = (pin.stop - pin.start) / np.linalg.norm(pin.stop - pin.start)
                np.testing.assert_allclose(abs(axis @ configured.ends[j][0].R[:, 2]), 1.0)


# ---- Motions of bodies: those of the inverse kinematics, held where a pose is out of reach


def test_bodies_are_where_the_kinematics_says() -> None:
    robot = load("gough-stewart")
    x = np.tile(reference_pose(robot), (5, 1))
    x[:, 0] += np.linspace(0.0, 0.1, 5)
    motion = poses_along(robot, np.arange(5.0), x)
    R, p = inverse_kinematics(robot, x).bodies
    np.testing.assert_allclose(rotation_matrices_wxyz(motion.quaternion), R, atol=1e-12)
    np.testing.assert_array_equal(motion.position, p)
    assert motion.ok.all()
    assert np.all(np.sum(motion.quaternion[1:] * motion.quaternion[:-1], axis=-1) > 0.0)
    one = motion_at_rest(robot)
    np.testing.assert_allclose(one.position[0], p[0], atol=1e-12)


def test_poses_out_of_reach_are_held() -> None:
    robot = load("fivebar")
    x = np.tile(reference_pose(robot), (4, 1))
    x[0] += 9.0
    x[2] += 9.0
    motion = poses_along(robot, np.arange(4.0), x)
    np.testing.assert_array_equal(motion.ok, [False, True, False, True])
    np.testing.assert_array_equal(motion.position[0], motion.position[1])
    np.testing.assert_array_equal(motion.position[2], motion.position[1])
    with pytest.raises(UnreachableError):
        poses_along(robot, [0.0], x[:1])
    with pytest.raises(KinematicsError, match="times"):
        poses_along(robot, [0.0, 1.0], x[:1])


# ---- Springs and dampers between bodies: drawn from point to point at every pose, wires as thick as they are


def configured(robot: Robot, x: np.ndarray) -> list[Pose]:
    bodies = inverse_kinematics(robot, x, limits=False).bodies
    return [Pose(R, p) for R, p in zip(*bodies, strict=True)]


def only(robot: Robot, kind: str) -> BodyLink:
    (link,) = (link for link in robot_geometry(robot).links if link.kind == kind)
    return link


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0.0, 0.2, -0.2])
def test_a_spring_reaches_from_point_to_point(turn: float) -> None:
    """Along the line of its points it begins at one and ends at the other; across it is as wide as ever."""
    robot = mechanism("sprung_arm")
    x = reference_pose(robot) + turn
    poses = configured(robot, x)
    spring = robot.springs[0]
    first, second = (poses[b].R @ p + poses[b].p for b, p in zip(spring.bodies, spring.points, strict=True))
    (part,) = (part for part in scene(robot, x).parts if part.kind == "spring" and len(part.solids) > 2)
    axis = (second - first) / np.linalg.norm(second - first)
    along = (part.points - first) @ axis
    away = np.linalg.norm(part.points - first - along[:, None] * axis, axis=1)
    extent = robot_geometry(robot).extent
    np.testing.assert_allclose(
        [along.min(), along.max()], [0.0, np.linalg.norm(second - first)], atol=1e-9 * extent
    )
    np.testing.assert_allclose(away.max(), (0.016 + 0.0024) * extent, rtol=1e-9)


def test_a_coil_changes_its_pitch_and_not_its_wire() -> None:
    link = only(mechanism("sprung_arm"), "spring")
    winding = max(link.pieces, key=lambda piece: float(np.hypot(piece[..., 0], piece[..., 1]).max()))
    for length in (0.1, 0.4):
        ring = stretch_link(winding, length)[:, 0]
        np.testing.assert_allclose(np.ptp(ring[:, 2]), np.ptp(winding[:, 0, 2]), rtol=1e-12)
    corners, triangles = link.mesh
    assert len(np.unique(triangles)) == len(corners)
    assert float(corners[:, 3].min()) == 0.0
    assert float(corners[:, 3].max()) == 1.0


def test_a_damped_spring_has_a_dashpot_and_another_none() -> None:
    robot = mechanism("sprung_arm")
    bare = replace(robot, springs=tuple(replace(spring, damping=0.0) for spring in robot.springs))
    widths = [
        {round(float(np.hypot(piece[..., 0], piece[..., 1]).max()), 9) for piece in link.pieces}
        for link in (only(robot, "spring"), only(bare, "spring"))
    ]
    assert widths[1] < widths[0]


@pytest.mark.slow
def test_a_damper_is_between_the_joints_of_its_bodies() -> None:
    robot = mechanism("cassie_leg")
    link = only(robot, "damper")
    assert link.bodies == robot.dampers[0].bodies
    poses = configured(robot, reference_pose(robot))
    for b, end in zip(link.bodies, link.ends(poses), strict=True):
        joints = [
            (poses[body] @ frame).p
            for joint in robot.joints
            for body, frame in (
                (joint.predecessor, joint.frame_predecessor),
                (joint.successor, joint.frame_successor),
            )
            if body == b
        ]
        np.testing.assert_allclose(end, np.mean(joints, axis=0), atol=1e-12)
    assert {part.name for part in robot_geometry(robot).parts if part.kind == "damper"} == {link.name}


def test_a_link_without_length_has_a_frame() -> None:
    frame, length = link_frame(np.ones(3), np.ones(3))
    assert length == 0.0
    np.testing.assert_allclose(frame.R, np.eye(3), atol=1e-12)


# ---- Figures in space: what they hold, that nothing escapes from it, and that a browser turns and moves them

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\u2028"


def moving_item(name: str = "gough-stewart", **options: object) -> SceneItem:
    """A robot of the library that moves up and down, with a trace and arrows."""
    robot = load(name)
    times = np.linspace(0.0, 2.0, 41)
    x = np.tile(reference_pose(robot), (len(times), 1))
    x[:, 2] += 0.05 * np.sin(np.pi * times)
    motion = poses_along(robot, times, x)
    points = motion.position[:, 1:2]
    arrows = Arrows("weight", points, np.broadcast_to([0.0, 0.0, -9.81], points.shape), "N", "teal")
    trace = body_points(motion, 1)
    return SceneItem(robot_geometry(robot, motion), motion, (arrows,), traces=(trace,), **options)


def data_of(markup: str) -> dict[str, object]:
    (packed,) = re.findall(r'<script type="application/json" class="scene-data">(.*?)</script>', markup, re.S)
    data: dict[str, object] = json.loads(packed)
    return data


def test_hostile_names_stay_names() -> None:
    robot = load("fivebar")
    bodies = tuple(replace(body, name=HOSTILE) for body in robot.bodies)
    joints = tuple(replace(joint, name=HOSTILE) for joint in robot.joints)
    hostile = replace(robot, name=HOSTILE, bodies=bodies, joints=joints)
    geometry, motion = robot_geometry(hostile), motion_at_rest(hostile)
    arrows = Arrows(HOSTILE, np.zeros((1, 1, 3)), np.ones((1, 1, 3)))
    item = SceneItem(geometry, motion, (arrows,), label=HOSTILE)
    markup = scene_figure([item, item], caption=HOSTILE)
    assert "<img" not in markup
    assert markup.count("<script") == 1
    items = data_of(markup)["items"]
    assert isinstance(items, list)
    assert items[0]["name"] == HOSTILE
    assert {part["name"] for part in items[0]["parts"]} == {HOSTILE}


def test_pages_are_whole() -> None:
    page = scene_page([moving_item()], "A page")
    assert set(re.findall(r"https?://[^\s\"'`)<]+", page)) <= {"http://www.w3.org/1999/xhtml"}
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#|data:)""", page.split("<script>")[0])
    assert "Copyright 2010-2026 Three.js Authors" in page


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(NacelleError, match="at least one robot"):
        scene_figure([])
    item = moving_item()
    wrong = Arrows("x", np.zeros((3, 1, 3)), np.ones((3, 1, 3)))
    with pytest.raises(NacelleError, match="have 3 times, the motion has 41"):
        scene_figure([replace(item, arrows=(wrong,))])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(width: int, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    items = [moving_item()]
    if width == 390:
        items.append(moving_item("delta", offset=(1.5, 0.0, 0.0), label="the other"))
    file.write_text(scene_page(items, "Robots"), encoding="utf-8")
    with chromium_page(width, 480) as page:
        page.goto(file.as_uri())
        page.wait_for_selector("figure[data-ready=true]")
        assert fits(page)
        until(page, "Number(document.querySelector('figure').dataset.frame) > 2")
        page.get_by_role("button", name="pause").click()
        slider = page.get_by_role("slider", name="time")
        slider.fill("0.5")
        view = page.locator(".scene-view canvas")
        first = view.screenshot()
        slider.fill("1.5")
        moved = view.screenshot()
        assert moved != first
        box = view.bounding_box()
        page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.4 * box["height"], steps=3)
        page.mouse.up()
        assert view.screenshot() != moved


@pytest.mark.slow
def test_springs_stretch_with_the_motion(tmp_path: Path) -> None:
    """In the page a coil reaches from end to end at every time: its length is that of the kinematics."""
    robot = mechanism("sprung_arm")
    times = np.linspace(0.0, 2.0, 21)
    x = reference_pose(robot) + 0.3 * np.sin(np.pi * times)[:, None]
    motion = poses_along(robot, times, x)
    spring = robot.springs[0]
    first, second = (body_points(motion, b, p) for b, p in zip(spring.bodies, spring.points, strict=True))
    lengths = np.linalg.norm(second - first, axis=1)
    assert np.ptp(lengths) > 0.01
    file = tmp_path / "sprung.html"
    item = SceneItem(robot_geometry(robot, motion), motion)
    file.write_text(scene_page([item], "sprung", autoplay=False), encoding="utf-8")
    with chromium_page(640, 480) as page:
        page.goto(file.as_uri())
        until(page, "document.querySelector('figure.scene3d')?.dataset.ready === 'true'")
        for k in (0, 5, 15):
            drawn = page.evaluate(
                "t => { const f = document.querySelector('figure.scene3d').scene; f.show(t);"
                " const link = f.robots[0].links[0]; const b = link.mesh.geometry; b.computeBoundingBox();"
                " return [b.boundingBox.min.z, b.boundingBox.max.z, ...link.mesh.position.toArray()]; }",
                float(times[k]),
            )
            np.testing.assert_allclose(drawn, [0.0, lengths[k], *first[k]], atol=1e-6)
