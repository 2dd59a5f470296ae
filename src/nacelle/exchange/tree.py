"""The spanning tree of a mechanism whose joints were read in any order and any direction.

Joints are taken as long as they close no loop (Kruskal): welds first, then those that are driven, sprung or
coupled, then others in the order of the file; what remains closes the loops. The tree is then walked from the
base, and joints whose child is nearer to it are seen from there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from nacelle.exchange.graph import BASE, Axis, Graph, Link, Solid, UniqueNames
from nacelle.model.source.node import file_error
from nacelle.spatial.pose import identity


def with_spanning_tree(graph: Graph, phase: Callable[[Link], int] | None = None) -> Graph:
    """A graph whose joints may be any: the same with a spanning tree, its bodies in the order of the tree.

    Args:
        graph: bodies and joints; closures are joints that rather close than carry.
        phase: which joints are taken first, those of the lowest number; all at once if None.

    Raises:
        DescriptionError: if a body is joined to nothing.
    """
    coupled = graph.coupled
    links = [*sorted(graph.joints, key=lambda link: _tree_priority(link, coupled)), *graph.closures]
    if phase is not None:
        links.sort(key=phase)
    group = {body: body for body in (BASE, *graph.bodies)}

    def root(body: str) -> str:
        while group[body] != body:
            group[body] = group[group[body]]
            body = group[body]
        return body

    in_tree: set[int] = set()
    if graph.floating is not None:
        group[graph.floating] = BASE
    for link in links:
        first, second = root(link.parent), root(link.child)
        if first != second:
            group[first] = second
            in_tree.add(id(link))
    joints = _order_from_base(graph, [link for link in graph.links if id(link) in in_tree])
    order = [graph.floating] if graph.floating is not None else []
    order += [joint.child for joint in joints]
    loose = [body for body in graph.bodies if body not in order]
    if loose:
        raise file_error(graph.file, f"no joint leads from the base to the body {loose[0]!r}")
    closures = tuple(link for link in graph.links if id(link) not in in_tree)
    return replace(
        graph, bodies={body: graph.bodies[body] for body in order}, joints=tuple(joints), closures=closures
    )


def _tree_priority(link: Link, coupled: Collection[str]) -> int:
    """Welds are in the tree first, then what a closure cannot have, then others."""
    if link.kind == "fixed":
        return 0
    acted = any(axis.motor or axis.stiffness or axis.armature for axis in link.axes)
    return 1 if acted or link.name in coupled else 2


def _order_from_base(graph: Graph, links: Sequence[Link]) -> list[Link]:
    """Joints of a tree in the order of the file as far as it goes, each from the body nearer to the base."""
    reached = {BASE} | ({graph.floating} if graph.floating is not None else set())
    left, joints = list(links), []
    while left:
        ready = [k for k, link in enumerate(left) if (link.parent in reached) != (link.child in reached)]
        if not ready:
            break
        for k in ready:
            link = left[k]
            outwards = link if link.parent in reached else link.reverse()
            joints.append(outwards)
            reached.add(outwards.child)
        left = [link for k, link in enumerate(left) if k not in ready]
    return joints


def split_axes(
    link: Link, axes: Sequence[Axis], names: Sequence[str], bodies: UniqueNames
) -> tuple[list[Link], list[str]]:
    """A joint of several axes as hinges and slides one after the other, with massless bodies between.

    Args:
        link: the joint, without axes.
        axes: its axes, in its frame.
        names: of the hinges and slides.
        bodies: where names of the massless bodies are taken.

    Returns:
        The joints, and the names of the bodies between them.
    """
    carriers = [bodies.new(f"{name}-carrier", "carrier") for name in names[:-1]]
    parts = [replace(link, name=name, axes=(axis,)) for axis, name in zip(axes, names, strict=True)]
    return chain_links(link, parts, carriers), carriers


def chain_links(link: Link, parts: Sequence[Link], carriers: Sequence[str]) -> list[Link]:
    """Parts of a joint one after the other, from its parent to its child, with bodies between them."""
    bodies, last = [link.parent, *carriers, link.child], len(parts) - 1
    return [
        replace(
            part,
            parent=bodies[k],
            child=bodies[k + 1],
            at=identity() if k else link.at,
            child_at=link.child_at if k == last else identity(),
        )
        for k, part in enumerate(parts)
    ]


def massless_bodies(names: Sequence[str]) -> dict[str, Solid]:
    """Bodies without mass."""
    return {name: Solid() for name in names}
