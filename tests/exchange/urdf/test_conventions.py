"""Loops by the names of frames and by Drake's elements; what hints at a loop in another way is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.graph import Graph
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import read_xml
from support.pinocchio_files import File, errors
from support.urdf_files import (
    DRIVES,
    LEFT,
    LIMIT,
    LOOPS,
    RIGHT,
    TREE,
    joint_text,
    link_text,
    robot_document,
    write_file,
)


def frame_text(name: str, link: str, origin: str) -> str:
    """A frame as onshape-to-robot writes it: a link without mass on a fixed joint."""
    return f'<link name="{name}"/>\n' + joint_text(f"{name}_frame", (link, name), origin, kind="fixed")


# The second points of the hinge's axis y, on both rods.
POINTS = (
    frame_text("closing_tip_1", "left_rod", LEFT)
    + frame_text("closing_tip_2", "right_rod", RIGHT)
    + frame_text("closing_tip_1_z", "left_rod", 'xyz="0.25 0.09 0"')
    + frame_text("closing_tip_2_z", "right_rod", 'xyz="0.25 0.11 0"')
)
BALL = """<drake:ball_constraint><drake:ball_constraint_body_A name="left_rod"/>
  <drake:ball_constraint_p_AP value="0.25 {} 0"/><drake:ball_constraint_body_B name="right_rod"/>
  <drake:ball_constraint_p_BQ value="0.25 {} 0"/></drake:ball_constraint>\n"""
BUSHING = f"""<frame name="end_a" link="left_rod" {LEFT} rpy="1.5707963267948966 0 0"/>
  <frame name="end_c" link="right_rod" xyz="0.25 0.01 0" rpy="1.5707963267948966 0 0"/>
  <drake:linear_bushing_rpy><drake:bushing_frameA name="end_a"/><drake:bushing_frameC name="end_c"/>
  <drake:bushing_torque_stiffness value="{{}}"/><drake:bushing_torque_damping value="1 1 0"/>
  <drake:bushing_force_stiffness value="{{}}"/><drake:bushing_force_damping value="9 9 9"/>
  </drake:linear_bushing_rpy>\n"""
CONVENTIONS = {
    "frames": POINTS,
    "balls": BALL.format(-0.01, 0.01) + BALL.format(0.09, 0.11),
    "bushing": BUSHING.format("1e4 1e4 0", "1e5 1e5 1e5"),
}


def document(contents: str) -> str:
    """A document that may have Drake's elements."""
    return robot_document(TREE + contents + DRIVES).replace("<robot", '<robot xmlns:drake="x"', 1)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_hinge_is_closed_by_frames_and_by_elements_of_drake(tmp_path: Path, convention: str) -> None:
    done = nacelle.import_robot(write_file(tmp_path, document(CONVENTIONS[convention])))
    expected = nacelle.import_robot(write_file(tmp_path, document(LOOPS["loop"]), "loop.urdf"))
    closure = done.robot.closures[-1]
    assert closure.kind.value == "revolute"
    assert done.robot.motion.coordinates == expected.robot.motion.coordinates
    assert any("bushings hold" in loss for loss in done.losses) == (convention == "bushing")
    rng = np.random.default_rng(1)
    x, v, a = 0.1 * rng.normal(size=(5, 2)), rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    forces = [nacelle.inverse_dynamics(robot, x, v, a).tau for robot in (done.robot, expected.robot)]
    np.testing.assert_allclose(*forces, rtol=1e-11, atol=1e-12)


def test_one_pair_of_frames_is_a_ball(tmp_path: Path) -> None:
    frames = frame_text("closing_tip_1", "left_rod", LEFT) + frame_text("closing_tip_2", "right_rod", RIGHT)
    done = nacelle.import_robot(write_file(tmp_path, document(frames)))
    assert done.robot.closures[-1].kind.value == "spherical"


def graph_of(folder: Path, contents: str) -> Graph:
    """The graph of a five-bar with more contents."""
    path = write_file(folder, document(contents))
    return read_urdf(read_xml(path), path)


def test_drakes_tendon_with_equal_limits_is_a_coupling_and_its_spring_a_spring(tmp_path: Path) -> None:
    tendon = """<drake:tendon_constraint><drake:tendon_constraint_joint name="left_pin" a="2"/>
      <drake:tendon_constraint_joint name="right_pin" a="-3"/>
      <drake:tendon_constraint_lower_limit value="0.4"/><drake:tendon_constraint_upper_limit value="{}"/>
      <drake:tendon_constraint_offset value="0.1"/></drake:tendon_constraint>"""
    spring = """<drake:linear_spring_damper><drake:linear_spring_damper_body_A name="left_rod"/>
      <drake:linear_spring_damper_p_AP value="0 0.1 0"/><drake:linear_spring_damper_body_B name="right_rod"/>
      <drake:linear_spring_damper_p_BQ value="0.1 0 0"/><drake:linear_spring_damper_free_length value="0.3"/>
      <drake:linear_spring_damper_stiffness value="70"/><drake:linear_spring_damper_damping value="2"/>
      </drake:linear_spring_damper>"""
    graph = graph_of(tmp_path, tendon.format(0.4) + spring)
    (coupling,) = graph.couplings
    # 2 left - 3 right + 0.1 = 0.4
    assert (coupling.joint, coupling.follows) == ("left_pin", {"right_pin": 1.5})
    assert coupling.offset == pytest.approx(0.15, rel=1e-14)
    (strut,) = graph.struts
    assert (strut.stiffness, strut.length, strut.damping) == (70.0, 0.3, 2.0)
    distance = spring.replace("linear_spring_damper", "distance_constraint").replace(
        "free_length", "distance"
    )
    (strut,) = graph_of(tmp_path, distance).struts
    assert (strut.stiffness, strut.length, strut.damping) == (70.0, 0.3, 2.0)
    slack = graph_of(tmp_path, tendon.format(0.9))
    assert not slack.couplings
    assert any("it is no rigid coupling" in loss for loss in slack.report.losses)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (frame_text("closedloop1_A", "left_rod", LEFT) + frame_text("closedloop1_B", "right_rod", RIGHT),
         "the names closedloop1_A, closedloop1_B"),
        ('<loop_closure name="a"/>', "<loop_closure> hints at a loop and is not read"),
        (POINTS.replace('"left_rod"', '"right_rod"'), "that are on one body, 'right_rod', and 20 mm apart"),
        (BUSHING.format("1e4 0 0", "1e5 1e5 1e5"), "the bushing is no joint"),
        (BALL.format(-0.01, 0.01).replace("p_BQ", "p_CQ"), "has no <drake:ball_constraint_p_BQ>"),
        (BALL.format(-0.01, 0.01).replace("ball", "distance"), "holds the distance of two points"),
        ('<drake:weld_constraint><parent link="left_rod"/></drake:weld_constraint>', "there is no link"),
    ],
)  # fmt: skip
def test_loops_that_are_not_understood_are_refused_with_their_line(
    tmp_path: Path, contents: str, message: str
) -> None:
    with pytest.raises(DescriptionError) as caught:
        nacelle.import_robot(write_file(tmp_path, document(contents)))
    (problem,) = caught.value.problems
    assert message in str(problem)
    assert problem.line > 1


def test_pairs_of_frames_without_a_known_name_are_warned_of(tmp_path: Path) -> None:
    frames = frame_text("hand_A", "left_rod", LEFT) + frame_text("hand_B", "right_rod", RIGHT)
    done = nacelle.import_robot(write_file(tmp_path, document(frames)))
    assert any("hand_A and hand_B" in str(warning) for warning in done.warnings)


# A crank, a rod on a universal joint, and a rocker whose ball is a point that a closure file closes.
SPATIAL = (
    link_text("ground", 5.0, 0.0)
    + link_text("crank", 0.4, 0.05)
    + link_text("rod", 0.3, 0.06)
    + link_text("rocker", 0.5, 0.04)
    + joint_text("motor", ("ground", "crank"), 'xyz="0 0.02 0.1" rpy="0.2 0.1 -0.3"', LIMIT.format(9))
    + joint_text("cardan", ("crank", "rod"), 'xyz="0.1 0.01 0.02" rpy="0.1 0.7 -0.4"', kind="continuous")
    + joint_text("pivot", ("ground", "rocker"), 'xyz="0.4 0.1 0" rpy="0.6 -0.2 0.3"', kind="continuous")
    + joint_text("eye", ("rod", "end"), 'xyz="0.3 0.05 0.1"', kind="fixed")
    + link_text("end", 0.02, 0.0)
    + joint_text("ear", ("rocker", "lug"), 'xyz="0.05 0.02 0.25"', kind="fixed")
    + link_text("lug", 0.02, 0.0)
)


@pytest.mark.parametrize(
    "kind",
    ["UJOINT_ZY", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("UJOINT_XZ", "UJOINT_YX"))],
)
def test_universal_joints_have_their_axes_in_the_order_of_their_name(tmp_path: Path, kind: str) -> None:
    path = write_file(tmp_path, robot_document(SPATIAL))
    loops = "closed_loop: [[eye, ear]]\ntype: [3d]\nname_mot: [motor]\n"
    types = f"joint_name: [cardan]\njoint_type: [{kind}]\n"
    side = write_file(tmp_path, loops + types, "side.yaml")
    done = nacelle.import_robot(path, closures=side)
    assert done.robot.motion.n == 1
    assert max(errors(File(path, done.robot, side), 10).values()) < 1e-10
