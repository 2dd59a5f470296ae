"""What a leg is: the same however it is written, and another one as soon as its geometry is another one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.kinematics.legs.chain import axis_relation
from nacelle.kinematics.legs.leg_type import LegType, leg_type
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import Joint, JointKind
from nacelle.model.read import read_text
from nacelle.model.robot import Robot
from nacelle.sketch.sketch import sketch
from nacelle.spatial.pose import Pose
from nacelle.tree.spanning_tree import tree_kinematics
from support.pairwise import pairwise
from support.random_robots.described import closed_robot
from support.random_robots.legs import CASES, PLATE, draft, unit
from support.random_robots.numbers import random_pose

SINGLE = [name for name in CASES if "+" not in name]
# Cases whose type hangs on numbers, not on the kinds of their joints alone.
BY_NUMBERS = [
    "6 RRPS",
    "6 PRRS",
    "6 RRRS with axes that meet",
    "6 RRRS with a pair first",
    "6 URS",
    "planar RRR",
    "planar PRR",
    "planar RPR",
    "point RRR",
    "point PRR",
    "point RPR",
    "3 URU",
    "3 PRPaR",
    "3 RRPaR",
]
BY_KINDS = [name for name in SINGLE if name not in BY_NUMBERS]


def types(robot: Robot) -> list[LegType]:
    return [leg_type(robot, leg) for leg in robot.legs]


def facts(robot: Robot) -> list[tuple[object, ...]]:
    """What is said of each leg, without indices of joints and bodies."""
    return [
        (
            kind.name,
            kind.elements,
            kind.form,
            kind.reason,
            kind.planar,
            kind.misalignment,
            kind.parallelogram is None,
            [group.letter for group in kind.trunk],
            sorted(tuple(group.letter for group in branch) for branch in kind.branches),
            sorted(link.spherical for link in kind.links),
        )
        for kind in types(robot)
    ]


def with_frames(robot: Robot, change: Callable[[Joint, str, Pose], Pose]) -> Robot:
    """The robot with other frames: `change` is given a joint, and name and pose of one of its frames."""
    sides = ("frame_predecessor", "frame_successor")
    joints = [
        dataclasses.replace(joint, **{side: change(joint, side, getattr(joint, side)) for side in sides})
        for joint in robot.joints
    ]
    return dataclasses.replace(robot, joints=tuple(joints))


def shaken(robot: Robot, size: float, seed: int = 0) -> Robot:
    """Every frame moved by that part of the robot's size, and turned by as many radians."""
    rng = np.random.default_rng(seed)

    def change(joint: Joint, side: str, frame: Pose) -> Pose:
        move, turn = (size * unit(rng.normal(size=3)) for _ in range(2))
        return Pose(frame.R @ Rotation.from_rotvec(turn).as_matrix(), frame.p + robot.size * move)

    return with_frames(robot, change)


# -------------------------------------------------------------------------- other ways to write a leg


def other_body_frames(robot: Robot, rng: np.random.Generator) -> Robot:
    to = [random_pose(rng) for _ in robot.bodies]

    def change(joint: Joint, side: str, frame: Pose) -> Pose:
        return to[joint.predecessor if side == "frame_predecessor" else joint.successor] @ frame

    return with_frames(robot, change)


def reversed_axes(robot: Robot, rng: np.random.Generator) -> Robot:
    over = Pose(np.diag([1.0, -1.0, -1.0]), np.zeros(3))
    flipped = {joint.name for joint in robot.joints if rng.integers(2)}
    single = (JointKind.REVOLUTE, JointKind.PRISMATIC, JointKind.CYLINDRICAL)

    def change(joint: Joint, side: str, frame: Pose) -> Pose:
        return frame @ over if joint.kind in single and joint.name in flipped else frame

    return with_frames(robot, change)


def moved_along_axes(robot: Robot, rng: np.random.Generator) -> Robot:
    shifts = {joint.name: rng.uniform(-0.3, 0.3) for joint in robot.joints}
    # The sides of a parallelogram run between the origins of its joints.
    folded = [kind.parallelogram for kind in types(robot) if kind.parallelogram is not None]
    shifts |= {robot.joints[j].name: 0.0 for fold in folded for j in dataclasses.astuple(fold)}

    def change(joint: Joint, side: str, frame: Pose) -> Pose:
        if joint.kind is not JointKind.REVOLUTE:
            return frame
        return frame @ Pose(np.eye(3), np.array([0.0, 0.0, shifts[joint.name]]))

    return with_frames(robot, change)


def renamed(robot: Robot, rng: np.random.Generator) -> Robot:
    def other(parts: tuple) -> tuple:
        return tuple(dataclasses.replace(part, name=f"{rng.integers(10**6)}-{part.name}") for part in parts)

    parts = {name: other(getattr(robot, name)) for name in ("bodies", "joints", "legs", "actuators")}
    return dataclasses.replace(robot, **parts)


def other_order(robot: Robot, rng: np.random.Generator) -> Robot:
    """The legs one after the other in another order; those of the platform stay behind them."""
    legs = [robot.legs[k] for k in rng.permutation(len(robot.legs))]
    tree = [j for leg in legs for j in leg.joints] + list(robot.platform.joints)
    cuts = [c for leg in legs for c in leg.closures] + list(robot.platform.closures)
    place = {j: k for k, j in enumerate([*tree, *cuts])}

    def placed(listed: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(place[j] for j in listed)

    return dataclasses.replace(
        robot,
        joints=tuple(robot.joints[j] for j in place),
        legs=tuple(
            dataclasses.replace(leg, joints=placed(leg.joints), closures=placed(leg.closures))
            for leg in robot.legs
        ),
        platform=dataclasses.replace(
            robot.platform, joints=placed(robot.platform.joints), closures=placed(robot.platform.closures)
        ),
        actuators=tuple(
            dataclasses.replace(actuator, joint=place[actuator.joint]) for actuator in robot.actuators
        ),
    )


def rounded(robot: Robot, rng: np.random.Generator) -> Robot:
    return shaken(robot, 1e-13, int(rng.integers(1000)))


WAYS = [other_body_frames, reversed_axes, moved_along_axes, renamed, other_order, rounded]


@pytest.mark.parametrize(
    ("name", "way"),
    pairwise(name={"by numbers": BY_NUMBERS, "by kinds": BY_KINDS}, way=WAYS),
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_leg_is_the_same_however_it_is_written(name: str, way: Callable[..., Robot]) -> None:
    for seed in (1, 2):
        robot = CASES[name](seed).robot
        assert facts(way(robot, np.random.default_rng(seed))) == facts(robot)


@pytest.mark.parametrize("seed", range(10))
def test_legs_of_any_shape_however_they_are_written(seed: int) -> None:
    robot = closed_robot(seed).robot
    for way in (other_body_frames, reversed_axes, renamed, rounded):
        assert facts(way(robot, np.random.default_rng(seed))) == facts(robot)


@pytest.mark.parametrize("name", nacelle.robot_names())
def test_the_library_however_it_is_written(name: str) -> None:
    robot = nacelle.load(name)
    for way in WAYS:
        assert facts(way(robot, np.random.default_rng(1))) == facts(robot)


# ------------------------------------------------------------------------------------ other geometry


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", BY_NUMBERS)
def test_a_leg_that_is_off_by_a_billionth_is_not_special(name: str, seed: int) -> None:
    robot = CASES[name](seed).robot
    assert all(kind.form for kind in types(robot))
    for kind in types(shaken(robot, 1e-9, seed)):
        assert not kind.form
        assert kind.reason
        assert not kind.planar
        assert kind.parallelogram is None


@pytest.mark.parametrize("name", BY_KINDS)
def test_legs_by_the_kinds_of_their_joints_stay(name: str) -> None:
    robot = CASES[name](1).robot
    assert [kind.form for kind in types(shaken(robot, 1e-3))] == [kind.form for kind in types(robot)]


@pytest.mark.parametrize("name", ["gough-stewart", "palida", "hexaglide", "hexa"])
def test_struts_and_rods_lie_straight_on_their_pivots_or_not(name: str) -> None:
    robot = nacelle.load(name)
    assert not any(kind.misalignment for kind in types(robot))
    # Universal joints that are made of two revolutes are none any more.
    assert all(kind.misalignment or not kind.form for kind in types(shaken(robot, 1e-9)))


@pytest.mark.parametrize("axial", [0.0, 1e-13, 1e-9])
def test_a_rod_of_a_parallelogram_is_longer(axial: float) -> None:
    robot = nacelle.load("orthoglide")
    fold = leg_type(robot, robot.legs[0]).parallelogram.fold

    def change(joint: Joint, side: str, frame: Pose) -> Pose:
        longer = joint is robot.joints[fold] and side == "frame_predecessor"
        return Pose(frame.R, frame.p + axial * robot.size * unit(frame.p)) if longer else frame

    other = with_frames(robot, change)
    first, *others = (kind.form for kind in types(other))
    assert first == ("parallelogram" if axial < 1e-12 else "")
    assert set(others) == {"parallelogram"}


@pytest.mark.parametrize("off", [0.0, 1e-13, 1e-9])
def test_revolutes_that_act_as_one_joint(off: float) -> None:
    """Three axes through one point are a spherical joint, a coaxial slide and revolute a cylindrical one."""
    rng = np.random.default_rng(3)
    d = draft(rng)
    A, W = np.array([0.3, -0.2, 0.1]), d.poses[PLATE].p
    first = d.across(W - A)
    second = d.across(first)
    third = unit(np.cross(second, d.near(first, 0.5)))
    away = np.cross(second, third)
    d.start("leg")
    bodies = [d.body() for _ in range(4)]
    d.turn(0, bodies[0], A, first)
    d.turn(bodies[0], bodies[1], A, second)
    size = 1.0
    d.turn(bodies[1], bodies[2], A + off * size * away, third)
    d.slide(bodies[2], bodies[3], W - A, active=True)
    d.add_spherical(bodies[3], PLATE, W, cut=True)
    d.start("coaxial")
    slider, nut = d.body(), d.body()
    frame = d.frame(A, W - A)
    d.join("prismatic", 0, slider, frame, [0.1], active=True)
    beside = off * size * d.across(W - A)
    d.join("revolute", slider, nut, Pose(frame.R, frame.p + beside), [0.4])
    d.add_spherical(nut, PLATE, W, cut=True)
    robot = d.robot("groups", ("x", "y", "z", "rx", "ry", "rz"))
    names = [kind.name for kind in types(robot)]
    assert names == (["SPS", "CS"] if off < 1e-12 else ["URPS", "PRS"])


# -------------------------------------------------------------------------------------------- facts


@pytest.mark.parametrize("name", ["6 RRPS", "6 PRRS", "6 RRRS with axes that meet"])
def test_the_centre_of_two_revolutes_is_on_both_axes(name: str) -> None:
    robot = CASES[name](5).robot
    mechanism = mechanism_of(robot)
    poses = tree_kinematics(robot, mechanism.assembly.platform, mechanism.assembly.q_tree).poses
    for kind in types(robot):
        group = next(group for group in kind.trunk if len(group.joints) == 2)
        centre = poses[group.before].R @ group.centre + poses[group.before].p
        for joint in group.joints:
            axis = poses[joint.before] @ joint.near
            assert np.linalg.norm(np.cross(axis.R[:, 2], centre - axis.p)) < 1e-12


@pytest.mark.parametrize("name", CASES)
def test_a_leg_without_closed_form_says_why(name: str) -> None:
    case = CASES[name](1)
    for kind, form in zip(types(case.robot), case.forms, strict=True):
        assert kind.has_closed_form == bool(kind.form) == (not kind.reason)
        assert form is None or kind.form == form
    plans = mechanism_of(case.robot).legs
    for kind, plan in zip(types(case.robot), plans, strict=True):
        assert plan.closed_form is None or plan.closed_form.form == kind.form


@pytest.mark.parametrize(
    ("name", "links"),
    [("6 RSS", [True]), ("6 PUS", [False]), ("3 R[SS|SS]", [True, True]), ("6 UPS", []), ("3 RRPaR", [])],
)
def test_bodies_between_two_points(name: str, links: list[bool]) -> None:
    for kind in types(CASES[name](1).robot):
        assert [link.spherical for link in kind.links] == links


def test_a_leg_is_recognised_once() -> None:
    robot = CASES["6 UPS"](1).robot
    first = leg_type(robot, robot.legs[2])
    assert leg_type(robot, robot.legs[2]) is first
    symbols = robot.with_symbols(robot.parameter_vector("geometry").astype(object), "geometry")
    assert leg_type(symbols, symbols.legs[2]) is first


def test_relations_of_axes() -> None:
    turn = Rotation.from_euler("x", 90, degrees=True).as_matrix()
    oblique = Rotation.from_euler("x", 30, degrees=True).as_matrix()
    along, aside = np.array([0.0, 0.0, 0.4]), np.array([0.3, 0.0, 0.0])
    assert axis_relation(Pose(np.eye(3), along), 1.0) == "coaxial"
    assert axis_relation(Pose(np.eye(3), aside), 1.0) == "parallel"
    assert axis_relation(Pose(turn, along), 1.0) == "crossing"
    assert axis_relation(Pose(turn, aside), 1.0) == "perpendicular"
    assert axis_relation(Pose(oblique, along), 1.0) == "oblique"


# ---- Legs on spherical joints: their spin comes from the closure


@pytest.mark.slow
@pytest.mark.parametrize("legs", ["6-SPU", "6-PSU"])
def test_the_spin_of_a_leg_on_a_spherical_joint_comes_from_its_closure(legs: str) -> None:
    """At a universal end: its axes are perpendicular at every pose, not at the reference only."""
    robot = read_text(sketch("robot", legs, motion="se3").text)[0]
    rng = np.random.default_rng(5)
    x = nacelle.reference_pose(robot) + np.pad(rng.normal(size=(6, 3)) * 0.01, ((0, 0), (0, 4)))
    x[:, 3:6] += 0.02 * rng.normal(size=(6, 3))
    joints = nacelle.inverse_kinematics(robot, x, limits=False)
    R = joints.bodies[0]
    for joint in robot.joints:
        if joint.kind is JointKind.UNIVERSAL:
            first = R[:, joint.predecessor] @ joint.frame_predecessor.R[:, 0]
            second = R[:, joint.successor] @ joint.frame_successor.R[:, 1]
            assert np.max(np.abs(np.sum(first * second, axis=1))) < 1e-12
