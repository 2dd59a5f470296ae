"""The pieces of a graph without base and trunk: legs, with the names that their parts share as theirs."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from nacelle.exchange.graph import BASE, Graph, Link
from nacelle.exchange.names import Names


@dataclass(frozen=True, eq=False)
class Piece:
    """A leg: its name, the prefix that is taken off the names of its parts, bodies, joints and closures."""

    name: str
    prefix: str
    bodies: tuple[str, ...]
    joints: tuple[Link, ...]
    closures: tuple[Link, ...]

    def joins(self, bodies: Collection[str | None]) -> bool:
        """Whether a joint or closure of it is on one of some bodies."""
        return any(link.parent in bodies or link.child in bodies for link in (*self.joints, *self.closures))

    def short(self, name: str) -> str:
        """A name within the leg."""
        return name.removeprefix(self.prefix)


def legs_in_order(graph: Graph) -> list[Piece]:
    """The legs, in the order of their first bodies."""
    outside = {BASE, graph.floating, *graph.parts}
    group = {body: body for body in graph.bodies if body not in outside}

    def root(body: str) -> str:
        while group[body] != body:
            body = group[body]
        return body

    for link in (*graph.joints, *graph.closures):
        if link.parent in group and link.child in group:
            one, other = sorted((root(link.parent), root(link.child)), key=list(group).index)
            group[other] = one
    parts: dict[str, list[str]] = {}
    for body in group:
        parts.setdefault(root(body), []).append(body)
    names = Names(["nacelle", *(body for body in outside if body is not None)])
    found = []
    for number, bodies in enumerate(parts.values(), 1):
        own = set(bodies)
        joints = tuple(joint for joint in graph.joints if joint.child in own)
        closures = tuple(c for c in graph.closures if c.parent in own or c.child in own)
        prefix = _prefix([*bodies, *(link.name for link in (*joints, *closures))], outside)
        only = graph.name if len(parts) == 1 else f"leg{number}"
        found.append(Piece(names.new(prefix.strip("-_"), only), prefix, tuple(bodies), joints, closures))
    return found


def _prefix(names: list[str], taken: Collection[str | None]) -> str:
    """What all names begin with, up to a hyphen or underscore.

    Nothing if less than a word would be left, or the name of a body that is no part of the leg.
    """
    first, last = min(names), max(names)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    prefix = re.sub("[^-_]*$", "", first[:same])
    left = [name.removeprefix(prefix) for name in names]
    fits = all(name and name[0].isalpha() and name not in taken for name in left)
    return prefix if len(names) > 1 and fits else ""
