"""Loops cut through a body and not through a joint: so a joint that closes one keeps all that acts in it.

A closure between the bodies A and B becomes a joint of the tree from A to a piece of B, and the piece is
welded to the rest of B. Where k closures cut B its mass and inertia are divided evenly among the k + 1
pieces, all in the frame of B: held together they are B, and every piece can move without a singular mass
matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from nacelle.exchange.graph import BASE, Graph, Link, Names, Solid
from nacelle.spatial.pose import identity


def with_cut_loops(graph: Graph, keeps: Callable[[Link], bool]) -> Graph:
    """The graph in which all closures are welds or such that a format has.

    Args:
        graph: the graph.
        keeps: whether a closure can stay as it is.
    """
    names = Names((BASE, *graph.bodies))
    joints, closures = list(graph.joints), []
    cuts: list[tuple[str, str]] = []
    for closure in graph.closures:
        if closure.kind == "fixed" or keeps(closure):
            closures.append(closure)
            continue
        closing = (
            closure if _weight(graph, closure.child) >= _weight(graph, closure.parent) else closure.reversed()
        )
        piece = names.new(f"{closing.child}-{closure.name}", "piece")
        cuts.append((closing.child, piece))
        joints.append(replace(closing, child=piece))
        closures.append(Link(f"{closure.name}-weld", closing.child, piece, identity()))
    bodies = dict(graph.bodies)
    pieces = Counter(body for body, _ in cuts)
    for body, piece in cuts:
        whole = graph.bodies.get(body, Solid())
        share = 1.0 / (1 + pieces[body])
        bodies[piece] = _part(whole, share)
        if body != BASE:
            bodies[body] = replace(_part(whole, share), shapes=whole.shapes)
    for body, count in pieces.items():
        graph.report.done(f"loops are cut through {body!r}: {count + 1} equal parts, welded together")
    return replace(graph, bodies=bodies, joints=tuple(joints), closures=tuple(closures))


def is_bare(graph: Graph, closure: Link) -> bool:
    """Whether nothing acts in a closure, and its bodies have mass: only then points alone can hold it."""
    ends = [graph.bodies[body] for body in (closure.parent, closure.child) if body != BASE]
    acts = closure.damping or closure.armature or not all(axis.is_bare for axis in closure.axes)
    return not acts and not any(solid.is_massless for solid in ends)


def _weight(graph: Graph, body: str) -> float:
    """The mass that a body has to give; the base has none."""
    return graph.bodies[body].mass if body in graph.bodies else 0.0


def _part(whole: Solid, share: float) -> Solid:
    return Solid(share * whole.mass, whole.com, share * whole.inertia)
