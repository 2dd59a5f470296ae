"""Robots as files of other formats: dampers, inertia, points, names, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import mujoco as mj
import numpy as np
import pytest

import nacelle
from nacelle.errors import ExportError
from nacelle.exchange.graph import Axis, ExchangeReport, Graph, Link, RotationDamper, Solid
from nacelle.exchange.write.dampers import in_joints
from nacelle.exchange.write.exported import _WRITERS
from nacelle.exchange.write.inertia import completed, heavy_enough, is_sound
from nacelle.exchange.write.points import is_one_point
from nacelle.exchange.write.robot import assembled_graph
from nacelle.exchange.write.text import XmlNode, file_text, rpy
from nacelle.export.export import ROBOT_TARGETS
from nacelle.kinematics.mechanism.assembly import assemble
from nacelle.model.line_spring import LineSpring
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_rpy
from support.coupled_robots import coupled_robot
from support.library import library_robot
from support.random_robots import random_rotation

# ---- Chains of joints with massless bodies between: where they begin, and where they must end

Z = np.array([0.0, 0.0, 1.0])


# ---- Angular dampers: damping of the joint between the same bodies, or a loss


def test_dampers_become_damping_of_joints() -> None:
    body = Solid(1.0, np.zeros(3), np.eye(3))
    joints = (
        Link("turn", "base", "a", identity(), axes=(Axis(Z, damping=1.0),)),
        Link("ball", "a", "b", identity(), spherical=True),
        Link("slide", "b", "c", identity(), axes=(Axis(Z, turns=False, damping=1.0),)),
    )
    pairs = (("base", "a"), ("b", "a"), ("b", "c"), ("base", "c"))
    dampers = tuple(RotationDamper(f"d{k}", pair, 2.0) for k, pair in enumerate(pairs))
    graph = Graph("r", "r", np.zeros(3), dict.fromkeys("abc", body), joints, dampers=dampers)
    made = in_joints(graph)
    turn, ball, slide = made.joints
    assert (turn.axes[0].damping, ball.damping, slide.axes[0].damping) == (3.0, 2.0, 1.0)
    assert made.dampers == ()
    assert made.report.losses == ["angular dampers between bodies that no single joint joins left out: d3"]


# ---- Exporting a robot: files, their names, and that nothing is written where something is wrong


def test_files_and_their_names(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    done = nacelle.export_robot(robot, "urdf", out=tmp_path)
    assert [file.name for file in done.files] == ["fivebar.urdf", "fivebar.yaml"]
    assert done.files[0].read_text() == done.text
    named = nacelle.export_robot(robot, "mjcf", out=tmp_path / "mine.xml", name="my robot!")
    assert mj.MjModel.from_xml_path(str(named.files[0])).nu == 2
    assert '<mujoco model="my-robot">' in named.text
    assert nacelle.export_robot(robot, "sdf").files == ()


def test_nothing_is_replaced_or_half_written(tmp_path: Path) -> None:
    robot = library_robot("fivebar")
    beside = tmp_path / "a.yaml"
    beside.write_text("mine")
    with pytest.raises(nacelle.ExportError, match=r"a\.yaml is there already"):
        nacelle.export_robot(robot, "urdf", out=tmp_path / "a.urdf")
    with pytest.raises(nacelle.ExportError, match="beside the robot"):
        nacelle.export_robot(robot, "urdf", out=tmp_path / "b.yaml")
    with pytest.raises(nacelle.ExportError, match="there is no folder"):
        nacelle.export_robot(robot, "mjcf", out=tmp_path / "c" / "d.xml")
    with pytest.raises(nacelle.ExportError, match="did you mean 'mjcf'"):
        nacelle.export_robot(robot, "mjfc", out=tmp_path / "e.xml")
    assert [file.name for file in tmp_path.iterdir()] == ["a.yaml"]
    assert beside.read_text() == "mine"
    nacelle.export_robot(robot, "urdf", out=tmp_path / "a.urdf", force=True)
    assert beside.read_text() != "mine"


def test_one_list_of_formats() -> None:
    assert tuple(_WRITERS) == ROBOT_TARGETS
    with pytest.raises(nacelle.ExportError, match="export_robot writes it"):
        nacelle.export(library_robot("fivebar"), "inverse_dynamics", out="x", target="mjcf")


# ---- inertia
#
# Inertias that engines take: what does not count is chosen, what counts is kept or its change reported.


def test_planar_links_get_the_moments_that_they_never_feel() -> None:
    robot = library_robot("fivebar")
    about_z = np.diag([0.0, 0.0, 0.02])
    solids = [Solid(1.0, np.zeros(3), about_z) for _ in robot.bodies]
    report = ExchangeReport()
    for solid in completed(robot, assemble(robot), solids, report)[2:]:
        assert is_sound(solid)
        np.testing.assert_allclose(solid.inertia[2], [0.0, 0.0, 0.02], atol=1e-15)
    assert "never turns" in report.steps[0]


def test_what_slides_alone_may_have_any_moments() -> None:
    robot = coupled_robot("cart_pole")
    cart = robot.body("cart.cart")
    made = completed(robot, assemble(robot), _solids(robot), ExchangeReport())
    assert is_sound(made[cart])


def test_a_body_that_turns_keeps_its_moments() -> None:
    robot = library_robot("delta")
    solids = [Solid(1.0, np.zeros(3), np.diag([0.0, 1.0, 1.0])) for _ in robot.bodies]
    made = completed(robot, assemble(robot), solids, ExchangeReport())
    rod = robot.body("leg1.rod-a")
    np.testing.assert_array_equal(made[rod].inertia, solids[rod].inertia)


def test_the_least_that_an_engine_takes_is_reported() -> None:
    point = Solid(2.0, np.zeros(3), np.zeros((3, 3)))
    graph = Graph("r", "r", np.zeros(3), {"point": point, "none": Solid(), "sound": _SOUND}, ())
    made = heavy_enough(graph, list(graph.bodies), "Engine")
    assert all(is_sound(solid) for solid in made.bodies.values())
    assert made.bodies["sound"] is _SOUND
    assert made.bodies["point"].mass == 2.0
    assert np.max(made.bodies["point"].inertia) < 1e-11
    assert made.bodies["none"].mass < 1e-9
    assert len(made.report.losses) == 2


_SOUND = Solid(1.0, np.zeros(3), np.eye(3))


def _solids(robot: Robot) -> list[Solid]:
    return [replace(Solid(), mass=body.mass) for body in robot.bodies]


# ---- Point nacelles: joints between the legs' own bodies, and the point's mass at the same place


def test_what_is_no_single_point_is_a_body_on_strokes() -> None:
    robot = library_robot("delta-codourey")
    assert is_one_point(robot)
    aside = tuple(
        replace(joint, frame_successor=Pose(np.eye(3), np.array([0.01 * k, 0.0, 0.0])))
        for k, joint in enumerate(robot.closures)
    )
    wide = replace(robot, joints=(*robot.tree_joints, *aside))
    assert not is_one_point(wide)
    spring = LineSpring("s", (0, 1), (np.zeros(3), np.ones(3)), 1.0, 1.0)
    assert not is_one_point(replace(robot, springs=(spring,)))
    graph = assembled_graph(wide)
    strokes = [link for link in graph.joints if link.parent == "base" or "carrier" in link.parent]
    assert [link.kind for link in strokes].count("prismatic") == 3
    plate = robot.bodies[1].name
    assert graph.bodies[plate].mass == robot.bodies[1].mass
    np.testing.assert_allclose(graph.poses()[plate].p, assemble(wide).platform.p, atol=1e-12)


# ---- robot
#
# A robot as a graph: poses of its bodies, loops that are closed, a tree that reaches every body.


def test_loops_that_do_not_close_are_one_error() -> None:
    robot = library_robot("fivebar")
    far = robot.reference._replace(p=np.array([9.0, 9.0, 0.0]))
    with pytest.raises(ExportError, match="do not close at its reference pose"):
        assembled_graph(replace(robot, reference=far))


# ---- text
#
# XML as it is written: numbers that read back, rotations to the last digit, comments that end in time.


@pytest.mark.parametrize("tip", [0.0, 1e-9, 1e-5])
def test_angles_are_exact_at_right_angles_too(tip: float) -> None:
    rng = np.random.default_rng(1)
    listed = [random_rotation(rng) for _ in range(20)]
    listed += [rotation_rpy(np.array([0.3, sign * (0.5 * np.pi - tip), 0.7])) for sign in (1.0, -1.0)]
    for R in listed:
        np.testing.assert_allclose(rotation_rpy(rpy(R)), R, atol=4e-16)


def test_a_report_cannot_end_its_comment() -> None:
    root = XmlNode("a")
    root.add("b", name='x"<&>')
    report = ExchangeReport(["done -- so"], ["lost --> <c/>"])
    text = file_text(root, "title", report)
    assert ElementTree.fromstring(text).find("b").get("name") == 'x"<&>'  # type: ignore[union-attr]  # it is there
    assert text.count("-->") == 1
    assert "- lost - -> <c/>" in text
