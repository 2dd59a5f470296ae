"""URDF: drives, closures and couplings, and loops in the words of Gazebo and Gepetto."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Graph, Motor, UniqueNames
from nacelle.exchange.urdf.gepetto import read_closure_file
from nacelle.exchange.urdf.loops import LinkNames, read_closures
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import parse_xml, read_xml
from support.command import run
from support.urdf_files import (
    DRIVES,
    ENDS,
    LOOPS,
    SIDE,
    TREE,
    joint_text,
    link_text,
    robot_document,
    write_file,
)

# ---- What drives joints of a URDF: transmissions, ros2_control, limits of effort


def motors(folder: Path, text: str) -> tuple[dict[str, Motor], Graph]:
    """Motors of a document by their joints, and its graph."""
    path = write_file(folder, robot_document(text))
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
    assert not found["left_motor"].is_certain


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
        path = write_file(tmp_path, robot_document(TREE + WELD.format(kind, parent, inner)))
        graph = read_urdf(read_xml(path), path)
        (closure,) = graph.closures
        assert closure.kind == made
        placed = graph.poses()
        one, other = placed[closure.parent] @ closure.at, placed[closure.child] @ closure.child_at
        np.testing.assert_allclose(one.p, other.p, atol=1e-15)
        np.testing.assert_allclose(one.R, other.R, atol=1e-15)
        np.testing.assert_allclose(closure.child_at.p, [0.1, 0.2, 0.3])
        assert graph.report.losses[-1] == "elements left out: <gazebo>"


# ---- Closure files beside a URDF: loops, drives, types of joints; errors with their places


def test_points_types_and_motors(tmp_path: Path) -> None:
    side = (
        SIDE.replace("6d", "3D")
        + "joint_name: [tip_A, left_pin, tip_B]\njoint_type: [FIXED, UJOINT_YZ, SPHERICAL]\n"
    )
    said = read_closure_file(write_file(tmp_path, side, "side.yaml"))
    assert said.kinds == {"tip_A": "fixed", "left_pin": "universal_yz", "tip_B": "spherical"}
    ((one, other, welded),) = said.loops
    assert (one.value, other.value, welded) == ("tip_A", "tip_B", False)
    assert [node.value for node in said.motors or ()] == ["left_motor", "right_motor"]


def test_without_types_loops_are_welds(tmp_path: Path) -> None:
    assert read_closure_file(write_file(tmp_path, "closed_loop: [[a, b]]\n", "side.yaml")).loops[0][2]
    assert read_closure_file(write_file(tmp_path, "name_mot:\n", "side.yaml")).motors == ()


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
    path, side = write_file(tmp_path, robot_document(TREE + ENDS)), write_file(tmp_path, text, "side.yaml")
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(path, closures=side)
    (problem,) = caught.value.problems
    assert place in str(problem)
    assert message in str(problem)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="there is no such file"):
        read_closure_file(tmp_path / "side.yaml")


# ---- Closures and couplings in URDF: all dialects mean the same robot


def test_dialects_mean_the_same_robot(tmp_path: Path) -> None:
    texts = [
        nacelle.import_robot(write_file(tmp_path, robot_document(TREE + loop + DRIVES))).text
        for loop in LOOPS.values()
    ]
    assert texts[0] == texts[1] == texts[2]
    assert "tip:\n        type: revolute" in texts[0].split("closures:")[1]


def test_types_of_closures() -> None:
    text = """<robot><constraint name="a" type="universal_joint"><parent link="p"/><child link="c"/>
      <parent_origin xyz="1 0 0"/><parent_axis xyz="0 0 2"/><child_axis xyz="0.6 0.8 0"/></constraint>
    <constraint name="b" type="link"><parent link="p"/><child link="c"/></constraint>
    <loop name="c" type="planar"><predecessor link="p"/><successor link="c"/><axis xyz="1 0 0"/></loop>
    <loop_joint name="d" type="spherical"><link1 link="p"/><link2 link="c" xyz="0 0 1"/></loop_joint>
    <loop_joint name="e" type="prismatic"><link1 link="p"/><link2 link="c"/></loop_joint></robot>"""
    links = LinkNames({"p": "p", "c": "c"})
    universal, weld, planar, ball, slide = read_closures(
        parse_xml(text.encode(), "robot.urdf"), links, UniqueNames()
    )
    assert [universal.kind, weld.kind, ball.kind, slide.kind] == [
        "universal",
        "fixed",
        "spherical",
        "prismatic",
    ]
    # One axis is fixed in the parent's frame, the other in the child's.
    np.testing.assert_allclose(universal.at.R @ universal.axes[0].direction, [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(universal.child_at.R @ universal.axes[1].direction, [0.6, 0.8, 0], atol=1e-15)
    assert np.isclose(np.linalg.det(universal.at.R), 1.0)
    assert np.isclose(np.linalg.det(universal.child_at.R), 1.0)
    assert [axis.turns for axis in planar.axes] == [False, False, True]
    np.testing.assert_allclose(slide.axes[0].direction, [1, 0, 0])
    np.testing.assert_allclose(ball.child_at.p, [0, 0, 1])


def test_mimic_joints_and_couplings_over_chains(tmp_path: Path) -> None:
    """q_rotor = 6 (q_left + q_pin) for a rotor on the ground, and a finger that mimics a motor."""
    more = link_text("rotor", 0.1, 0.0) + link_text("finger", 0.1, 0.0)
    more += joint_text("rotor_pin", ("ground", "rotor"), 'xyz="0 0 0"', kind="continuous")
    mimic = '<mimic joint="right_motor" multiplier="-0.5" offset="0.2"/>'
    more += joint_text("finger_pin", ("right_rod", "finger"), 'xyz="0.1 0 0"', mimic, "continuous")
    ends = '<predecessor link="left_rod"/><successor link="rotor"/>'
    more += f'<coupling name="belt">{ends}<ratio value="6"/></coupling>'
    path = write_file(tmp_path, robot_document(TREE + more))
    finger, belt = read_urdf(read_xml(path), path).couplings
    assert (finger.joint, finger.follows, finger.offset) == ("finger_pin", {"right_motor": -0.5}, 0.2)
    assert (belt.joint, belt.follows) == ("rotor_pin", {"left_pin": 6.0, "left_motor": 6.0})


# ---- What is wrong behind the tree, with its line

LOOP = LOOPS["loop"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<transmission name="t"><joint name="none"/></transmission>', "there is no joint 'none' to drive"),
        (DRIVES.replace("right_motor", "tool_weld"), "is fixed, which a motor cannot drive"),
        (DRIVES.replace(">20<", ">twenty<"), "<mechanicalReduction> must be a number, not 'twenty'"),
        (DRIVES.replace(">20<", ">0<"), "a reduction of zero"),
        (WELD.format("fixed", "none", ""), "there is no link 'none'"),
        (WELD.format("fixed", "right_rod", ""), "joins a link to itself"),
        (WELD.format("revolute", "left_rod", ""), "of the type 'revolute' has no axis or is not read"),
        (WELD.format("spline", "left_rod", AXIS), "of the type 'spline' has no axis or is not read"),
        (LOOP.replace('type="revolute"', 'type="gearbox"'), "the closure 'tip' has the type 'gearbox'"),
        (LOOP.replace('link="right_rod"', 'link="other"'), "there is no link 'other'"),
        (LOOP.replace('link="right_rod"', 'link="left_rod"'), "joins a link to itself"),
        (LOOP.replace("<axis", '<axis xyz="0 0 0"/><axis'), "has no direction"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(write_file(tmp_path, robot_document(TREE + text)))
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > len(TREE.splitlines())


# ---- What the user names as driven


def test_named_joints_are_driven_and_no_other(tmp_path: Path) -> None:
    path = write_file(tmp_path, robot_document(TREE + LOOPS["loop"] + DRIVES))
    done = nacelle.import_robot(path, drive=["left_pin", "m1"])
    assert [actuator.name for actuator in done.robot.actuators] == ["bars.m1", "bars.left_pin"]
    assert "not driven, since others are named: right_motor" in done.steps
    assert nacelle.import_robot(path, drive=[]).robot.actuators == ()
    with pytest.raises(DescriptionError, match=r"no joint with one axis is called 'left_pim'.*'left_pin'"):
        nacelle.import_robot(path, drive=["left_pim"])


def test_the_joint_that_closes_a_loop_can_be_driven(tmp_path: Path) -> None:
    path = write_file(tmp_path, robot_document(TREE + LOOPS["loop"]))
    done = nacelle.import_robot(path, drive=["tip", "left_motor"])
    assert sorted(actuator.name for actuator in done.robot.actuators) == ["bars.left_motor", "bars.tip"]
    assert done.robot.motion.n == 2


def test_the_command_takes_a_list_of_drives(tmp_path: Path) -> None:
    path = write_file(tmp_path, robot_document(TREE + LOOPS["loop"]))
    run("import", str(path), "--out", str(tmp_path / "robot.yaml"), "--drive", "left_pin, right_pin")
    robot = nacelle.load(tmp_path / "robot.yaml")
    assert [actuator.name for actuator in robot.actuators] == ["bars.left_pin", "bars.right_pin"]
