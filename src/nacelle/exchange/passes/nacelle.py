"""The nacelle: the body that the legs carry. It is placed by coordinates of its own, so its joint is cut.

Without base and nacelle the mechanism falls apart into its legs. A body is taken as the nacelle where this
leaves at least three pieces that touch both, at least two of them driven, and no other body has as many
driven ones, or as many with as many others. Where legs meet in a point there is no such body: the last link
of one of them, on which the others end in that point, is none.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from nacelle.errors import did_you_mean
from nacelle.exchange.graph import BASE, Graph, Link, broken
from nacelle.spatial.scalar import Array

# So many legs make a body the nacelle, so many of them driven.
LEGS, DRIVEN = 3, 2
# How near ball joints must be to act in one point, over the size of the mechanism.
_MEET = 1e-9


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
        graph.report.done(f"the nacelle is {body!r}, which {legs_of(graph, [body])} carry")
    return replace(
        graph,
        joints=tuple(joint for joint in graph.joints if joint is not carrier),
        closures=(*graph.closures, carrier),
        floating=body,
        pose=graph.poses()[body],
    )


def _meeting(graph: Graph) -> str:
    """The one body at which the most legs meet, driven ones first; empty if there is none."""
    counts = {body: legs_of(graph, [body]) for body in graph.bodies if not ends_a_leg(graph, body)}
    best = sorted(counts, key=lambda body: counts[body].order, reverse=True)[:2]
    if not best or not counts[best[0]].enough or len({counts[body].order for body in best}) < len(best):
        return ""
    return best[0]


@dataclass(frozen=True)
class LegCount:
    """How many legs a nacelle has: with a drive, and without one."""

    driven: int
    passive: int

    @property
    def order(self) -> tuple[int, int]:
        """The more, the rather it is a nacelle."""
        return self.driven, self.passive

    @property
    def enough(self) -> bool:
        """Whether they make a nacelle."""
        return self.driven >= DRIVEN and self.driven + self.passive >= LEGS

    def __str__(self) -> str:
        """In words."""
        others = f" and {self.passive} other{'s' if self.passive > 1 else ''}" if self.passive else ""
        return f"{self.driven} driven legs{others}"


def legs_of(graph: Graph, nacelle: Collection[str], at: str | None = None) -> LegCount:
    """The pieces that touch both the base and some bodies when these are taken out.

    Args:
        graph: the graph.
        nacelle: the bodies.
        at: the one of them that counts; any if None.
    """
    found = {True: 0, False: 0}
    for piece in _fallen(graph, nacelle):
        own = _links(graph, piece)
        touched = {end for link in own for end in (link.parent, link.child)}
        holds = at in touched if at is not None else bool(touched & set(nacelle))
        if BASE in touched and holds:
            found[any(link.motor is not None for link in own)] += 1
    return LegCount(found[True], found[False])


def _links(graph: Graph, piece: Collection[str]) -> list[Link]:
    """Joints and closures at some bodies."""
    return [link for link in (*graph.joints, *graph.closures) if link.parent in piece or link.child in piece]


def _fallen(graph: Graph, nacelle: Collection[str]) -> list[set[str]]:
    """What the mechanism falls apart into when some bodies and the base are taken out."""
    pieces: list[set[str]] = [{body} for body in graph.bodies if body not in nacelle]
    for link in (*graph.joints, *graph.closures):
        ends = [piece for piece in pieces if link.parent in piece or link.child in piece]
        if len(ends) == 2:
            ends[0].update(ends[1])
            pieces.remove(ends[1])
    return pieces


def ends_a_leg(graph: Graph, body: str) -> bool:
    """Whether a body is the last of a leg that meets the others in a point, so that it is no nacelle.

    All legs but one are joined to it by balls in one point, and that one is as long as the others with it.
    """
    pieces = [piece for piece in _fallen(graph, [body]) if any(BASE in ends for ends in _ends(graph, piece))]
    at: list[Array | None] = [_ball(graph, piece, body) for piece in pieces]
    for k, odd in enumerate(pieces):
        points = [point for n, point in enumerate(at) if n != k and point is not None]
        others = [piece for n, piece in enumerate(pieces) if n != k]
        if not others or len(points) < len(others):
            continue
        near = all(np.linalg.norm(point - points[0]) < _MEET * graph.size for point in points)
        if near and all(len(piece) == len(odd) + 1 for piece in others):
            return True
    return False


def _ends(graph: Graph, piece: Collection[str]) -> list[tuple[str, str]]:
    return [(link.parent, link.child) for link in _links(graph, piece)]


def _ball(graph: Graph, piece: Collection[str], body: str) -> Array | None:
    """The point on a body of the one ball joint that joins a piece to it; None if others do."""
    joined = [link for link in _links(graph, piece) if body in (link.parent, link.child)]
    if len(joined) != 1 or not joined[0].spherical:
        return None
    (ball,) = joined
    return ball.at.p if ball.parent == body else ball.child_at.p
