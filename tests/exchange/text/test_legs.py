"""Pieces of a graph without base and trunk."""

import numpy as np

from nacelle.exchange.graph import BASE, Axis, Graph, Link, Solid
from nacelle.exchange.text.legs import legs_in_order
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
    left, right, head = legs_in_order(graph)
    assert (left.name, left.bodies, left.short("left_rod")) == ("left", ("left_crank", "left_rod"), "rod")
    assert left.closures == (closing,)
    assert (right.name, head.name, head.short("neck")) == ("right", "leg3", "neck")


def test_parts_of_an_articulated_nacelle_are_in_no_leg() -> None:
    names = ("plate", "a_arm", "a_plate", "tool")
    links = [
        Link("a_motor", BASE, "a_arm", identity(), axes=Z),
        Link("a_end", "a_arm", "a_plate", identity(), axes=Z),
        Link("turn", "plate", "tool", identity(), axes=Z),
    ]
    closing = Link("a_tip", "a_plate", "tool", identity(), spherical=True)
    graph = Graph(
        "g",
        "g.xml",
        np.zeros(3),
        {n: Solid() for n in names},
        tuple(links),
        (closing,),
        floating="plate",
        parts=("tool",),
    )
    (leg,) = legs_in_order(graph)
    assert leg.bodies == ("a_arm", "a_plate")
    assert leg.joins(["tool"])
    assert not leg.joins(["plate"])
    # A body of the leg that was called "plate" would be taken for the nacelle's.
    assert leg.short("a_plate") == "a_plate"
