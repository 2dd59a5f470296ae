"""The graph of a description: bodies by name, joints between them, the tree, and the legs."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from nacelle.errors import did_you_mean
from nacelle.model.build.draft import ChainDraft, CouplingDraft, JointDraft
from nacelle.model.build.placement import Placement
from nacelle.model.description.body import BodySpec
from nacelle.model.description.description import LegSpec, PlatformSpec
from nacelle.model.joint import JointKind
from nacelle.model.source.node import KeyPath, Report

_Node = TypeVar("_Node", bound=Hashable)
# Of a robot without a platform: the massless body, fixed to the base, on which all chains hang.
GROUND = "ground"
# A mechanism of more bodies than this is no robot, and its checks would take long.
MAX_BODIES = 240


@dataclass
class PartDraft:
    """A leg as written, or the platform (`spec` is None), with its chain and placement."""

    name: str
    path: KeyPath
    chain: ChainDraft
    placement: Placement
    spec: LegSpec | None

    def full_name(self, name: str) -> str:
        """Name of something that is written in it, with the leg's: "leg1.knee"."""
        return name if self.spec is None else f"{self.name}.{name}"


@dataclass(eq=False)
class Edge:
    """A joint between bodies by their full names."""

    part: PartDraft
    draft: JointDraft
    predecessor: str
    successor: str
    closes: bool


@dataclass(frozen=True)
class CouplingEdges:
    """A coupling with its joints found: the one that follows first, ratios and offset as written."""

    part: PartDraft
    draft: CouplingDraft
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class BodyDraft:
    """A body as written: what it is, where it is, the leg it belongs to (None: the platform)."""

    spec: BodySpec
    path: KeyPath
    part: PartDraft | None


def full_name(edge: Edge | CouplingEdges) -> str:
    """Name of a joint or a coupling, with its leg's: "leg1.knee"."""
    return edge.part.full_name(edge.draft.name)


def connected_components(nodes: Sequence[_Node], pairs: Iterable[tuple[_Node, _Node]]) -> list[list[_Node]]:
    """The components into which pairs connect some nodes; nodes and components in the given order.

    Args:
        nodes: bodies by their names or indices.
        pairs: nodes that are connected; pairs with others do not count.
    """
    component = {node: [node] for node in nodes}
    for first, second in pairs:
        if first in component and second in component and component[first] is not component[second]:
            component[first] += component[second]
            component |= dict.fromkeys(component[second], component[first])
    order = {node: k for k, node in enumerate(nodes)}
    different = {id(members): sorted(members, key=order.__getitem__) for members in component.values()}
    return sorted(different.values(), key=lambda members: order[members[0]])


class BodyGraph:
    """Bodies and joints of a description; faults go to `report`."""

    def __init__(
        self,
        platform: PlatformSpec | None,
        parts: list[PartDraft],
        report: Report,
        coordinates: Collection[str] = (),
    ) -> None:
        """Collect bodies and joints of the platform (the first part) and of the legs.

        Args:
            platform: as written; None for a robot without one.
            parts: what is written of the platform, then of the legs.
            report: takes what is wrong.
            coordinates: names of joints that the motions of the robot name.
        """
        self.main = GROUND if platform is None else platform.name
        self.at_point = platform is not None and platform.type == "point"
        self.has_platform = platform is not None
        self.platform, self.legs = parts[0], parts[1:]
        self._report = report
        self.faults = 0
        self.bodies: dict[str, BodyDraft] = {}
        for part in parts:
            for name, (spec, path) in part.chain.bodies.items():
                if part.full_name(name) == "base":
                    self.report(path, "the name 'base' is taken", "rename the body")
                self.bodies[part.full_name(name)] = BodyDraft(spec, path, part if part.spec else None)
        drafts_number = sum(len(part.chain.joints) + len(part.chain.closures) for part in parts)
        if max(len(self.bodies), drafts_number // 2) > MAX_BODIES:
            self.report(("legs",), f"more than {MAX_BODIES} bodies or {2 * MAX_BODIES} joints", "")
            parts = []
        edges = [
            self.edge(part, draft, closes)
            for part in parts
            for drafts, closes in ((part.chain.joints, False), (part.chain.closures, True))
            for draft in drafts
        ]
        self.edges = [edge for edge in edges if edge is not None]
        self.closing = [edge for edge in self.edges if edge.closes]
        coupled = [self.coupling(part, draft) for part in parts for draft in part.chain.couplings]
        self.couplings = [coupling for coupling in coupled if coupling is not None]
        self.tree = self.order() if parts else []
        components = self.components() if parts else []
        self.groups = [group for group in components if not self.is_platform_branch(group, coordinates)]
        self.platform_branches = [group for group in components if group not in self.groups]
        self.group_of = {body: k for k, group in enumerate(self.groups) for body in group}

    def report(self, path: KeyPath, message: str, hint: str = "") -> None:
        """Note a fault."""
        self.faults += 1
        self._report(path, message, hint)

    def owner(self, body: str) -> PartDraft | None:
        """The leg that a body belongs to; None for base and platform."""
        return self.bodies[body].part if body in self.bodies else None

    def resolve(self, part: PartDraft, name: str, path: KeyPath) -> str | None:
        """Find a body: in the leg itself, on the platform, the base, or by its full name."""
        if part.full_name(name) in self.bodies:
            return part.full_name(name)
        if name == "base" or name in self.bodies:
            return name
        names_in_part = list(part.chain.bodies) if part.spec is not None else []
        names = dict.fromkeys([*names_in_part, "base", *self.bodies])
        self.report(path, f"no body is called {name!r}", did_you_mean(name, names))
        return None

    def edge(self, part: PartDraft, draft: JointDraft, closes: bool) -> Edge | None:
        """Resolve the bodies of a joint and decide whether it closes a loop."""
        main = self.main
        predecessor = self.resolve(part, draft.bodies[0], (*draft.path, "parent"))
        successor = self.resolve(part, draft.bodies[1] or main, (*draft.path, "child"))
        if predecessor is None or successor is None:
            return None
        if not self.has_platform and draft.path:
            # Everything hangs on the ground, which alone is fixed to the base, by a joint that nobody wrote.
            predecessor, successor = (main if b == "base" else b for b in (predecessor, successor))
        if predecessor == successor:
            self.report(draft.path, f"joint {draft.name!r} joins {predecessor!r} to itself")
            return None
        if successor == "base" and not closes:
            self.report((*draft.path, "child"), "the base is nobody's child", "swap parent and child")
            return None
        # A joint of a leg that ends on the platform is its terminal joint: the loop is cut there.
        on_platform = successor == main or (part.spec is not None and self.owner(successor) is None)
        return Edge(part, draft, predecessor, successor, closes or on_platform)

    def coupling(self, part: PartDraft, draft: CouplingDraft) -> CouplingEdges | None:
        """Find the joints of a coupling: in the leg itself, on the platform, or by their full names."""
        by_full_name = {full_name(edge): edge for edge in self.edges}
        by_name = {edge.draft.name: edge for edge in self.edges if edge.part is part}
        edges = []
        for name in (draft.joint, *draft.ratios):
            edge = by_name.get(name, by_full_name.get(name))
            if edge is None:
                hint = did_you_mean(name, dict.fromkeys([*by_name, *by_full_name]))
                self.report(draft.path, f"no joint is called {name!r}", hint)
                return None
            if edge.draft.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
                self.report(
                    draft.path,
                    f"the {edge.draft.kind} joint {name!r} has not one coordinate and cannot be coupled",
                    "couple revolute, prismatic or screw joints",
                )
                return None
            if edge.closes:
                self.report(
                    draft.path,
                    f"the joint {name!r} closes a loop, so its coordinate is not in the spanning tree",
                    "close the loop elsewhere, or by a fixed joint behind a massless body",
                )
                return None
            if edge in edges:
                self.report(draft.path, f"the joint {name!r} is coupled with itself", "")
                return None
            edges.append(edge)
        return CouplingEdges(part, draft, tuple(edges))

    def order(self) -> list[Edge]:
        """Order the tree joints so that every predecessor is placed first."""
        parent: dict[str, Edge] = {}
        for edge in self.edges:
            if edge.closes:
                continue
            if edge.successor in parent:
                first = parent[edge.successor].draft.name
                self.report(
                    (*edge.draft.path, "child"),
                    f"{edge.successor!r} is placed twice, by {first!r} and by {edge.draft.name!r}",
                    "write the second joint under closures",
                )
                continue
            parent[edge.successor] = edge
        main = self.main
        for name, body in self.bodies.items():
            if name != main and name not in parent and not self.faults:
                self.report(body.path, f"no joint places the body {name!r}", "give a joint with it as child")
        order: list[Edge] = []
        reached = {"base", main}
        waiting = list(parent.values())
        while waiting and not self.faults:
            ready = [edge for edge in waiting if edge.predecessor in reached]
            if not ready:
                ring = ", ".join(edge.draft.name for edge in waiting)
                self.report(
                    waiting[0].draft.path,
                    f"these joints hang on each other but not on the base: {ring}",
                    "one of them belongs under closures",
                )
                break
            order += ready
            reached |= {edge.successor for edge in ready}
            waiting = [edge for edge in waiting if edge not in ready]
        return order

    def components(self) -> list[list[str]]:
        """Connected components of the graph without base and platform, in the order of the legs.

        Couplings join components, too.
        """
        names = [f"{part.name}.{name}" for part in self.legs for name in part.chain.bodies]
        # Joints between legs at a point platform are the platform's, they do not join the legs.
        joining = [edge for edge in self.edges if not (self.at_point and edge.part.spec is None)]
        pairs = [(edge.predecessor, edge.successor) for edge in joining]
        for coupling in self.couplings:
            # What is coupled is one leg.
            coupled = [edge.successor for edge in coupling.edges if edge.successor in names]
            pairs += pairwise(coupled)
        return connected_components(names, pairs)

    @cached_property
    def joint_names(self) -> list[str]:
        """Full names of all joints."""
        return [full_name(edge) for edge in self.edges]

    @cached_property
    def platform_branch_names(self) -> set[str]:
        """Names of legs that belong to the mechanism of the platform."""
        return {body.split(".")[0] for group in self.platform_branches for body in group}

    def placement(self, part: PartDraft) -> Placement:
        """Where a leg is placed: all of it on the platform, if it never reaches the base."""
        if (
            part.name in self.platform_branch_names
            and part.spec is not None
            and part.spec.placement.platform is None
        ):
            return part.placement._replace(platform=part.placement.base)
        return part.placement

    def is_platform_branch(self, group: list[str], coordinates: Collection[str]) -> bool:
        """Whether a component belongs to the mechanism of the platform: it is no leg between two ends.

        It hangs on the platform alone; or on the base alone, and coordinates of the motion name its joints.
        All components of a robot without a platform are of this kind.
        """
        if not self.has_platform or self.at_point:
            return not self.has_platform
        members = set(group)
        touching = [edge for edge in self.edges if edge.successor in members or edge.predecessor in members]
        ends = {body for edge in touching for body in (edge.predecessor, edge.successor)} - members
        if "base" not in ends:
            return bool(ends)
        return ends == {"base"} and any(
            not {edge.draft.name, full_name(edge)}.isdisjoint(coordinates) for edge in touching
        )

    def leg_names(self) -> list[str]:
        """Name each component after the leg or legs in which it was written."""
        leg_lists = [list(dict.fromkeys(body.split(".")[0] for body in group)) for group in self.groups]
        result = []
        for k, names in enumerate(leg_lists):
            same = [j for j, names_of_other in enumerate(leg_lists) if names_of_other == names]
            name = "-".join(names)
            result.append(f"{name}-{same.index(k) + 1}" if len(same) > 1 else name)
        return result

    def sort_by_leg(self, edges: list[Edge]) -> list[Edge]:
        """Sort joints: those of the platform first, then leg by leg; otherwise as they are."""

        def side(edge: Edge) -> int:
            return self.group_of.get(edge.successor, self.group_of.get(edge.predecessor, -1))

        return sorted(edges, key=side)
