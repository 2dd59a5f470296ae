"""Points of closures on a line: the hinge keeps them together at every angle."""

from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import Graph, Link, Solid
from nacelle.exchange.passes.lines import spherical_pairs_joined
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_rpy

MOVED = Pose(rotation_rpy(np.array([0.3, -0.4, 0.8])), np.array([0.1, 0.5, -0.2]))


def ball(name: str, point: list[float], turned: bool = False) -> Link:
    """A spherical closure at a point of the parent, which lies on the child as it does after MOVED."""
    here = np.array(point)
    made = Link(
        name, "a", "b", Pose(np.eye(3), here), Pose(np.eye(3), MOVED.R @ here + MOVED.p), spherical=True
    )
    return made.reversed() if turned else made


def graph(*closures: Link) -> Graph:
    """Two bodies with closures."""
    return Graph("g", "g.xml", np.zeros(3), {"a": Solid(), "b": Solid()}, (), closures)


def test_two_points_make_a_hinge_through_both() -> None:
    balls = ball("p", [0.1, 0.2, 0.3]), ball("q", [0.1, 0.3, 0.5], turned=True), ball("r", [0.1, 0.4, 0.7])
    (hinge,) = spherical_pairs_joined(graph(*balls)).closures
    assert hinge.kind == "revolute"
    for angle in (0.0, 0.7, -2.0):
        turned = replace(hinge, axes=(replace(hinge.axes[0], value=angle),)).pose()
        for point in ([0.1, 0.2, 0.3], [0.1, 0.3, 0.5], [0.1, 0.4, 0.7]):
            on_child = MOVED.R @ np.array(point) + MOVED.p
            np.testing.assert_allclose(turned.R @ on_child + turned.p, point, atol=1e-14)


def test_points_that_differ_on_the_two_bodies_stay_apart() -> None:
    one, other = ball("p", [0.1, 0.2, 0.3]), ball("q", [0.1, 0.3, 0.5])
    longer = replace(other, at=Pose(np.eye(3), np.array([0.1, 0.3, 0.6])))
    assert spherical_pairs_joined(graph(one, longer)).closures == (one, longer)
    assert spherical_pairs_joined(graph(one, replace(other, parent="c"))).closures[0] is one
