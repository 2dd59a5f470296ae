"""A robot as a graph: poses of its bodies, loops that are closed, a tree that reaches every body."""

from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import ExportError
from nacelle.exchange.graph import BASE
from nacelle.exchange.write.robot import assembled_graph
from nacelle.kinematics.mechanism.assembly import assemble
from nacelle.model.robot import Robot
from support.coupled_robots import coupled_robot
from support.library import library_robot
from support.random_robots import closing


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
    robot = coupled_robot(name)
    check(robot)
    graph = assembled_graph(robot)
    assert (graph.floating is not None) == (name == "biped")
    assert len(graph.couplings) == len(robot.couplings)


@pytest.mark.parametrize("seed", range(6))
def test_random_robots(seed: int) -> None:
    check(closing(seed).robot)


def test_loops_that_do_not_close_are_one_error() -> None:
    robot = library_robot("fivebar")
    far = robot.reference._replace(p=np.array([9.0, 9.0, 0.0]))
    with pytest.raises(ExportError, match="do not close at its reference pose"):
        assembled_graph(replace(robot, reference=far))
