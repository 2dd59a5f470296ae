"""Chains of joints with massless bodies between: where they begin, and where they must end."""

import numpy as np

from nacelle.exchange.graph import Axis, Graph, Link, Solid, Strut
from nacelle.exchange.write.carriers import chains
from nacelle.spatial.pose import identity

Z = np.array([0.0, 0.0, 1.0])
HEAVY = Solid(1.0, np.zeros(3), np.eye(3))


def row(*kinds: str) -> Graph:
    """Bodies one after the other, all but the last without mass, on hinges (h), strokes (s) and balls (b)."""
    names = ["base", *(f"b{k}" for k in range(len(kinds)))]
    joints = tuple(
        Link(f"j{k}", names[k], names[k + 1], identity(), axes=(Axis(Z, turns=kind == "h"),))
        if kind != "b"
        else Link(f"j{k}", names[k], names[k + 1], identity(), spherical=True)
        for k, kind in enumerate(kinds)
    )
    bodies = {name: Solid() for name in names[1:-1]} | {names[-1]: HEAVY}
    return Graph("r", "r", np.zeros(3), bodies, joints)


def lengths(graph: Graph) -> list[int]:
    return [len(chain.links) for chain in chains(graph)]


def test_joints_act_on_the_next_body_with_mass() -> None:
    (chain,) = chains(row("s", "s", "b"))
    assert (chain.parent, chain.body, len(chain.links)) == ("base", "b2", 3)
    assert lengths(row("b", "s", "s")) == [3]


def test_chains_end_where_mujoco_cannot_go_on() -> None:
    assert lengths(row("b", "h")) == [1, 1]
    assert lengths(row("s", "b", "s", "h")) == [3, 1]
    assert lengths(row(*"hhhhhhh")) == [6, 1]


def test_chains_end_where_something_else_acts() -> None:
    graph = row("h", "h")
    strut = Strut("s", ("base", "b0"), (np.zeros(3), np.zeros(3)), 1.0, 1.0)
    held = Graph("r", "r", np.zeros(3), graph.bodies, graph.joints, struts=(strut,))
    assert lengths(held) == [1, 1]
