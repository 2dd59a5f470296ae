"""Pieces of a graph without base and trunk."""

import numpy as np

from nacelle.exchange.graph import BASE, Axis, Graph, Link, Solid
from nacelle.exchange.text.legs import pieces
from nacelle.spatial.pose import identity

Z = (Axis(np.array([0.0, 0.0, 1.0])),)


def test_legs_are_connected_pieces_named_by_what_their_parts_share() -> None:
    names = ("trunk", "left_crank", "left_rod", "right_crank", "head")
    links = [
        Link("left_motor", "trunk", "left_crank", identity(), axes=Z),
        Link("left_pivot", BASE, "left_rod", identity(), axes=Z),
        Link("right_motor", "trunk", "right_crank", identity(), axes=Z),
        Link("neck", "trunk", "head", identity(), axes=Z),
    ]
    closing = Link("left_loop", "left_rod", "left_crank", identity(), spherical=True)
    graph = Graph(
        "g", "g.xml", np.zeros(3), {n: Solid() for n in names}, tuple(links), (closing,), floating="trunk"
    )
    left, right, head = pieces(graph)
    assert (left.name, left.bodies, left.short("left_rod")) == ("left", ("left_crank", "left_rod"), "rod")
    assert left.closures == (closing,)
    assert (right.name, head.name, head.short("neck")) == ("right", "leg3", "neck")
