"""Free bodies that closures carry: the same mechanism, the same places."""

from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Solid, Strut
from nacelle.exchange.passes.roots import at_pose, rooted
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.rotation import rotation_rpy

Z = np.array([0.0, 0.0, 1.0])
PLACES = {
    name: Pose(rotation_rpy(np.array(n)), np.array(n))
    for name, n in (("rod", [0.3, 0.2, -0.4]), ("plate", [0.1, 0.7, 0.2]), ("ball", [-0.5, 0.1, 0.3]))
}


def at(name: str, point: list[float]) -> Pose:
    """A point of the room in the frame of a loose body."""
    return Pose(np.eye(3), (PLACES[name].inverse() @ Pose(np.eye(3), np.array(point))).p)


def mechanism() -> Graph:
    """A plate on three rods, all free; the first rod is held at its tip, which hangs on it."""
    tip = Link("hinge", "rod", "tip", identity(), axes=(Axis(Z, value=0.4),))
    placed = PLACES["rod"] @ tip.pose()
    tip_at = (placed.inverse() @ Pose(np.eye(3), np.array([0.0, 0.0, 1.0]))).p
    room = Pose(np.eye(3), np.array([0.0, 0.0, 1.0]))
    side = Pose(np.eye(3), np.array([1.0, 0.0, 0.0]))
    closures = (
        Link("foot", "tip", BASE, Pose(np.eye(3), tip_at), room, spherical=True),
        Link("top", "rod", "plate", at("rod", [0.2, 0.0, 0.0]), at("plate", [0.2, 0.0, 0.0]), spherical=True),
        Link("two", "plate", BASE, at("plate", [1.0, 0.0, 0.0]), side, spherical=True),
    )  # fmt: skip
    bodies = {"rod": Solid(1.0), "tip": Solid(1.0), "plate": Solid(1.0), "ball": Solid(1.0)}
    return Graph("g", "g.xml", np.zeros(3), bodies, (tip,), closures, loose=PLACES)


def test_closures_carry_free_bodies_where_they_were() -> None:
    before, after = mechanism(), rooted(mechanism())
    assert after.floating == "plate"
    assert after.loose == {}
    assert [(j.name, j.parent, j.child) for j in after.joints] == [
        ("hinge", "tip", "rod"),
        ("foot", BASE, "tip"),
    ]
    assert [closure.name for closure in after.closures] == ["top", "two"]
    old, new = before.poses(), after.poses()
    assert set(new) == {BASE, "rod", "tip", "plate"}
    for name, pose in new.items():
        np.testing.assert_allclose(pose.p, old[name].p, atol=1e-14)
        np.testing.assert_allclose(pose.R, old[name].R, atol=1e-14)
    assert after.report.losses == ["the free body 'ball' left out: nothing ties it to the robot"]


def test_a_free_body_on_springs_alone_beside_another_is_refused() -> None:
    graph = mechanism()
    spring = Strut("spring", ("ball", "rod"), (np.zeros(3), np.zeros(3)), 1.0, 0.1)
    with pytest.raises(DescriptionError, match="no closure ties the free bodies 'ball'"):
        rooted(replace(graph, struts=(spring,)))


def test_coordinates_at_a_pose() -> None:
    frames = PLACES["rod"], PLACES["plate"]
    for axis in (Axis(Z, value=-2.1), Axis(Z, turns=False, value=0.7)):
        link = Link("l", "a", "b", *frames, (axis,))
        zeroed = replace(link, axes=(replace(axis, value=0.0),))
        assert np.isclose(at_pose(zeroed, link.pose()).axes[0].value, axis.value, rtol=1e-14)
