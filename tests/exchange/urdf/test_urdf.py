"""Urdf: drives, gazebo, gepetto, places, shapes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.graph import ExchangeReport, Graph, Motor
from nacelle.exchange.urdf.gepetto import read_side
from nacelle.exchange.urdf.places import Links, axis_of, pose_of
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.urdf.shapes import shapes_of
from nacelle.exchange.xml import parsed, read_xml
from support.urdf_files import DRIVES, ENDS, SIDE, TREE, robot, written

# ---- What drives joints of a URDF: transmissions, ros2_control, limits of effort


def motors(folder: Path, text: str) -> tuple[dict[str, Motor], Graph]:
    """Motors of a document by their joints, and its graph."""
    path = written(folder, robot(text))
    graph = read_urdf(read_xml(path), path)
    return {joint.name: joint.motor for joint in graph.joints if joint.motor is not None}, graph


def test_transmissions(tmp_path: Path) -> None:
    rotor = '<drake:rotor_inertia value="1e-4"/>'
    found, graph = motors(tmp_path, TREE + DRIVES.replace("</actuator>", f"{rotor}</actuator>"))
    left, right = found["left_motor"], found["right_motor"]
    assert (left.gear, left.force, left.speed, right.gear) == (20.0, 9.0, 12.0, 1.0)
    assert (left.name, right.name) == ("m1", "right_motor")
    assert math.isclose(next(j for j in graph.joints if j.name == "left_motor").axes[0].armature, 400e-4)
    assert not graph.report.steps


def test_a_differential_is_said(tmp_path: Path) -> None:
    ends = '<joint name="left_pin"/><joint name="right_pin"/>'
    both = f'<transmission name="d" type="Differential">{ends}</transmission>'
    found, graph = motors(tmp_path, TREE + both)
    assert set(found) == {"left_pin", "right_pin"}
    assert (
        graph.report.losses[-1]
        == "the transmission 'd' (Differential) left out: its joints are driven directly"
    )


def test_ros2_control_and_limits_of_effort(tmp_path: Path) -> None:
    system = """<ros2_control name="s" type="system"><joint name="left_pin">
      <command_interface name="effort"/></joint>
      <joint name="right_pin"><state_interface name="position"/></joint></ros2_control>"""
    assert set(motors(tmp_path, TREE + system)[0]) == {"left_pin"}
    found, _graph = motors(
        tmp_path, TREE.replace('name="right_motor"', 'name="right_motor" independent="false"')
    )
    assert set(found) == {"left_motor"}
    assert not found["left_motor"].sure


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<transmission name="t"><joint name="none"/></transmission>', "there is no joint 'none' to drive"),
        (
            '<transmission name="t"><joint name="tool_weld"/></transmission>',
            "is fixed, which a motor cannot drive",
        ),
        (DRIVES.replace(">20<", ">twenty<"), "<mechanicalReduction> must be a number, not 'twenty'"),
        (DRIVES.replace(">20<", ">0<"), "a reduction of zero"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        motors(tmp_path, TREE + text)
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > len(TREE.splitlines())


# ---- Joints of SDF within a URDF close its loops

WELD = """<gazebo><joint name="glue" type="{}"><pose>0.1 0.2 0.3 0 0 0.5</pose><parent>{}</parent>
  <child>right_rod</child>{}</joint></gazebo><gazebo reference="tool"><material>Red</material></gazebo>"""

AXIS = "<axis><xyz>0 1 0</xyz></axis>"


def test_frames_meet_in_the_drawn_pose(tmp_path: Path) -> None:
    for kind, parent, inner, made in (
        ("fixed", "left_rod", "", "fixed"),
        ("ball", "tool", "", "spherical"),
        ("revolute", "world", AXIS, "revolute"),
    ):
        path = written(tmp_path, robot(TREE + WELD.format(kind, parent, inner)))
        graph = read_urdf(read_xml(path), path)
        (closure,) = graph.closures
        assert closure.kind == made
        placed = graph.poses()
        one, other = placed[closure.parent] @ closure.at, placed[closure.child] @ closure.child_at
        np.testing.assert_allclose(one.p, other.p, atol=1e-15)
        np.testing.assert_allclose(one.R, other.R, atol=1e-15)
        np.testing.assert_allclose(closure.child_at.p, [0.1, 0.2, 0.3])
        assert graph.report.losses[-1] == "elements left out: <gazebo>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WELD.format("fixed", "none", ""), "there is no link 'none'"),
        (WELD.format("fixed", "right_rod", ""), "joins a link to itself"),
        (WELD.format("revolute", "left_rod", ""), "of the type 'revolute' has no axis or is not read"),
        (WELD.format("spline", "left_rod", AXIS), "of the type 'spline' has no axis or is not read"),
    ],
)
def test_errors_name_the_line_of_gazebo(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(written(tmp_path, robot(TREE + text)))
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > len(TREE.splitlines())


# ---- Closure files beside a URDF: loops, drives, types of joints; errors with their places


def test_points_types_and_motors(tmp_path: Path) -> None:
    side = (
        SIDE.replace("6d", "3D")
        + "joint_name: [tip_A, left_pin, tip_B]\njoint_type: [FIXED, UJOINT_YZ, SPHERICAL]\n"
    )
    said = read_side(written(tmp_path, side, "side.yaml"))
    assert [said.kind(name) for name in ("tip_A", "left_pin", "tip_B", "left_motor")] == [
        "fixed", "universal_yz", "spherical", ""
    ]  # fmt: skip
    ((one, other, welded),) = said.loops
    assert (one.value, other.value, welded) == ("tip_A", "tip_B", False)
    assert [node.value for node in said.motors or ()] == ["left_motor", "right_motor"]


def test_without_types_loops_are_welds(tmp_path: Path) -> None:
    assert read_side(written(tmp_path, "closed_loop: [[a, b]]\n", "side.yaml")).loops[0][2]
    assert read_side(written(tmp_path, "name_mot:\n", "side.yaml")).motors == ()


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (SIDE.replace("tip_B", "tip_C"), "side.yaml:1:23", "the URDF has no joint or link 'tip_C'"),
        (SIDE.replace("right_motor", "right"), "side.yaml:3:24", "the URDF has no joint 'right' to drive"),
        (SIDE.replace("6d", "5d"), "side.yaml:2:8", "'5d' is no type of a loop"),
        (SIDE.replace("[6d]", "[6d, 6d]"), "side.yaml:1:1", "'closed_loop' has 1 entries and 'type' 2"),
        ("joint_name: [tip]\njoint_type: [FIXED]\n", "side.yaml:1:14", "the URDF has no joint 'tip'"),
        ("loops: []", "side.yaml:1:1", "a closure file has no 'loops'"),
        ("closed_loop: [[a]]", "side.yaml:1:15", "a loop is a pair of names of frames"),
        ("closed_loop: [a: b", "side.yaml:1", "not YAML"),
        ("[1, 2]", "side.yaml:1:1", "a closure file is a mapping"),
        ("joint_name: [tip_A]\njoint_type: [BALL]\n", "side.yaml:2:14", "'BALL' is no type of a joint"),
    ],
)
def test_errors_name_the_place(tmp_path: Path, text: str, place: str, message: str) -> None:
    path, side = written(tmp_path, robot(TREE + ENDS)), written(tmp_path, text, "side.yaml")
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(path, closures=side)
    (problem,) = caught.value.problems
    assert place in str(problem)
    assert message in str(problem)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="there is no such file"):
        read_side(tmp_path / "side.yaml")


# ---- Places in URDF: origins, axes, names of links


def test_origins_and_axes() -> None:
    turned = pose_of(parsed(b'<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>', "a"))
    c, s = np.cos, np.sin
    # Roll, pitch and yaw about fixed axes: the first column of Rz(0.3) Ry(0.2).
    np.testing.assert_allclose(turned.R[:, 0], [c(0.3) * c(0.2), s(0.3) * c(0.2), -s(0.2)], atol=1e-15)
    half = pose_of(parsed(b'<origin quat_xyzw="0 0 2 0"/>', "a"))
    np.testing.assert_allclose(half.R, np.diag([-1.0, -1.0, 1.0]), atol=1e-15)
    np.testing.assert_allclose(axis_of(None), [1, 0, 0])
    np.testing.assert_allclose(axis_of(parsed(b'<axis xyz="0 3 4"/>', "a")), [0, 0.6, 0.8])


def test_links_by_name() -> None:
    links = Links({"left arm": "left-arm"})
    owner = parsed(b'<joint name="j"><parent link="left arm"/><child link="left_arm"/></joint>', "a.urdf")
    assert links.body(owner.first("parent"), owner) == "left-arm"
    with pytest.raises(DescriptionError, match=r"a\.urdf:1:42.*no link 'left_arm'.*did you mean 'left arm'"):
        links.body(owner.first("child"), owner)
    with pytest.raises(DescriptionError, match="<joint> 'j' does not say which links it joins"):
        links.body(None, owner)


# ---- Shapes of URDF links; meshes are a loss

TEXT = b"""<link name="a">
<visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>
<geometry><box size="0.1 0.2 0.3"/></geometry></visual>
<visual><geometry><cylinder radius="0.1" length="2"/></geometry></visual>
<visual><geometry><sphere radius="0.5"/></geometry></visual>
<visual><geometry><mesh filename="package://absent.stl"/></geometry></visual>
<visual><geometry><sphere radius="0"/></geometry></visual></link>"""


def test_shapes_and_their_places() -> None:
    report = ExchangeReport()
    box, cylinder, sphere = shapes_of(parsed(TEXT, "a.urdf"), report)
    assert (box.kind, box.size) == ("box", (0.1, 0.2, 0.3))
    np.testing.assert_allclose(box.at.R @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(box.at.p, [1, 2, 3])
    assert (cylinder.size, sphere.size) == ((0.1, 2.0), (0.5,))
    assert report.losses == ["meshes left out: bodies are drawn by their joints"]
