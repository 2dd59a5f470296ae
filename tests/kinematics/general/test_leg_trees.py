"""LegTrees of the general form: axes are free to choose, places of bodies are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import nacelle
from nacelle.kinematics.general.placed import GeneralPlan, Placed, place
from nacelle.kinematics.general.plan import plan_of
from support.library import library_robot
from support.rigid_robots import RIGID

ROBOTS = ("3rrr", "3rps", "dymo", "prrrp", "3-PRS", "3-PRRRR", "spherical 3-RRR, any angles")


def placed(name: str) -> tuple[nacelle.Robot, GeneralPlan, Placed]:
    """A robot at its second sample state."""
    robot = (RIGID[name].make(1) if name in RIGID else library_robot(name)).alike
    plan = plan_of(robot)
    x, y = plan.samples[1]
    return robot, plan, place(robot, plan.parts, x, y)


@pytest.mark.parametrize("name", ROBOTS)
def test_bodies_are_where_the_tree_has_them(name: str) -> None:
    """Turned axes of links and constant angles that go to the next joint cancel."""
    robot, _, at = placed(name)
    for body, (node, frame) in at.trees.place.items():
        pose = at.now.motion.poses[body]
        np.testing.assert_allclose(at.trees.point(node, frame.p), pose.p, atol=1e-14 * robot.size + 1e-15)
        for k in range(3):
            np.testing.assert_allclose(at.trees.up(node, frame.R[:, k]), pose.R[:, k], atol=1e-14)


@pytest.mark.parametrize("name", ["3rrr", "dymo", "3-PRRRR"])
def test_parallel_axes_turn_a_vector_at_once(name: str) -> None:
    _, _, at = placed(name)
    apart = replace(at.trees, joined=False, runs={})
    vector = np.array([0.3, -0.7, 0.2])
    fewer = 0
    for node in range(1, len(at.trees.nodes)):
        np.testing.assert_allclose(at.trees.up(node, vector), apart.up(node, vector), atol=1e-14)
        np.testing.assert_allclose(at.trees.down(node, vector), apart.down(node, vector), atol=1e-14)
        fewer += len(apart.runs[node, 0]) - len(at.trees.runs[node, 0])
    assert fewer > 0


@pytest.mark.parametrize("name", ["3rps", "3-PRS"])
def test_a_force_may_lose_what_does_no_work(name: str) -> None:
    """The force differs by a multiple of the constant direction n, and an entry of it is zero."""
    _, plan, at = placed(name)
    assert len(plan.idle) == 3
    for (leg, number), idle in plan.idle.items():
        tie = at.ties[leg][number]
        n = at.trees.node(at.trees.path(tie.axes)[0]).G.R[:, idle.axis]
        force = np.array([0.4, -0.2, 0.9])
        whole, part = at.trees.up(tie.axes, force), at.trees.up_beside(tie.axes, force, idle)
        assert part[idle.entry] == 0.0
        np.testing.assert_allclose(np.cross(n, whole - part), 0.0, atol=1e-14)


@pytest.mark.parametrize("name", ["prrrp", "3rrr"])
def test_nothing_is_dropped_out_of_the_plane(name: str) -> None:
    """A force perpendicular to the plane of a planar robot costs nothing anyway."""
    assert not placed(name)[1].idle
