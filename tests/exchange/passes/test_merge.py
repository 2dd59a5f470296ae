"""Welded bodies: mass, centre and inertia of the whole stay, and so does every other body's place."""

from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import BASE, Axis, Coupling, Graph, Link, Solid, Strut
from nacelle.exchange.passes.merge import without_fixed_joints
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_rpy
from nacelle.spatial.scalar import Array

Z = np.array([0.0, 0.0, 1.0])


def place(*numbers: float) -> Pose:
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
        Link("hinge", BASE, "a", place(0.1, 0.2, 0.3), axes=(Axis(Z, value=0.4),)),
        Link("weld", "a", "b", place(0.4, -0.2, 0.1), place(0.2, 0.1, 0.5)),
        Link("slide", "b", "c", place(0.3, 0.3, -0.4), axes=(Axis(Z, turns=False, value=0.2),)),
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
        "stuck", "c", "a", place(0.1, 0.1, 0.1), poses["a"].inverse() @ poses["c"] @ place(0.1, 0.1, 0.1)
    )
    after = without_fixed_joints(replace(graph, closures=(weld,)))
    assert list(after.bodies) == ["a"]
    assert after.closures == ()
    assert "closes the loop" in after.report.steps[1]
    assert after.report.steps[2] == "the closure 'slide' has both ends on 'a' and is left out"
    for ours, theirs in zip(momenta(after), momenta(graph), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-14)
