"""A graph as a description: numbers and places come back, in short texts."""

from __future__ import annotations

import math

import numpy as np

from nacelle.exchange.description import describe_graph, shortest_decimal
from nacelle.exchange.graph import BASE, Axis, Coupling, Graph, Link, Motor, Shape, Solid, Strut
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.joint import Interval
from nacelle.model.read import read_data
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_rpy

# ---- A graph as a description: the robot that is read from it has the graph's numbers and places

X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])

FRAMES = [Pose(rotation_rpy(np.array(n)), np.array(n)) for n in ([0.3, 0.2, -0.4], [0.1, 0.7, 0.2])]


def test_numbers_and_places_come_back() -> None:
    drive = Axis(
        X, value=0.3, damping=0.1, coulomb=0.2, armature=0.05, stiffness=7.0, rest=0.4,
        limits=Interval(-1.0, 1.5), motor=Motor("drive", 20.0, 30.0, 2.0),
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
    written = describe_graph(graph, ("arm_turn",))
    robot, _ = read_data(written.data)
    assert robot.motion.coordinates == ("arm.turn",)
    body = robot.bodies[robot.body("arm.upper")]
    assert body.mass == 2.0
    com = upper.com
    about_origin = inertia + 2.0 * (com @ com * np.eye(3) - np.outer(com, com))
    expected = about_origin[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
    np.testing.assert_allclose(body.inertia[4:], expected, rtol=1e-14)
    joint = robot.tree_joints[robot.joint(written.joints["arm_turn"])]
    assert np.isclose(joint.gear_ratio**2 * joint.rotor_inertia, 0.05, rtol=1e-14)
    assert (robot.actuators[0].force, robot.actuators[0].speed) == (30.0, 2.0)
    assert robot.springs[0].damping == 0.5
    placed = inverse_kinematics(robot, np.array([0.3])).bodies
    for name, pose in graph.poses().items():
        if name != BASE:
            index = robot.body(name.replace("arm_", "arm."))
            np.testing.assert_allclose(placed.R[index], pose.R, atol=1e-12)
            np.testing.assert_allclose(placed.p[index], pose.p, atol=1e-12)


# ---- Numbers with units: the shortest text that means the same


def test_short_numbers() -> None:
    assert shortest_decimal(22.500000000000004) == "22.5"
    assert shortest_decimal(1.2e-5) == "1.2e-5"
    assert shortest_decimal(2e-17, scale=1.0) == "0"
    assert (shortest_decimal(math.inf), shortest_decimal(math.nan)) == ("inf", "nan")
    assert shortest_decimal(123456.0) == "123456"
    rng = np.random.default_rng(0)
    for value in rng.normal(size=200) * 10.0 ** rng.integers(-12, 12, 200):
        assert abs(float(shortest_decimal(value)) - value) <= 2e-15 * abs(value)
