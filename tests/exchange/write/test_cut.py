"""Loops cut through bodies: the pieces are the body, and the joint keeps what acts in it."""

import numpy as np

from nacelle.exchange.graph import Axis, Graph, Link, Solid
from nacelle.exchange.passes.merge import without_fixed_joints
from nacelle.exchange.write.cut import is_bare, with_cut_loops
from nacelle.spatial.pose import Pose, identity

Z = np.array([0.0, 0.0, 1.0])


def loop(damping: float) -> Graph:
    """Two bodies on the base, and two hinges between them."""
    heavy = Solid(3.0, np.array([0.1, 0.0, 0.0]), np.diag([1.0, 2.0, 2.5]))
    light = Solid(1.0, np.zeros(3), np.eye(3))
    at = Pose(np.eye(3), np.array([1.0, 0.0, 0.0]))
    joints = tuple(Link(name, "base", name, identity(), axes=(Axis(Z),)) for name in ("one", "two"))
    closures = tuple(
        Link(name, "two", "one", at, at, (Axis(Z, damping=damping, value=0.0),)) for name in ("c", "d")
    )
    return Graph("r", "r", np.zeros(3), {"one": light, "two": heavy}, joints, closures)


def test_pieces_are_the_body() -> None:
    graph = with_cut_loops(loop(0.5), lambda closure: False)
    pieces = [body for body in graph.bodies if body.startswith("two")]
    assert len(pieces) == 3
    for piece in pieces:
        np.testing.assert_allclose(graph.bodies[piece].mass, 1.0)
        np.testing.assert_allclose(graph.bodies[piece].inertia, np.diag([1.0, 2.0, 2.5]) / 3.0)
    assert [closure.kind for closure in graph.closures] == ["fixed", "fixed"]
    assert [joint.axes[0].damping for joint in graph.joints] == [0.0, 0.0, 0.5, 0.5]
    back = without_fixed_joints(graph)
    np.testing.assert_allclose(back.bodies["two"].inertia, np.diag([1.0, 2.0, 2.5]), rtol=1e-15)
    assert [(c.kind, c.axes[0].damping) for c in back.closures] == [("revolute", 0.5)] * 2


def test_what_a_format_holds_stays() -> None:
    graph = loop(0.0)
    assert is_bare(graph, graph.closures[0])
    assert not is_bare(loop(0.5), loop(0.5).closures[0])
    kept = with_cut_loops(graph, lambda closure: is_bare(graph, closure))
    assert kept.closures == graph.closures
    assert kept.report.steps == []
