"""Independent joints of mechanisms whose mobility is known by counting."""

from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import DescriptionError
from nacelle.exchange.graph import BASE, Axis, Graph, Link, Motor, Solid
from nacelle.exchange.passes.motion import chosen_motion
from nacelle.spatial.pose import Pose

Y = np.array([0.0, 1.0, 0.0])
BODY = Solid(1.0, np.zeros(3), np.eye(3))


def at(*point: float) -> Pose:
    """A frame at a point."""
    return Pose(np.eye(3), np.array(point))


def four_bar(closed_at: float = 1.0) -> Graph:
    """A parallelogram of edges 1 m and 0.5 m whose third joint is driven."""
    drive = Axis(Y, motor=Motor("drive"))
    links = (
        Link("crank", BASE, "a", at(0.0, 0.0, 0.0), axes=(Axis(Y, value=0.1),)),
        Link("knee", "a", "b", at(0.0, 0.0, 0.5), axes=(Axis(Y),)),
        Link("rocker", BASE, "c", at(1.0, 0.0, 0.0), axes=(drive,)),
    )
    loop = Link("loop", "b", "c", at(closed_at, 0.0, 0.0), at(0.0, 0.0, 0.5), spherical=True)
    return Graph("g", "g.xml", np.array([0.0, 0.0, -9.8]), dict.fromkeys("abc", BODY), links, (loop,))


def test_driven_joints_come_first_and_loops_are_closed() -> None:
    chosen = chosen_motion(four_bar())
    assert chosen.joints == ("rocker",)
    ends = chosen.graph.poses()
    np.testing.assert_allclose(
        (ends["b"] @ at(1.0, 0.0, 0.0)).p, (ends["c"] @ at(0.0, 0.0, 0.5)).p, atol=1e-12
    )


def test_a_rod_between_balls_spins_by_itself() -> None:
    graph = four_bar()
    links = (graph.joints[0], replace(graph.joints[1], axes=(), spherical=True), graph.joints[2])
    chosen = chosen_motion(replace(graph, joints=links))
    assert [joint.name for joint in chosen.graph.joints] == [
        "crank",
        "knee-tilt",
        "knee-swing",
        "knee-spin",
        "rocker",
    ]
    assert chosen.joints == ("knee-spin", "rocker")
    spin = chosen.graph.joints[3]
    pose = chosen.graph.poses()["b"]
    np.testing.assert_allclose(pose.R @ spin.child_at.R @ spin.axes[0].direction, pose.R[:, 0], atol=1e-9)


def test_loops_that_do_not_close_are_named() -> None:
    with pytest.raises(DescriptionError, match=r"g\.xml: the loops do not close.*loop"):
        chosen_motion(four_bar(closed_at=5.0))
    with pytest.raises(DescriptionError, match="nothing moves"):
        chosen_motion(Graph("g", "g.xml", np.zeros(3), {}, ()))
