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


def with_rod(rod: Solid, damping: float = 0.0) -> Graph:
    """The parallelogram with a rod between two balls as its coupler."""
    graph = four_bar()
    ball = replace(graph.joints[1], axes=(), spherical=True, damping=damping)
    links = (graph.joints[0], ball, graph.joints[2])
    return replace(graph, joints=links, bodies={**graph.bodies, "b": rod})


@pytest.mark.parametrize(("bent", "damping"), [(0.01, 0.0), (0.0, 0.3)])
def test_a_rod_that_feels_its_spin_has_it_as_a_coordinate(bent: float, damping: float) -> None:
    rod = Solid(1.0, np.array([0.5, bent, 0.0]), np.diag([0.1, 1.0, 1.0]))
    chosen = chosen_motion(with_rod(rod, damping))
    names = [joint.name for joint in chosen.graph.joints]
    assert names == ["crank", "knee-tilt", "knee-swing", "knee-spin", "rocker"]
    assert chosen.joints == ("knee-spin", "rocker")
    spin, pose = chosen.graph.joints[3], chosen.graph.poses()["b"]
    np.testing.assert_allclose(pose.R @ spin.child_at.R @ spin.axes[0].direction, pose.R[:, 0], atol=1e-9)
    assert [(damper.bodies, damper.damping) for damper in chosen.graph.dampers] == (
        [(("a", "b"), 0.3)] if damping else []
    )


def test_coordinates_of_a_nacelle_are_those_that_move() -> None:
    graph = four_bar()
    carried = replace(graph, floating="b", pose=graph.poses()["b"], joints=(graph.joints[0], graph.joints[2]))
    chosen = chosen_motion(replace(carried, closures=(*graph.closures, graph.joints[1])))
    assert (chosen.axes, chosen.joints) == (("x",), ())


def test_loops_that_do_not_close_are_named() -> None:
    with pytest.raises(DescriptionError, match=r"g\.xml: the loops do not close.*loop"):
        chosen_motion(four_bar(closed_at=5.0))
    with pytest.raises(DescriptionError, match="nothing moves"):
        chosen_motion(Graph("g", "g.xml", np.zeros(3), {}, ()))
