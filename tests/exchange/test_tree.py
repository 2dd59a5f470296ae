"""A spanning tree does not cut what acts, and reaches every body."""

from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Motor, Solid
from nacelle.exchange.tree import spanned
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
