"""The nacelle: the body that the legs carry. It is placed by coordinates of its own, so its joint is cut.

Without base and nacelle the mechanism falls apart into its legs. A body is taken as the nacelle where this
leaves at least three driven pieces that touch both, and no other body has as many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from nacelle.errors import did_you_mean
from nacelle.exchange.graph import BASE, Graph, broken

# So many driven legs make a body the nacelle.
LEGS = 3


def with_nacelle(graph: Graph, name: str | None = None) -> Graph:
    """The graph with its nacelle as the floating body.

    Args:
        graph: the graph; one that floats has its nacelle already.
        name: of the body; chosen if None, none if empty.

    Raises:
        DescriptionError: if there is no such body, or another one floats.
    """
    if name is not None and name and name not in graph.bodies:
        raise broken(graph.file, f"no body is called {name!r}", did_you_mean(name, graph.bodies))
    if graph.floating is not None:
        if name and name != graph.floating:
            raise broken(graph.file, f"the body {graph.floating!r} moves freely: it is the nacelle")
        return graph
    body = _meeting(graph) if name is None else name
    if not body:
        return graph
    carrier = next(joint for joint in graph.joints if joint.child == body)
    if any(carrier.name in (coupling.joint, *coupling.follows) for coupling in graph.couplings):
        if name is None:
            return graph
        raise broken(graph.file, f"the joint {carrier.name!r} of the nacelle is coupled to others")
    if name is None:
        graph.report.done(f"the nacelle is {body!r}, which {driven_legs(graph, [body])} driven legs carry")
    return replace(
        graph,
        joints=tuple(joint for joint in graph.joints if joint is not carrier),
        closures=(*graph.closures, carrier),
        floating=body,
        pose=graph.poses()[body],
    )


def _meeting(graph: Graph) -> str:
    """The one body at which the most driven legs meet; empty if there is none."""
    counts = Counter({body: driven_legs(graph, [body]) for body in graph.bodies})
    best = counts.most_common(2)
    if not best or best[0][1] < LEGS or (len(best) == 2 and best[0][1] == best[1][1]):
        return ""
    return best[0][0]


def driven_legs(graph: Graph, nacelle: Collection[str], at: str | None = None) -> int:
    """How many driven pieces touch both the base and some bodies when these are taken out.

    Args:
        graph: the graph.
        nacelle: the bodies.
        at: the one of them that counts; any if None.
    """
    links = (*graph.joints, *graph.closures)
    pieces: list[set[str]] = [{body} for body in graph.bodies if body not in nacelle]
    for link in links:
        ends = [piece for piece in pieces if link.parent in piece or link.child in piece]
        if len(ends) == 2:
            ends[0].update(ends[1])
            pieces.remove(ends[1])
    count = 0
    for piece in pieces:
        own = [link for link in links if link.parent in piece or link.child in piece]
        touched = {end for link in own for end in (link.parent, link.child)}
        holds = at in touched if at is not None else bool(touched & set(nacelle))
        count += BASE in touched and holds and any(link.motor is not None for link in own)
    return count
