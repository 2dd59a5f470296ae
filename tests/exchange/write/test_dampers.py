"""Angular dampers: damping of the joint between the same bodies, or a loss."""

import numpy as np

from nacelle.exchange.graph import Axis, Graph, Link, RotationDamper, Solid
from nacelle.exchange.write.dampers import in_joints
from nacelle.spatial.pose import identity

Z = np.array([0.0, 0.0, 1.0])


def test_dampers_become_damping_of_joints() -> None:
    body = Solid(1.0, np.zeros(3), np.eye(3))
    joints = (
        Link("turn", "base", "a", identity(), axes=(Axis(Z, damping=1.0),)),
        Link("ball", "a", "b", identity(), spherical=True),
        Link("slide", "b", "c", identity(), axes=(Axis(Z, turns=False, damping=1.0),)),
    )
    pairs = (("base", "a"), ("b", "a"), ("b", "c"), ("base", "c"))
    dampers = tuple(RotationDamper(f"d{k}", pair, 2.0) for k, pair in enumerate(pairs))
    graph = Graph("r", "r", np.zeros(3), dict.fromkeys("abc", body), joints, dampers=dampers)
    made = in_joints(graph)
    turn, ball, slide = made.joints
    assert (turn.axes[0].damping, ball.damping, slide.axes[0].damping) == (3.0, 2.0, 1.0)
    assert made.dampers == ()
    assert made.report.losses == ["angular dampers between bodies that no single joint joins left out: d3"]
