"""Write: carriers, dampers, exported, inertia, joints, points, robot, shapes, text."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import mujoco as mj
import numpy as np
import pytest

import nacelle
from nacelle.errors import ExportError
from nacelle.exchange.exported import _WRITERS
from nacelle.exchange.graph import (
    BASE,
    Axis,
    ExchangeReport,
    Graph,
    Link,
    RotationDamper,
    Solid,
    Strut,
    UniqueNames,
)
from nacelle.exchange.mjcf.write import joint_chains
from nacelle.exchange.write.inertia import complete_inertias, is_physical, with_minimal_inertia
from nacelle.exchange.write.robot import (
    JointLinks,
    assembled_graph,
    is_one_point,
    with_dampers_in_joints,
    without_point,
)
from nacelle.exchange.write.shapes import body_shapes
from nacelle.exchange.write.text import XmlNode, file_text, joined_numbers, shortest_number
from nacelle.export.export import ROBOT_TARGETS
from nacelle.kinematics.mechanism.assembly import assemble
from nacelle.model.data import Actuator
from nacelle.model.joint import FrictionTerm, Interval, Joint, JointKind, Spring, Stop
from nacelle.model.leg import LineSpring
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_rpy, rpy_from_rotation
from support.described import mechanism
from support.library import library_robot
from support.random_robots.described import closed_robot
from support.random_robots.numbers import random_rotation

# ---- Chains of joints with massless bodies between: where they begin, and where they must end

Z = np.array([0.0, 0.0, 1.0])

HEAVY = Solid(1.0, np.zeros(3), np.eye(3))


def row(*kinds: str) -> Graph:
    """Bodies one after the other, all but the last without mass, on hinges (h), strokes (s) and balls (b)."""
    names = ["base", *(f"b{k}" for k in range(len(kinds)))]
    joints = tuple(
        Link(f"j{k}", names[k], names[k + 1], identity(), axes=(Axis(Z, turns=kind == "h"),))
        if kind != "b"
        else Link(f"j{k}", names[k], names[k + 1], identity(), spherical=True)
        for k, kind in enumerate(kinds)
    )
    bodies = {name: Solid() for name in names[1:-1]} | {names[-1]: HEAVY}
    return Graph("r", "r", np.zeros(3), bodies, joints)


def lengths(graph: Graph) -> list[int]:
    return [len(chain.links) for chain in joint_chains(graph)]


def test_joints_act_on_the_next_body_with_mass() -> None:
    (chain,) = joint_chains(row("s", "s", "b"))
    assert (chain.parent, chain.body, len(chain.links)) == ("base", "b2", 3)
    assert lengths(row("b", "s", "s")) == [3]


def test_chains_end_where_mujoco_cannot_go_on() -> None:
    assert lengths(row("b", "h")) == [1, 1]
    assert lengths(row("s", "b", "s", "h")) == [3, 1]
    assert lengths(row(*"hhhhhhh")) == [6, 1]


def test_chains_end_where_something_else_acts() -> None:
    graph = row("h", "h")
    strut = Strut("s", ("base", "b0"), (np.zeros(3), np.zeros(3)), 1.0, 1.0)
    held = Graph("r", "r", np.zeros(3), graph.bodies, graph.joints, struts=(strut,))
    assert lengths(held) == [1, 1]


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
    made = with_dampers_in_joints(graph)
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
    with pytest.raises(nacelle.errors.ExportError, match=r"a\.yaml is there already"):
        nacelle.export_robot(robot, "urdf", out=tmp_path / "a.urdf")
    with pytest.raises(nacelle.errors.ExportError, match="next to the robot"):
        nacelle.export_robot(robot, "urdf", out=tmp_path / "b.yaml")
    with pytest.raises(nacelle.errors.ExportError, match="there is no folder"):
        nacelle.export_robot(robot, "mjcf", out=tmp_path / "c" / "d.xml")
    with pytest.raises(nacelle.errors.ExportError, match="did you mean 'mjcf'"):
        nacelle.export_robot(robot, "mjfc", out=tmp_path / "e.xml")
    assert [file.name for file in tmp_path.iterdir()] == ["a.yaml"]
    assert beside.read_text() == "mine"
    nacelle.export_robot(robot, "urdf", out=tmp_path / "a.urdf", overwrite=True)
    assert beside.read_text() != "mine"


def test_one_list_of_formats() -> None:
    assert tuple(_WRITERS) == ROBOT_TARGETS
    with pytest.raises(nacelle.errors.ExportError, match="export_robot writes it"):
        nacelle.export(library_robot("fivebar"), "inverse_dynamics", out="x", target="mjcf")


# ---- inertia
#
# Inertias that engines take: what does not count is chosen, what counts is kept or its change reported.


def test_planar_links_get_the_moments_that_they_never_feel() -> None:
    robot = library_robot("fivebar")
    about_z = np.diag([0.0, 0.0, 0.02])
    solids = [Solid(1.0, np.zeros(3), about_z) for _ in robot.bodies]
    report = ExchangeReport()
    for solid in complete_inertias(robot, assemble(robot), solids, report)[2:]:
        assert is_physical(solid)
        np.testing.assert_allclose(solid.inertia[2], [0.0, 0.0, 0.02], atol=1e-15)
    assert "never turns" in report.steps[0]


def test_what_slides_alone_may_have_any_moments() -> None:
    robot = mechanism("cart_pole")
    cart = robot.body("cart.cart")
    made = complete_inertias(robot, assemble(robot), _solids(robot), ExchangeReport())
    assert is_physical(made[cart])


def test_a_body_that_turns_keeps_its_moments() -> None:
    robot = library_robot("delta")
    solids = [Solid(1.0, np.zeros(3), np.diag([0.0, 1.0, 1.0])) for _ in robot.bodies]
    made = complete_inertias(robot, assemble(robot), solids, ExchangeReport())
    rod = robot.body("leg1.rod-a")
    np.testing.assert_array_equal(made[rod].inertia, solids[rod].inertia)


def test_the_least_that_an_engine_takes_is_reported() -> None:
    point = Solid(2.0, np.zeros(3), np.zeros((3, 3)))
    graph = Graph("r", "r", np.zeros(3), {"point": point, "none": Solid(), "sound": _SOUND}, ())
    made = with_minimal_inertia(graph, list(graph.bodies), "Engine")
    assert all(is_physical(solid) for solid in made.bodies.values())
    assert made.bodies["sound"] is _SOUND
    assert made.bodies["point"].mass == 2.0
    assert np.max(made.bodies["point"].inertia) < 1e-11
    assert made.bodies["none"].mass < 1e-9
    assert len(made.report.losses) == 2


_SOUND = Solid(1.0, np.zeros(3), np.eye(3))


def _solids(robot: Robot) -> list[Solid]:
    return [replace(Solid(), mass=body.mass) for body in robot.bodies]


# ---- Point platforms: joints between the legs' own bodies, and the point's mass at the same place


def test_the_mass_is_divided_at_the_point() -> None:
    robot = library_robot("delta-codourey")
    joined = without_point(robot)
    assert [joint.kind for joint in joined.closures] == ["spherical", "spherical"]
    poses = assemble(robot).motion.poses
    for body, ten in joined.point_inertias.items():
        np.testing.assert_allclose(ten[0], robot.bodies[1].mass / 3.0)
        np.testing.assert_allclose(
            poses[body].R @ (ten[1:4] / ten[0]) + poses[body].p, poses[1].p, atol=1e-12
        )


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


def check(robot: Robot) -> None:
    graph, poses = assembled_graph(robot), assemble(robot).motion.poses
    placed = graph.poses()
    assert set(placed) == {BASE, *graph.bodies}
    for index, body in enumerate(robot.bodies):
        name = body.name.replace(".", "-")
        if name in graph.bodies:
            np.testing.assert_allclose(placed[name].R, poses[index].R, atol=1e-12)
            np.testing.assert_allclose(placed[name].p, poses[index].p, atol=1e-12 * robot.size)
    for closure in graph.closures:
        one, other = placed[closure.parent] @ closure.pose(), placed[closure.child]
        np.testing.assert_allclose(one.R, other.R, atol=1e-9)
        np.testing.assert_allclose(one.p, other.p, atol=1e-9 * robot.size)
    total = sum(body.mass for body in robot.bodies[1:]) + sum(load.inertia[0] for load in robot.payload)
    if not any(joint.kind == "fixed" for joint in robot.joints):
        assert sum(solid.mass for solid in graph.bodies.values()) == pytest.approx(total, rel=1e-12)
    # Every body has one joint; the rest close loops.
    assert len(graph.joints) == len(graph.bodies) - (graph.floating is not None)


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "h4"])
def test_bodies_are_where_the_robot_has_them(name: str) -> None:
    check(library_robot(name))


@pytest.mark.parametrize("name", ["biped", "carriage", "differential_wrist"])
def test_free_bases_and_couplings(name: str) -> None:
    robot = mechanism(name)
    check(robot)
    graph = assembled_graph(robot)
    assert (graph.floating is not None) == (name == "biped")
    assert len(graph.couplings) == len(robot.couplings)


@pytest.mark.parametrize("seed", range(6))
def test_random_robots(seed: int) -> None:
    check(closed_robot(seed).robot)


def test_loops_that_do_not_close_are_one_error() -> None:
    robot = library_robot("fivebar")
    far = robot.reference._replace(p=np.array([9.0, 9.0, 0.0]))
    with pytest.raises(ExportError, match="do not close at its reference pose"):
        assembled_graph(replace(robot, reference=far))


# ---- Shapes of an exported robot: those of the description, and plates as rods along their rims


def test_shapes_are_in_the_frames_of_their_bodies() -> None:
    robot = library_robot("fivebar")
    (rod,) = body_shapes(robot, assemble(robot).motion.poses, robot.body("left.proximal"))
    assert rod.kind == "cylinder"
    np.testing.assert_allclose(rod.size, (0.01, 0.2), rtol=1e-12)
    np.testing.assert_allclose(rod.at.p, [0.1, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(np.abs(rod.at.R[:, 2]), [1.0, 0.0, 0.0], atol=1e-12)


# ---- text
#
# XML as it is written: numbers that read back, rotations to the last digit, comments that end in time.


def test_numbers_read_back_to_the_last_bit() -> None:
    values = np.random.default_rng(0).normal(size=50) * 10.0 ** np.arange(-25, 25)
    assert [float(word) for word in joined_numbers(values).split()] == values.tolist()
    assert (shortest_number(2.0), shortest_number(-0.0)) == ("2", "0")


@pytest.mark.parametrize("tip", [0.0, 1e-9, 1e-5])
def test_angles_are_exact_at_right_angles_too(tip: float) -> None:
    rng = np.random.default_rng(1)
    listed = [random_rotation(rng) for _ in range(20)]
    listed += [rotation_rpy(np.array([0.3, sign * (0.5 * np.pi - tip), 0.7])) for sign in (1.0, -1.0)]
    for R in listed:
        np.testing.assert_allclose(rotation_rpy(rpy_from_rotation(R)), R, atol=4e-16)


def test_a_report_cannot_end_its_comment() -> None:
    root = XmlNode("a")
    root.add("b", name='x"<&>')
    report = ExchangeReport(["done -- so"], {"lost --> <c/>": []})
    text = file_text(root, "title", report)
    assert ElementTree.fromstring(text).find("b").get("name") == 'x"<&>'  # type: ignore[union-attr]  # it is there
    assert text.count("-->") == 1
    assert "- lost - -> <c/>" in text


# ---- Joints of a robot as links: their motion, what acts along their axes, and what is reported as lost


def test_what_acts_along_an_axis_goes_along() -> None:
    terms = (
        FrictionTerm("viscous", 1.0),
        FrictionTerm("coulomb", 2.0),
        FrictionTerm("cubic", 3.0),
        FrictionTerm("coulomb-smooth", 0.5, 0.1),
        FrictionTerm("stribeck", 4.0, 0.1),
    )
    joint = Joint(
        "leg.turn",
        JointKind.REVOLUTE,
        0,
        2,
        friction=(terms,),
        springs=(Spring(5.0, 0.3),),
        stops=(Stop(6.0, 7.0),),
        rotor_inertia=0.1,
        gear_ratio=3.0,
        limits=(Interval(4.0, 7.0),),
        drive_stiffness=100.0,
    )
    report = ExchangeReport()
    made = JointLinks({"leg.turn": Actuator("drive", 0, force=8.0)}, lambda name: name, UniqueNames(), report)
    (link,) = made.links(joint, Link("turn", "base", "arm", identity()), [-1.0])
    (axis,) = link.axes
    assert (axis.damping, axis.coulomb, axis.quadratic, axis.cubic) == (1.0, 2.5, 0.0, 3.0)
    assert (axis.stiffness, axis.rest, axis.stop) == (5.0, 0.3, 6.0)
    assert axis.armature == pytest.approx(0.9)
    # A whole turn further on it is within the limits.
    assert axis.value == pytest.approx(2.0 * math.pi - 1.0)
    assert axis.motor is not None
    assert (axis.motor.name, axis.motor.gear, axis.motor.force) == ("drive", 3.0, 8.0)
    words = " ".join(report.losses)
    for word in ("smooth", "stribeck", "dampers of end stops", "elasticity of drives"):
        assert word in words
    assert len(report.losses) == 4


def test_friction_of_spherical_joints_is_viscous() -> None:
    report = ExchangeReport()
    terms = ((FrictionTerm("viscous", 1.0), FrictionTerm("coulomb", 2.0)),)
    joint = Joint(
        "ball", JointKind.SPHERICAL, 0, 2, Pose(np.eye(3), np.ones(3)), friction=terms, rotor_inertia=0.2
    )
    made = JointLinks({}, lambda name: name, UniqueNames(), report)
    (link,) = made.links(joint, Link("ball", "base", "rod", identity()), [0.0, 0.0, 0.0, 1.0])
    assert (link.damping, link.armature) == (1.0, 0.2)
    assert "coulomb friction of spherical joints left out" in report.losses[0]
