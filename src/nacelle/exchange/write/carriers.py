"""Massless bodies between two joints taken together: the joints act one after the other on the next body.

Engines that solve for accelerations of the tree refuse moving bodies without mass, but let several joints
move one body. A chain of joints ends at a body that has mass, or where the tree branches or something else
acts.
"""

from __future__ import annotations

from dataclasses import dataclass

from nacelle.exchange.graph import Graph, Link

# Freedoms that MuJoCo gives one body.
_MOST = 6


@dataclass(frozen=True, eq=False)
class JointChain:
    """A body with the joints that place it, from the body that carries the first of them."""

    parent: str
    body: str
    links: tuple[Link, ...]


def chains(graph: Graph) -> list[JointChain]:
    """All joints of the tree in its order, those with massless bodies between them in one chain."""
    held = {body for link in graph.closures for body in (link.parent, link.child)}
    held |= {body for strut in graph.struts for body in strut.bodies}
    after: dict[str, list[Link]] = {}
    for link in graph.joints:
        after.setdefault(link.parent, []).append(link)
    # For each body that only carries the next joint, the joints up to it.
    open_: dict[str, tuple[Link, ...]] = {}
    made = []
    for link in graph.joints:
        links = (*open_.get(link.parent, ()), link)
        body, following = link.child, after.get(link.child, [])
        plain = body not in held and graph.bodies[body].is_massless and len(following) == 1
        free = sum(_freedoms(one) for one in (*links, *following)) <= _MOST
        if plain and free and (_is_stroke(following[0]) or not any(one.spherical for one in links)):
            open_[body] = links
        else:
            made.append(JointChain(links[0].parent, body, links))
    drawn = [body for body in open_ if graph.bodies[body].shapes]
    if drawn:
        words = "massless bodies merged, their joints act on the next body one after the other"
        graph.report.done(f"{words}: {', '.join(drawn)}")
    return made


def _freedoms(link: Link) -> int:
    return 3 if link.spherical else len(link.axes)


def _is_stroke(link: Link) -> bool:
    """Whether a joint only slides: in MuJoCo no rotation follows a ball."""
    return bool(link.axes) and not any(axis.turns for axis in link.axes)
