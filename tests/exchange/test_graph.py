"""Joints of a graph seen from both ends, and the poses that they give bodies."""

from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Solid
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_quat

X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def place(seed: int) -> Pose:
    """A pose without any zeros."""
    rng = np.random.default_rng(seed)
    quat = rng.normal(size=4)
    return Pose(rotation_quat(quat / np.linalg.norm(quat)), rng.normal(size=3))


LINKS = (
    Link("weld", BASE, "a", place(1), place(2)),
    Link("hinge", BASE, "a", place(1), place(2), (Axis(X, value=0.4),)),
    Link("slide", BASE, "a", place(1), place(2), (Axis(Y, turns=False, value=-0.3),)),
    Link("cross", BASE, "a", place(1), place(2), (Axis(X, value=0.4), Axis(Y, value=1.1))),
    Link("ball", BASE, "a", place(1), place(2), spherical=True, quat=np.array([0.5, 0.1, -0.7, 0.5])),
)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.kind)
def test_a_joint_seen_from_its_child_is_the_inverse_motion(link: Link) -> None:
    link = replace(link, quat=link.quat / np.linalg.norm(link.quat))
    both = link.pose() @ link.reversed().pose()
    np.testing.assert_allclose(both.R, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(both.p, 0.0, atol=1e-15)


def test_poses_follow_the_joints_in_any_order() -> None:
    first = replace(LINKS[1], child="b")
    second = replace(LINKS[3], parent="b", child="a")
    graph = Graph("g", "g.xml", np.zeros(3), {"a": Solid(), "b": Solid()}, (second, first))
    expected = first.pose() @ second.pose()
    np.testing.assert_allclose(graph.poses()["a"].p, expected.p, atol=1e-15)
    moved = graph.with_values({"hinge": np.array([0.0])}).poses()
    np.testing.assert_allclose(moved["b"].R, (first.at @ first.child_at.inverse()).R, atol=1e-15)


def test_a_body_that_nothing_carries_is_an_error() -> None:
    graph = Graph("g", "g.xml", np.zeros(3), {"a": Solid()}, (replace(LINKS[1], parent="lost"),))
    with pytest.raises(DescriptionError, match=r"g\.xml: .*nothing carries the body 'lost'"):
        graph.poses()
