"""Text: description, legs, quantities."""

from __future__ import annotations

import math

import numpy as np

from nacelle.exchange.graph import BASE, Axis, Coupling, Graph, Link, Motor, Shape, Solid, Strut
from nacelle.exchange.text.description import described
from nacelle.exchange.text.legs import legs_in_order
from nacelle.exchange.text.quantities import (
    angle,
    frame,
    length,
    shortest_decimal,
    written_direction,
    written_rotation,
    written_vector,
)
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.model.read import read_data
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_quat, rotation_rpy

# ---- A graph as a description: the robot that is read from it has the graph's numbers and places

X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])

FRAMES = [Pose(rotation_rpy(np.array(n)), np.array(n)) for n in ([0.3, 0.2, -0.4], [0.1, 0.7, 0.2])]


def test_numbers_and_places_come_back() -> None:
    drive = Axis(
        X, value=0.3, damping=0.1, coulomb=0.2, armature=0.05, stiffness=7.0, rest=0.4, limits=(-1.0, 1.5),
        motor=Motor("drive", 20.0, 30.0, 2.0),
    )  # fmt: skip
    links = (
        Link("arm_turn", BASE, "arm_upper", FRAMES[0], FRAMES[1], (drive,)),
        Link("arm_push", "arm_upper", "arm_lower", FRAMES[1], axes=(Axis(Y, False, 0.2, damping=4.0),)),
    )
    inertia = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]]) * 1e-3
    upper = Solid(2.0, np.array([0.1, 0.2, 0.3]), inertia, (Shape("box", (0.1, 0.2, 0.3), FRAMES[0]),))
    graph = Graph(
        "robot", "robot.xml", np.array([0.0, 0.0, -9.81]), {"arm_upper": upper, "arm_lower": upper}, links,
        couplings=(Coupling("belt", "arm_push", {"arm_turn": 0.05}, 0.185),),
        struts=(Strut("spring", (BASE, "arm_lower"), (np.ones(3), np.zeros(3)), 10.0, 0.1, 0.5),),
    )  # fmt: skip
    written = described(graph, ("arm_turn",))
    robot, _ = read_data(written.data)
    assert robot.motion.coordinates == ("arm.turn",)
    body = robot.bodies[robot.body(written.bodies["arm_upper"])]
    assert body.mass == 2.0
    com = upper.com
    about_origin = inertia + 2.0 * (com @ com * np.eye(3) - np.outer(com, com))
    expected = about_origin[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    np.testing.assert_allclose(body.inertia[4:], expected, rtol=1e-14)
    joint = robot.tree_joints[robot.joint(written.joint("arm_turn"))]
    assert np.isclose(joint.gear_ratio**2 * joint.rotor_inertia, 0.05, rtol=1e-14)
    assert (robot.actuators[0].force, robot.actuators[0].speed) == (30.0, 2.0)
    assert robot.springs[0].damping == 0.5
    placed = inverse_kinematics(robot, np.array([0.3])).bodies
    for name, pose in graph.poses().items():
        if name != BASE:
            index = robot.body(written.bodies[name])
            np.testing.assert_allclose(placed.R[index], pose.R, atol=1e-12)
            np.testing.assert_allclose(placed.p[index], pose.p, atol=1e-12)


# ---- Pieces of a graph without base and trunk

Z = (Axis(np.array([0.0, 0.0, 1.0])),)


def test_legs_are_connected_pieces_named_by_what_their_parts_share() -> None:
    names = ("trunk", "left_crank", "left_rod", "right_crank", "head")
    links = [
        Link("left_motor", "trunk", "left_crank", identity(), axes=Z),
        Link("left_pivot", BASE, "left_rod", identity(), axes=Z),
        Link("right_motor", "trunk", "right_crank", identity(), axes=Z),
        Link("neck", "trunk", "head", identity(), axes=Z),
    ]
    closing = Link("left_loop", "left_rod", "left_crank", identity(), spherical=True)
    graph = Graph(
        "g", "g.xml", np.zeros(3), {n: Solid() for n in names}, tuple(links), (closing,), floating="trunk"
    )
    left, right, head = legs_in_order(graph)
    assert (left.name, left.bodies, left.short("left_rod")) == ("left", ("left_crank", "left_rod"), "rod")
    assert left.closures == (closing,)
    assert (right.name, head.name, head.short("neck")) == ("right", "leg3", "neck")


def test_parts_of_an_articulated_nacelle_are_in_no_leg() -> None:
    names = ("plate", "a_arm", "a_plate", "tool")
    links = [
        Link("a_motor", BASE, "a_arm", identity(), axes=Z),
        Link("a_end", "a_arm", "a_plate", identity(), axes=Z),
        Link("turn", "plate", "tool", identity(), axes=Z),
    ]
    closing = Link("a_tip", "a_plate", "tool", identity(), spherical=True)
    graph = Graph(
        "g",
        "g.xml",
        np.zeros(3),
        {n: Solid() for n in names},
        tuple(links),
        (closing,),
        floating="plate",
        parts=("tool",),
    )
    (leg,) = legs_in_order(graph)
    assert leg.bodies == ("a_arm", "a_plate")
    assert leg.joins(["tool"])
    assert not leg.joins(["plate"])
    # A body of the leg that was called "plate" would be taken for the nacelle's.
    assert leg.short("a_plate") == "a_plate"


# ---- Numbers with units: the shortest text that means the same


def test_short_numbers() -> None:
    assert shortest_decimal(22.500000000000004) == "22.5"
    assert shortest_decimal(1.2e-5) == "1.2e-5"
    assert shortest_decimal(2e-17, beside=1.0) == "0"
    assert (shortest_decimal(math.inf), shortest_decimal(math.nan)) == ("inf", "nan")
    assert shortest_decimal(123456.0) == "123456"
    rng = np.random.default_rng(0)
    for value in rng.normal(size=200) * 10.0 ** rng.integers(-12, 12, 200):
        assert abs(float(shortest_decimal(value)) - value) <= 2e-15 * abs(value)


def test_quantities_have_units() -> None:
    assert length(0.3) == "300 mm"
    assert angle(math.radians(22.5)) == "22.5 deg"
    assert angle(0.1) == "0.1 rad"
    assert written_vector([0.0, 1e-19, 0.1], "mm", 1e3) == "0 0 100 mm"
    assert written_direction(np.array([0.0, -1.0, 0.0])) == "-y"
    assert written_direction(np.array([0.6, 0.0, 0.8])) == [0.6, 0.0, 0.8]


def test_rotations_come_back() -> None:
    assert written_rotation(rotation_rpy(np.radians([0.0, 90.0, 30.0]))) == {"rpy": "0 90 30 deg"}
    quat = np.array([0.1, -0.5, 0.3, 0.8]) / np.linalg.norm([0.1, -0.5, 0.3, 0.8])
    written = written_rotation(rotation_quat(quat))["quat_xyzw"]
    np.testing.assert_allclose(rotation_quat(np.array(written)), rotation_quat(quat), atol=4e-16)
    assert frame(Pose(np.eye(3), np.zeros(3)), 1.0) is None
    assert frame(Pose(np.eye(3), np.array([0.0, 0.0, 0.01])), 1.0) == "0 0 10 mm"
