"""A spanning tree of joints in any order and direction moves as the joints do."""

from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Motor, Solid
from nacelle.exchange.names import Names
from nacelle.exchange.tree import massless, single_axes, spanned
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_rpy


def place(k: int) -> Pose:
    """A pose like no other."""
    return Pose(rotation_rpy(np.array([0.3, -0.2, 0.5]) * k), np.array([0.1, 0.2, -0.3]) * k)


def hinge(name: str, parent: str, child: str, k: int) -> Link:
    """A hinge that is not at zero."""
    return Link(
        name, parent, child, place(k), place(k + 7), (Axis(np.array([0.0, 0.6, 0.8]), value=0.1 * k),)
    )


def graph(*links: Link) -> Graph:
    """Three bodies and some joints."""
    solids = {name: Solid(1.0) for name in ("c", "b", "a")}
    return Graph("g", "file", np.zeros(3), solids, links)


def test_joints_are_turned_outwards_and_loops_closed() -> None:
    links = (
        hinge("ab", "b", "a", 1),
        hinge("bc", "b", "c", 2),
        hinge("base", "a", BASE, 3),
        hinge("loop", "c", "a", 4),
    )
    made = spanned(graph(*links))
    assert [(j.name, j.parent, j.child) for j in made.joints] == [
        ("base", BASE, "a"), ("ab", "a", "b"), ("bc", "b", "c"),
    ]  # fmt: skip
    assert [c.name for c in made.closures] == ["loop"]
    assert list(made.bodies) == ["a", "b", "c"]
    placed = made.poses()
    for link in links[:3]:
        relative = placed[link.parent].inverse() @ placed[link.child]
        np.testing.assert_allclose(relative.R, link.pose().R, atol=1e-15)
        np.testing.assert_allclose(relative.p, link.pose().p, atol=1e-15)


def test_what_acts_is_not_cut() -> None:
    """The second joint to a body closes the loop, unless it is driven: then a plain one before it does."""
    links = [
        hinge("j1", BASE, "a", 1),
        hinge("j2", "a", "b", 2),
        hinge("j3", "b", "c", 3),
        hinge("j4", BASE, "c", 4),
    ]
    assert [c.name for c in spanned(graph(*links)).closures] == ["j4"]
    links[3] = replace(links[3], axes=(replace(links[3].axes[0], motor=Motor("m")),))
    made = spanned(graph(*links))
    assert [c.name for c in made.closures] == ["j3"]
    assert [j.name for j in made.joints] == ["j1", "j4", "j2"]


def test_a_body_without_a_joint() -> None:
    with pytest.raises(DescriptionError, match="no joint leads from the base to the body 'c'"):
        spanned(graph(hinge("ab", BASE, "a", 1), hinge("bc", "a", "b", 2)))


def test_a_chain_of_axes_ends_where_the_joint_does() -> None:
    axes = [
        Axis(np.array([1.0, 0.0, 0.0]), value=0.4),
        Axis(np.array([0.0, 1.0, 0.0]), turns=False, value=0.2),
    ]
    links, between = single_axes(Link("j", BASE, "a", place(1), place(2)), axes, ["j", "k"], Names())
    assert between == ["j-carrier"]
    assert list(massless(between)) == between
    whole = links[0].pose() @ links[1].pose()
    wanted = place(1) @ axes[0].pose(0.4) @ axes[1].pose(0.2) @ place(2).inverse()
    np.testing.assert_allclose(whole.R, wanted.R, atol=1e-15)
    np.testing.assert_allclose(whole.p, wanted.p, atol=1e-15)
