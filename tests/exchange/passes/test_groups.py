"""Hinges through a point as one joint: the same motion at any coordinates."""

from dataclasses import replace

import numpy as np
import pytest

from nacelle.exchange.graph import BASE, Axis, Graph, Link, Solid
from nacelle.exchange.passes.groups import grouped
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import rotation_rpy
from nacelle.spatial.scalar import Array

X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
FRAMES = [
    Pose(rotation_rpy(np.array(n)), np.array(n))
    for n in ([0.3, 0.2, -0.4], [0.1, 0.7, 0.2], [-0.5, 0.1, 0.3])
]


def chain(directions: list[Array], values: list[float]) -> Graph:
    """Hinges whose axes go through one point, with massless bodies between them."""
    links, parent = [], BASE
    for k, (direction, value) in enumerate(zip(directions, values, strict=True)):
        last = k == len(directions) - 1
        child = "tool" if last else f"cross{k}"
        # Frames on the same body are the same, moved along the axis, so that all axes meet.
        along = Pose(np.eye(3), 0.2 * k * direction)
        at = (FRAMES[0] if k == 0 else FRAMES[k]) @ along
        links.append(
            Link(f"h{k}", parent, child, at, FRAMES[(k + 1) % 3] @ along, (Axis(direction, value=value),))
        )
        parent = child
    bodies = {link.child: Solid() for link in links} | {"tool": Solid(1.0)}
    return Graph("g", "g.xml", np.zeros(3), bodies, tuple(links))


@pytest.mark.parametrize("count", [2, 3])
def test_one_joint_moves_as_its_hinges(count: int) -> None:
    before = chain([X, Y, X][:count], [0.3, -0.8, 1.9][:count])
    if count == 3:
        before = chain([X, Y, np.array([0.0, 0.0, 1.0])], [0.3, -0.8, 1.9])
    after = grouped(before, ())
    (joint,) = after.joints
    assert joint.kind == ("universal" if count == 2 else "spherical")
    np.testing.assert_allclose(after.poses()["tool"].R, before.poses()["tool"].R, atol=1e-14)
    np.testing.assert_allclose(after.poses()["tool"].p, before.poses()["tool"].p, atol=1e-14)


def test_what_acts_on_a_hinge_keeps_it() -> None:
    graph = chain([X, Y], [0.3, -0.8])
    assert grouped(graph, ("h0",)).joints == graph.joints
    heavy = replace(graph, bodies=graph.bodies | {"cross0": Solid(0.1)})
    assert grouped(heavy, ()).joints == graph.joints
    skew = chain([X, np.array([0.6, 0.8, 0.0])], [0.3, -0.8])
    assert grouped(skew, ()).joints == skew.joints
    damped = chain([X, Y, np.array([0.0, 0.0, 1.0])], [0.3, -0.8, 1.9])
    first = replace(damped.joints[0], axes=(replace(damped.joints[0].axes[0], damping=1.0),))
    kinds = [joint.kind for joint in grouped(replace(damped, joints=(first, *damped.joints[1:])), ()).joints]
    assert kinds == ["universal", "revolute"]
