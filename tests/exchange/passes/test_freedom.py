"""Motions of bodies by all joints at once."""

import math
from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import BASE, Axis, Coupling, Graph, Link, Solid
from nacelle.exchange.passes.freedom import freedom, rank_above
from nacelle.spatial.pose import Pose, identity

X, Y, Z = np.eye(3)


def at(*place: float) -> Pose:
    return Pose(np.eye(3), np.array(place))


def graph(joints: list[Link], closures: tuple[Link, ...] = ()) -> Graph:
    bodies = {joint.child: Solid(1.0) for joint in joints}
    return Graph("g", "g.xml", np.zeros(3), bodies, tuple(joints), closures)


def four_bar() -> Graph:
    """A parallelogram of sides 1 and 2 in the plane: the coupler only translates."""
    joints = [
        Link("a", BASE, "left", identity(), axes=(Axis(Z, value=0.5 * math.pi),)),
        Link("b", "left", "coupler", at(1.0, 0.0, 0.0), axes=(Axis(Z, value=-0.5 * math.pi),)),
        Link("c", BASE, "right", at(2.0, 0.0, 0.0), axes=(Axis(Z, value=0.5 * math.pi),)),
    ]
    end = Link("d", "right", "coupler", at(1.0, 0.0, 0.0), at(2.0, 0.0, 0.0), axes=(Axis(Z),))
    return graph(joints, (end,))


def test_a_parallelogram_has_one_motion_and_its_coupler_translates() -> None:
    found = freedom(four_bar())
    assert found.count == 1
    coupler = found.twists["coupler"][:, 0]
    np.testing.assert_allclose(np.delete(coupler, 0), 0.0, atol=1e-12)
    assert abs(coupler[0]) > 0.1
    np.testing.assert_allclose(found.rates["b"], -found.rates["a"], atol=1e-12)
    np.testing.assert_allclose(found.rates["d"], -found.rates["c"], atol=1e-12)
    assert not np.any(found.twists[BASE])


def test_couplings_bind_rates_in_their_units() -> None:
    chain = graph(
        [
            Link("turn", BASE, "nut", identity(), axes=(Axis(Z),)),
            Link("travel", "nut", "rod", at(0.0, 0.0, 3.0), axes=(Axis(Z, turns=False),)),
        ]
    )
    assert freedom(chain).count == 2
    found = freedom(replace(chain, couplings=(Coupling("screw", "travel", {"turn": 0.5}),)))
    assert found.count == 1
    # Lengths count over the size: the farthest of base, nut and rod is 2 m from their centre.
    np.testing.assert_allclose(2.0 * found.rates["travel"], 0.5 * found.rates["turn"], atol=1e-12)


def test_the_spin_of_a_rod_between_balls_is_none() -> None:
    joints = [
        Link("slide", BASE, "block", identity(), axes=(Axis(X, turns=False),)),
        Link("ball", "block", "rod", identity(), spherical=True),
    ]
    rod = graph(joints, (Link("end", "rod", BASE, at(0.0, 0.3, 0.4), at(0.0, 0.3, 0.4), spherical=True),))
    # Across the rod the block moves without a change of its length.
    assert freedom(rod).count == 1
    assert freedom(graph(joints)).count == 4


def test_ranks_by_a_part_of_the_largest() -> None:
    rows = np.diag([1.0, 0.1, 0.001])
    assert [rank_above(rows, part) for part in (0.5, 0.05, 1e-4)] == [1, 2, 3]
    assert rank_above(rows, 0.05, 10.0) == 1
    assert rank_above(np.zeros((0, 3)), 0.1) == 0
