"""Passes: articulated, drives, freedom, groups, lines, merge, motion, platform, roots, weightless."""

from __future__ import annotations

import dataclasses
import math
import random
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import mujoco as mj
import numpy as np
import pytest

import nacelle
from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, Axis, Coupling, Graph, Link, Motor, Solid, Strut
from nacelle.exchange.passes.bodies import without_fixed_joints, without_massless_ends
from nacelle.exchange.passes.groups import group_hinges, join_spherical_pairs
from nacelle.exchange.passes.motion import assemble_graph, choose_motion, without_dependent_motors
from nacelle.exchange.passes.platform import (
    count_legs,
    is_last_leg_body,
    mobility,
    with_articulated_platform,
    with_platform,
)
from nacelle.exchange.passes.roots import joint_at_pose, without_free_bodies
from nacelle.exchange.urdf.read import read_urdf
from nacelle.exchange.xml import read_xml
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_rpy
from nacelle.spatial.scalar import Array
from support.library import library_robot
from support.random_robots.varied import varied_library_robot
from support.urdf_files import DRIVES, LIMIT, LOOPS, TREE, robot_document, write_file

# ---- MJCF files with bodies, equalities and names in another order: the same robot, drawn by somebody else

_WIDTH = {0: 7, 1: 4, 2: 1, 3: 1}


def shuffle_file(text: str, seed: int) -> tuple[str, dict[str, str]]:
    """A file in another order, its bodies with names that say nothing; the old names by the new ones."""
    rng = random.Random(seed)
    model = mj.MjModel.from_xml_string(text)
    values = {}
    for joint in range(model.njnt):
        at = int(model.jnt_qposadr[joint])
        values[model.jnt(joint).name] = model.key_qpos[0][at : at + _WIDTH[int(model.jnt_type[joint])]]
    root = ET.fromstring(text)
    world, equalities = root.find("worldbody"), root.find("equality")
    assert world is not None
    assert equalities is not None
    for element in (*world.iter(), equalities):
        mixed = [child for child in element if child.tag in ("body", "connect", "weld")]
        for child in mixed:
            element.remove(child)
        rng.shuffle(mixed)
        element.extend(mixed)
    (key,) = root.iter("key")
    order = [joint.get("name") for joint in world.iter("joint")]
    key.set("qpos", " ".join(repr(float(v)) for name in order for v in values[name]))
    names = [body.get("name", "") for body in world.iter("body")]
    given = {name: f"b{k}x" for k, name in enumerate(rng.sample(names, len(names)))}
    for element in root.iter():
        for attribute in ("body1", "body2", *(["name"] if element.tag == "body" else [])):
            if attribute in element.attrib:
                element.set(attribute, given.get(element.attrib[attribute], element.attrib[attribute]))
    return ET.tostring(root, encoding="unicode"), {new: old for old, new in given.items()}


# ---- Platforms of several bodies, found without names: other orders, other numbers, tolerances

# The bodies of the platforms, by the descriptions of the library.
BODIES = {
    "delta4": {"plate", "tool"},
    "h4": {"side-1", "bar", "side-2"},
    "quattro": {"plate-1", "link-1", "plate-2", "link-2"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
def test_names_and_orders_do_not_matter(name: str, tmp_path: Path) -> None:
    text, names = shuffle_file(nacelle.export_robot(varied_library_robot(name, 1), "mjcf").text, 3)
    file = tmp_path / "robot.xml"
    file.write_text(text, encoding="utf-8")
    robot = nacelle.import_robot(file).robot
    assert robot.platform.kind == "articulated"
    assert {names[robot.bodies[body].name] for body in robot.platform.bodies} == BODIES[name]
    assert robot.motion.coordinates[:3] == ("x", "y", "z")
    assert len(robot.motion.coordinates) == 4
    assert len(robot.legs) == 4


@pytest.mark.slow
def test_legs_with_tolerances(tmp_path: Path) -> None:
    """Side parts that tilt a little as they move are still one platform."""
    robot = library_robot("h4")
    rng = np.random.default_rng(1)
    joints = []
    for joint in robot.joints:
        frame = joint.frame_predecessor
        if str(joint.kind) == "spherical":
            longer = 1.0 + 1e-3 * rng.uniform(-1.0, 1.0)
            joint = dataclasses.replace(joint, frame_predecessor=Pose(frame.R, longer * frame.p))
        joints.append(joint)
    robot = dataclasses.replace(robot, joints=tuple(joints))
    file = tmp_path / "robot.xml"
    nacelle.export_robot(robot, "mjcf", out=file)
    again = nacelle.import_robot(file).robot
    assert {again.bodies[body].name for body in again.platform.bodies} == BODIES["h4"]
    assert again.motion.coordinates == ("x", "y", "z", "turn")


@pytest.mark.slow
def test_the_body_that_is_placed_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "h4.xml"
    nacelle.export_robot(library_robot("h4"), "mjcf", out=file)
    done = nacelle.import_robot(file, platform="side-2")
    assert done.robot.bodies[1].name == "side-2"
    assert done.robot.motion.coordinates == ("x", "y", "z", "turn-2")
    assert "the platform is 'side-2' with 'side-1', 'bar', which 4 driven legs carry" in done.steps


def test_robots_without_one() -> None:
    z = np.array([0.0, 0.0, 1.0])
    drive = Axis(z, motor=Motor("m"))
    arm = Link("shoulder", BASE, "arm", identity(), axes=(drive,))
    graph = Graph("g", "g.xml", np.zeros(3), {"arm": Solid(1.0)}, (arm,))
    assert with_articulated_platform(graph) is None


# ---- Limits of effort suggest motors where loops leave joints independent

EVERYWHERE = TREE.replace('type="continuous">', 'type="revolute">' + LIMIT.format(3))


def driven_joints(graph: Graph) -> list[str]:
    """Names of driven joints."""
    assert all(joint.motor is None or joint.motor.is_certain for joint in graph.joints)
    return [joint.name for joint in graph.joints if joint.motor is not None]


def test_motors_of_a_loop_are_independent_from_the_base_outwards(tmp_path: Path) -> None:
    path = write_file(tmp_path, robot_document(EVERYWHERE + LOOPS["loop"]))
    graph = without_dependent_motors(read_urdf(read_xml(path), path))
    assert driven_joints(graph) == ["left_motor", "right_motor"]
    assert graph.report.steps == ["nothing says what is driven: left_motor, right_motor, by limits of effort"]


def test_without_loops_all_are_driven(tmp_path: Path) -> None:
    path = write_file(tmp_path, robot_document(EVERYWHERE))
    assert driven_joints(without_dependent_motors(read_urdf(read_xml(path), path))) == [
        "left_motor",
        "right_motor",
        "left_pin",
        "right_pin",
    ]


def test_what_a_file_says_stays(tmp_path: Path) -> None:
    path = write_file(
        tmp_path, robot_document(EVERYWHERE + LOOPS["loop"] + DRIVES.replace("right_motor", "left_pin"))
    )
    graph = read_urdf(read_xml(path), path)
    assert without_dependent_motors(graph) is graph
    assert driven_joints(graph) == ["left_motor", "left_pin"]


# ---- Motions of bodies by all joints at once

X, Y, Z = np.eye(3)


def translation_pose(*place: float) -> Pose:
    return Pose(np.eye(3), np.array(place))


def graph(joints: list[Link], closures: tuple[Link, ...] = ()) -> Graph:
    bodies = {joint.child: Solid(1.0) for joint in joints}
    return Graph("g", "g.xml", np.zeros(3), bodies, tuple(joints), closures)


def four_bar() -> Graph:
    """A parallelogram of sides 1 and 2 in the plane: the coupler only translates."""
    joints = [
        Link("a", BASE, "left", identity(), axes=(Axis(Z, value=0.5 * math.pi),)),
        Link("b", "left", "coupler", translation_pose(1.0, 0.0, 0.0), axes=(Axis(Z, value=-0.5 * math.pi),)),
        Link("c", BASE, "right", translation_pose(2.0, 0.0, 0.0), axes=(Axis(Z, value=0.5 * math.pi),)),
    ]
    end = Link(
        "d",
        "right",
        "coupler",
        translation_pose(1.0, 0.0, 0.0),
        translation_pose(2.0, 0.0, 0.0),
        axes=(Axis(Z),),
    )
    return graph(joints, (end,))


def test_a_parallelogram_has_one_motion_and_its_coupler_translates() -> None:
    found = mobility(assemble_graph(four_bar()))
    assert found.count == 1
    coupler = found.twists["coupler"][:, 0]
    np.testing.assert_allclose(np.delete(coupler, 0), 0.0, atol=1e-12)
    assert abs(coupler[0]) > 0.1
    np.testing.assert_allclose(found.rates["b"], -found.rates["a"], atol=1e-12)
    np.testing.assert_allclose(found.rates["d"], -found.rates["c"], atol=1e-12)
    assert not np.any(found.twists[BASE])


def test_couplings_bind_rates_in_their_units() -> None:
    chain = graph(
        [
            Link("turn", BASE, "nut", identity(), axes=(Axis(Z),)),
            Link("travel", "nut", "rod", translation_pose(0.0, 0.0, 3.0), axes=(Axis(Z, turns=False),)),
        ]
    )
    assert mobility(assemble_graph(chain)).count == 2
    found = mobility(assemble_graph(replace(chain, couplings=(Coupling("screw", "travel", {"turn": 0.5}),))))
    assert found.count == 1
    # Lengths count over the size: the farthest of base, nut and rod is 2 m from their centre.
    np.testing.assert_allclose(2.0 * found.rates["travel"], 0.5 * found.rates["turn"], atol=1e-12)


def test_the_spin_of_a_rod_between_balls_is_none() -> None:
    joints = [
        Link("slide", BASE, "block", identity(), axes=(Axis(X, turns=False),)),
        Link("ball", "block", "rod", identity(), spherical=True),
    ]
    rod = graph(
        joints,
        (
            Link(
                "end",
                "rod",
                BASE,
                translation_pose(0.0, 0.3, 0.4),
                translation_pose(0.0, 0.3, 0.4),
                spherical=True,
            ),
        ),
    )
    # Across the rod the block moves without a change of its length.
    assert mobility(assemble_graph(rod)).count == 1
    assert mobility(assemble_graph(graph(joints))).count == 4


# ---- Hinges through a point as one joint: the same motion at any coordinates

FRAMES = [
    Pose(rotation_rpy(np.array(n)), np.array(n))
    for n in ([0.3, 0.2, -0.4], [0.1, 0.7, 0.2], [-0.5, 0.1, 0.3])
]


def chain(directions: list[Array], values: list[float]) -> Graph:
    """Hinges whose axes go through one point, with massless bodies between them."""
    links, parent = [], BASE
    for k, (direction, value) in enumerate(zip(directions, values, strict=True)):
        last = k == len(directions) - 1
        child = "tool" if last else f"cross{k}"
        # Frames on the same body are the same, moved along the axis, so that all axes meet.
        along = Pose(np.eye(3), 0.2 * k * direction)
        at = (FRAMES[0] if k == 0 else FRAMES[k]) @ along
        links.append(
            Link(f"h{k}", parent, child, at, FRAMES[(k + 1) % 3] @ along, (Axis(direction, value=value),))
        )
        parent = child
    bodies = {link.child: Solid() for link in links} | {"tool": Solid(1.0)}
    return Graph("g", "g.xml", np.zeros(3), bodies, tuple(links))


@pytest.mark.parametrize("count", [2, 3])
def test_one_joint_moves_as_its_hinges(count: int) -> None:
    before = chain([X, Y, X][:count], [0.3, -0.8, 1.9][:count])
    if count == 3:
        before = chain([X, Y, Z], [0.3, -0.8, 1.9])
    after = group_hinges(before, ())
    (joint,) = after.joints
    assert joint.kind == ("universal" if count == 2 else "spherical")
    np.testing.assert_allclose(after.poses()["tool"].R, before.poses()["tool"].R, atol=1e-14)
    np.testing.assert_allclose(after.poses()["tool"].p, before.poses()["tool"].p, atol=1e-14)


def test_what_acts_on_a_hinge_keeps_it() -> None:
    graph = chain([X, Y], [0.3, -0.8])
    assert group_hinges(graph, ("h0",)).joints == graph.joints
    heavy = replace(graph, bodies=graph.bodies | {"cross0": Solid(0.1)})
    assert group_hinges(heavy, ()).joints == graph.joints
    skew = chain([X, np.array([0.6, 0.8, 0.0])], [0.3, -0.8])
    assert group_hinges(skew, ()).joints == skew.joints
    damped = chain([X, Y, Z], [0.3, -0.8, 1.9])
    first = replace(damped.joints[0], axes=(replace(damped.joints[0].axes[0], damping=1.0),))
    kinds = [
        joint.kind for joint in group_hinges(replace(damped, joints=(first, *damped.joints[1:])), ()).joints
    ]
    assert kinds == ["universal", "revolute"]


# ---- Points of closures on a line: the hinge keeps them together at every angle

MOVED = Pose(rotation_rpy(np.array([0.3, -0.4, 0.8])), np.array([0.1, 0.5, -0.2]))


def ball(name: str, point: list[float], turned: bool = False) -> Link:
    """A spherical closure at a point of the parent, which lies on the child as it does after MOVED."""
    here = np.array(point)
    made = Link(
        name, "a", "b", Pose(np.eye(3), here), Pose(np.eye(3), MOVED.R @ here + MOVED.p), spherical=True
    )
    return made.reverse() if turned else made


def graph_of_lines(*closures: Link) -> Graph:
    """Two bodies with closures."""
    return Graph("g", "g.xml", np.zeros(3), {"a": Solid(), "b": Solid()}, (), closures)


def test_two_points_make_a_hinge_through_both() -> None:
    balls = ball("p", [0.1, 0.2, 0.3]), ball("q", [0.1, 0.3, 0.5], turned=True), ball("r", [0.1, 0.4, 0.7])
    (hinge,) = join_spherical_pairs(graph_of_lines(*balls)).closures
    assert hinge.kind == "revolute"
    for angle in (0.0, 0.7, -2.0):
        turned = replace(hinge, axes=(replace(hinge.axes[0], value=angle),)).pose()
        for point in ([0.1, 0.2, 0.3], [0.1, 0.3, 0.5], [0.1, 0.4, 0.7]):
            on_child = MOVED.R @ np.array(point) + MOVED.p
            np.testing.assert_allclose(turned.R @ on_child + turned.p, point, atol=1e-14)


def test_points_that_differ_on_the_two_bodies_stay_apart() -> None:
    one, other = ball("p", [0.1, 0.2, 0.3]), ball("q", [0.1, 0.3, 0.5])
    longer = replace(other, at=Pose(np.eye(3), np.array([0.1, 0.3, 0.6])))
    assert join_spherical_pairs(graph_of_lines(one, longer)).closures == (one, longer)
    assert join_spherical_pairs(graph_of_lines(one, replace(other, parent="c"))).closures[0] is one


# ---- Free bodies that closures carry: the same mechanism, the same places

PLACES = {
    name: Pose(rotation_rpy(np.array(n)), np.array(n))
    for name, n in (("rod", [0.3, 0.2, -0.4]), ("plate", [0.1, 0.7, 0.2]), ("ball", [-0.5, 0.1, 0.3]))
}


def placed_at(name: str, point: list[float]) -> Pose:
    """A point of the room in the frame of a loose body."""
    return Pose(np.eye(3), (PLACES[name].inverse() @ Pose(np.eye(3), np.array(point))).p)


def mechanism() -> Graph:
    """A plate on three rods, all free; the first rod is held at its tip, which hangs on it."""
    tip = Link("hinge", "rod", "tip", identity(), axes=(Axis(Z, value=0.4),))
    placed = PLACES["rod"] @ tip.pose()
    tip_at = (placed.inverse() @ Pose(np.eye(3), np.array([0.0, 0.0, 1.0]))).p
    room = Pose(np.eye(3), np.array([0.0, 0.0, 1.0]))
    side = Pose(np.eye(3), np.array([1.0, 0.0, 0.0]))
    ends = (placed_at(body, [0.2, 0.0, 0.0]) for body in ("rod", "plate"))
    closures = (
        Link("foot", "tip", BASE, Pose(np.eye(3), tip_at), room, spherical=True),
        Link("top", "rod", "plate", *ends, spherical=True),
        Link("two", "plate", BASE, placed_at("plate", [1.0, 0.0, 0.0]), side, spherical=True),
    )  # fmt: skip
    bodies = {"rod": Solid(1.0), "tip": Solid(1.0), "plate": Solid(1.0), "ball": Solid(1.0)}
    return Graph("g", "g.xml", np.zeros(3), bodies, (tip,), closures, free_bodies=PLACES)


def test_closures_carry_free_bodies_where_they_were() -> None:
    before, after = mechanism(), without_free_bodies(mechanism())
    assert after.floating == "plate"
    assert after.free_bodies == {}
    assert [(j.name, j.parent, j.child) for j in after.joints] == [
        ("hinge", "tip", "rod"),
        ("foot", BASE, "tip"),
    ]
    assert [closure.name for closure in after.closures] == ["top", "two"]
    old, new = before.poses(), after.poses()
    assert set(new) == {BASE, "rod", "tip", "plate"}
    for name, pose in new.items():
        np.testing.assert_allclose(pose.p, old[name].p, atol=1e-14)
        np.testing.assert_allclose(pose.R, old[name].R, atol=1e-14)
    assert after.report.losses == ["the free body 'ball' left out: nothing ties it to the robot"]


def test_a_free_body_on_springs_alone_beside_another_is_refused() -> None:
    graph = mechanism()
    spring = Strut("spring", ("ball", "rod"), (np.zeros(3), np.zeros(3)), 1.0, 0.1)
    with pytest.raises(DescriptionError, match="no closure ties the free bodies 'ball'"):
        without_free_bodies(replace(graph, struts=(spring,)))


def test_coordinates_at_a_pose() -> None:
    frames = PLACES["rod"], PLACES["plate"]
    for axis in (Axis(Z, value=-2.1), Axis(Z, turns=False, value=0.7)):
        link = Link("l", "a", "b", *frames, (axis,))
        zeroed = replace(link, axes=(replace(axis, value=0.0),))
        assert np.isclose(joint_at_pose(zeroed, link.pose()).axes[0].value, axis.value, rtol=1e-14)


# ---- Joints that move nothing are left out, where nothing else holds what they carry


def hinge(name: str, parent: str, child: str, armature: float = 0.0) -> Link:
    """A hinge about x."""
    return Link(name, parent, child, identity(), axes=(Axis(np.array([1.0, 0.0, 0.0]), armature=armature),))


def graph_of_weightless(*joints: Link, **more: object) -> Graph:
    """An arm with mass; what else it carries has none."""
    bodies = {joint.child: Solid(1.0) if joint.child == "arm" else Solid() for joint in joints}
    return replace(Graph("g", "file", np.zeros(3), bodies, joints), **more)


ARM = hinge("shoulder", BASE, "arm")


def test_light_ends_go_from_the_outside_inwards() -> None:
    made = without_massless_ends(
        graph_of_weightless(ARM, hinge("a", "arm", "wheel"), hinge("b", "wheel", "cap"))
    )
    assert list(made.bodies) == ["arm"]
    assert [joint.name for joint in made.joints] == ["shoulder"]
    assert made.report.losses == [
        "the joint 'b' left out: what it moves has no mass",
        "the joint 'a' left out: what it moves has no mass",
    ]


def test_what_a_rotor_a_closure_or_a_coupling_moves_stays() -> None:
    joints = ARM, hinge("a", "arm", "wheel")
    for kept in (
        graph_of_weightless(ARM, hinge("a", "arm", "wheel", armature=0.1)),
        graph_of_weightless(*joints, closures=(hinge("c", BASE, "wheel"),)),
        graph_of_weightless(*joints, couplings=(Coupling("k", "a", {"shoulder": 2.0}),)),
    ):
        assert list(without_massless_ends(kept).bodies) == ["arm", "wheel"]


# ---- Welded bodies: mass, centre and inertia of the whole stay, and so does every other body's place


def pose_of_numbers(*numbers: float) -> Pose:
    """A pose that is turned and moved."""
    return Pose(rotation_rpy(np.array(numbers)), np.array(numbers))


def solid(mass: float) -> Solid:
    """A body without symmetries."""
    return Solid(mass, np.array([0.1, 0.2, mass]), np.diag([1.0, 2.0, 2.5]) * mass)


def momenta(graph: Graph) -> tuple[float, Array, Array]:
    """Mass, first and second moments about the base's origin of everything that moves."""
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for name, pose in graph.poses().items():
        if name == BASE:
            continue
        body = graph.bodies[name]
        c = pose.R @ body.com + pose.p
        mass, first = mass + body.mass, first + body.mass * c
        second += pose.R @ body.inertia @ pose.R.T + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return mass, first, second


def tree() -> Graph:
    """A hinge that carries a welded pair, and a strut on the last body."""
    links = (
        Link("hinge", BASE, "a", pose_of_numbers(0.1, 0.2, 0.3), axes=(Axis(Z, value=0.4),)),
        Link("weld", "a", "b", pose_of_numbers(0.4, -0.2, 0.1), pose_of_numbers(0.2, 0.1, 0.5)),
        Link("slide", "b", "c", pose_of_numbers(0.3, 0.3, -0.4), axes=(Axis(Z, turns=False, value=0.2),)),
    )
    bodies = {"a": solid(1.0), "b": solid(2.0), "c": solid(3.0)}
    strut = Strut("spring", ("b", "c"), (np.ones(3), np.zeros(3)), 10.0, 0.1)
    return Graph("g", "g.xml", np.zeros(3), bodies, links, struts=(strut,))


def test_merged_bodies_keep_moments_and_places() -> None:
    before, after = tree(), without_fixed_joints(tree())
    assert list(after.bodies) == ["a", "c"]
    for ours, theirs in zip(momenta(after), momenta(before), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(after.poses()["c"].p, before.poses()["c"].p, atol=1e-15)
    old, new = before.poses()["b"], after.poses()["a"]
    assert after.struts[0].bodies == ("a", "c")
    np.testing.assert_allclose(
        new.R @ after.struts[0].points[0] + new.p, old.R @ np.ones(3) + old.p, atol=1e-15
    )
    assert after.report.steps == ["welded to 'a' and merged into it: b"]


def test_a_joint_held_at_a_value_is_a_weld() -> None:
    held = without_fixed_joints(replace(tree(), couplings=(Coupling("hold", "slide", {}, 0.2),)))
    assert list(held.bodies) == ["a"]
    assert held.couplings == ()
    for ours, theirs in zip(momenta(held), momenta(tree()), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-14)


def test_a_welded_end_of_a_branch_is_cut_at_its_joint() -> None:
    graph = tree()
    poses = graph.poses()
    weld = Link(
        "stuck",
        "c",
        "a",
        pose_of_numbers(0.1, 0.1, 0.1),
        poses["a"].inverse() @ poses["c"] @ pose_of_numbers(0.1, 0.1, 0.1),
    )
    after = without_fixed_joints(replace(graph, closures=(weld,)))
    assert list(after.bodies) == ["a"]
    assert after.closures == ()
    assert "closes the loop" in after.report.steps[1]
    assert after.report.steps[2] == "the closure 'slide' has both ends on 'a' and is left out"
    for ours, theirs in zip(momenta(after), momenta(graph), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-14)


# ---- Independent joints of mechanisms whose mobility is known by counting

BODY = Solid(1.0, np.zeros(3), np.eye(3))


def driven_four_bar(closed_at: float = 1.0) -> Graph:
    """A parallelogram of edges 1 m and 0.5 m whose third joint is driven."""
    drive = Axis(Y, motor=Motor("drive"))
    links = (
        Link("crank", BASE, "a", translation_pose(0.0, 0.0, 0.0), axes=(Axis(Y, value=0.1),)),
        Link("knee", "a", "b", translation_pose(0.0, 0.0, 0.5), axes=(Axis(Y),)),
        Link("rocker", BASE, "c", translation_pose(1.0, 0.0, 0.0), axes=(drive,)),
    )
    loop = Link(
        "loop",
        "b",
        "c",
        translation_pose(closed_at, 0.0, 0.0),
        translation_pose(0.0, 0.0, 0.5),
        spherical=True,
    )
    return Graph("g", "g.xml", np.array([0.0, 0.0, -9.8]), dict.fromkeys("abc", BODY), links, (loop,))


def with_rod(rod: Solid, damping: float = 0.0) -> Graph:
    """The parallelogram with a rod between two balls as its coupler."""
    graph = driven_four_bar()
    ball = replace(graph.joints[1], axes=(), spherical=True, damping=damping)
    links = (graph.joints[0], ball, graph.joints[2])
    return replace(graph, joints=links, bodies={**graph.bodies, "b": rod})


@pytest.mark.parametrize(("bent", "damping"), [(0.01, 0.0), (0.0, 0.3)])
def test_a_rod_that_feels_its_spin_has_it_as_a_coordinate(bent: float, damping: float) -> None:
    rod = Solid(1.0, np.array([0.5, bent, 0.0]), np.diag([0.1, 1.0, 1.0]))
    chosen = choose_motion(with_rod(rod, damping))
    names = [joint.name for joint in chosen.graph.joints]
    assert names == ["crank", "knee-tilt", "knee-swing", "knee-spin", "rocker"]
    assert chosen.joints == ("knee-spin", "rocker")
    spin, pose = chosen.graph.joints[3], chosen.graph.poses()["b"]
    np.testing.assert_allclose(pose.R @ spin.child_at.R @ spin.axes[0].direction, pose.R[:, 0], atol=1e-9)
    assert [(damper.bodies, damper.damping) for damper in chosen.graph.dampers] == (
        [(("a", "b"), 0.3)] if damping else []
    )


def test_coordinates_of_a_platform_are_those_that_move() -> None:
    graph = driven_four_bar()
    carried = replace(graph, floating="b", pose=graph.poses()["b"], joints=(graph.joints[0], graph.joints[2]))
    chosen = choose_motion(replace(carried, closures=(*graph.closures, graph.joints[1])))
    assert (chosen.axes, chosen.joints) == (("x",), ())


def test_loops_that_do_not_close_are_named() -> None:
    with pytest.raises(DescriptionError, match=r"g\.xml: the loops do not close.*loop"):
        choose_motion(driven_four_bar(closed_at=5.0))
    with pytest.raises(DescriptionError, match="nothing moves"):
        choose_motion(Graph("g", "g.xml", np.zeros(3), {}, ()))


# ---- The body that driven legs carry


def legged_graph(legs: int) -> Graph:
    """Arms and rods that carry a plate, which hangs on the first in the tree."""
    joints, closures = [], []
    bodies = {}
    for k in range(legs):
        drive = Axis(Z, motor=Motor(f"m{k}"))
        joints += [
            Link(f"shoulder{k}", BASE, f"arm{k}", identity(), axes=(drive,)),
            Link(f"elbow{k}", f"arm{k}", f"rod{k}", identity(), spherical=True),
        ]
        bodies |= {f"arm{k}": Solid(1.0), f"rod{k}": Solid(1.0)}
        end = Link(f"end{k}", f"rod{k}", "plate", identity(), spherical=True)
        (closures if k else joints).append(end)
    return Graph("g", "g.xml", np.zeros(3), {**bodies, "plate": Solid(1.0)}, tuple(joints), tuple(closures))


def test_three_driven_legs_make_a_platform() -> None:
    made = with_platform(legged_graph(3))
    assert made.floating == "plate"
    assert [closure.name for closure in made.closures] == ["end1", "end2", "end0"]
    assert made.report.steps == ["the platform is 'plate', which 3 driven legs carry"]
    assert with_platform(legged_graph(2)).floating is None
    assert with_platform(legged_graph(3), "").floating is None
    assert with_platform(legged_graph(2), "rod1").floating == "rod1"


def test_two_driven_legs_and_a_guide_make_a_platform() -> None:
    graph = legged_graph(3)
    joints = tuple(
        replace(joint, axes=(Axis(Z),)) if joint.name == "shoulder2" else joint for joint in graph.joints
    )
    made = with_platform(replace(graph, joints=joints))
    assert made.floating == "plate"
    assert made.report.steps == ["the platform is 'plate', which 2 driven legs and 1 other carry"]
    one = tuple(replace(joint, axes=(Axis(Z),)) if joint.axes else joint for joint in graph.joints[2:])
    assert with_platform(replace(graph, joints=(*graph.joints[:2], *one))).floating is None


def meeting_rods(*places: float) -> Graph:
    """Rods of the second and third leg that end on the rod of the first."""
    graph = legged_graph(3)
    bodies = {name: solid for name, solid in graph.bodies.items() if name != "plate"}
    closures = tuple(
        Link(f"end{k}", f"rod{k}", "rod0", identity(), Pose(np.eye(3), np.array([place, 0.0, 0.0])), (), True)
        for k, place in enumerate(places, 1)
    )
    return replace(graph, bodies=bodies, joints=graph.joints[:2] + graph.joints[3:], closures=closures)


def test_the_last_link_of_a_leg_that_ends_in_a_point_is_none() -> None:
    point = meeting_rods(0.6, 0.6)
    assert is_last_leg_body(point, "rod0")
    assert with_platform(point).floating is None
    # Where they end apart, it is a plate on three legs of which one is short.
    plate = meeting_rods(0.6, 0.7)
    assert not is_last_leg_body(plate, "rod0")
    assert with_platform(plate).floating == "rod0"
    assert count_legs(plate, ["rod0"]).driven == 3
    assert count_legs(plate, ["rod0", "rod1"], "rod1").driven == 1


def test_names_that_are_none() -> None:
    with pytest.raises(DescriptionError, match=r"no body is called 'plates'.*plate"):
        with_platform(legged_graph(3), "plates")
    with pytest.raises(DescriptionError, match="'plate' moves freely"):
        with_platform(with_platform(legged_graph(3)), "rod1")
