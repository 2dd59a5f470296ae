"""Drake's own elements in URDF and SDF: constraints, bushings, springs.

    drake:ball_constraint       the point p_AP of body_A is the point p_BQ of body_B: a spherical closure
    drake:weld_constraint       the frames parent and child coincide: a fixed closure
    drake:distance_constraint   the points P and Q are apart by a distance: a spring where it has a stiffness
    drake:linear_bushing_rpy    springs and dampers between two frames, with which Drake closes loops
    drake:tendon_constraint     lower <= sum a_i q_i + offset <= upper; equal bounds are a coupling
    drake:linear_spring_damper  a spring with a damper between points of two bodies

A bushing holds three translations and the rotations that have a stiffness: none is a spherical closure, two
a revolute one about the third axis, three a weld. Its finite stiffness and its damping are left out and
reported.
In URDF values are attributes, `name` or `value`; in SDF they are texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nacelle.exchange.graph import Axis, Coupling, ExchangeReport, Link, Strut, UniqueNames
from nacelle.exchange.xml import LARGEST_NUMBER, Element, finite_numbers
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

BALL, BUSHING = "drake:ball_constraint", "drake:linear_bushing_rpy"
TENDON, SPRING = "drake:tendon_constraint", "drake:linear_spring_damper"
WELD, DISTANCE = "drake:weld_constraint", "drake:distance_constraint"
TAGS = {BALL, BUSHING, TENDON, SPRING, WELD, DISTANCE}


@dataclass(frozen=True, eq=False)
class NamesInFile:
    """What the names of a file mean.

    Attributes:
        frame: of a link or frame, at an element: its body and its pose on it.
        joint: the joint of one axis of a name, at an element.
        joints: names of joints of the graph, in which closures are named.
    """

    frame: Callable[[str, Element], tuple[str, Pose]]
    joint: Callable[[str, Element], Link]
    joints: UniqueNames


@dataclass(eq=False)
class DrakeElements:
    """What these elements add to a graph."""

    names: NamesInFile
    report: ExchangeReport
    closures: list[Link] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)
    struts: list[Strut] = field(default_factory=list)

    def read(self, parent: Element) -> DrakeElements:
        """Read all of them within an element.

        Raises:
            DescriptionError: at what is missing or names nothing.
        """
        readers = {
            BALL: self._ball,
            WELD: self._weld,
            DISTANCE: self._distance,
            BUSHING: self._bushing_closure,
            TENDON: self._tendon,
            SPRING: self._spring,
        }
        for element in parent.children:
            if element.tag in TAGS:
                readers[element.tag](element)
        return self

    def _ends(self, element: Element, *tags: str) -> list[tuple[str, Pose]]:
        children = [_child(element, tag) for tag in tags]
        return [self.names.frame(child.get("name") or child.text.strip(), child) for child in children]

    def _points(self, element: Element) -> tuple[tuple[str, str], tuple[Array, Array]]:
        """Bodies A and B with the points P and Q on them."""
        (first, at), (second, child_at) = self._ends(element, "body_A", "body_B")
        p, q = (_numbers(element, tag, 3) for tag in ("p_AP", "p_BQ"))
        return (first, second), (at.R @ p + at.p, child_at.R @ q + child_at.p)

    def _ball(self, element: Element) -> None:
        (parent, child), points = self._points(element)
        if parent == child:
            raise element.fault(f"both ends of the constraint are on {parent!r}")
        at, child_at = (Pose(np.eye(3), point) for point in points)
        name = self.names.joints.new(f"{parent}-{child}", "ball")
        self.closures.append(Link(name, parent, child, at, child_at, spherical=True, line=element.line))

    def _weld(self, element: Element) -> None:
        ends = [element.first(tag) for tag in ("parent", "child")]
        names = ["" if end is None else end.get("link") or end.text.strip() for end in ends]
        (parent, at), (child, child_at) = (self.names.frame(name, element) for name in names)
        if parent == child:
            raise element.fault(f"both ends of the constraint are on {parent!r}")
        name = self.names.joints.new(f"{parent}-{child}", "weld")
        self.closures.append(Link(name, parent, child, at, child_at, line=element.line))

    def _distance(self, element: Element) -> None:
        stiffness = _number(element, "stiffness", math.inf)
        if not math.isfinite(stiffness):
            raise element.fault(
                "a constraint holds the distance of two points, which no joint does",
                "write it as a rod between two ball joints",
            )
        bodies, points = self._points(element)
        length, damping = _number(element, "distance", 0.0), _number(element, "damping", 0.0)
        name = self.names.joints.new("-".join(bodies), "spring")
        self.struts.append(Strut(name, bodies, points, stiffness, length, damping))

    def _bushing_closure(self, element: Element) -> None:
        (parent, at), (child, child_at) = self._ends(element, "frameA", "frameC")
        force, torque = (_numbers(element, f"{what}_stiffness", 3) for what in ("force", "torque"))
        free = np.flatnonzero(torque == 0.0)
        if not np.all(force > 0.0) or len(free) == 2 or parent == child:
            raise element.fault(
                "the bushing is no joint: it must hold the three translations and none, two or all rotations"
            )
        name = self.names.joints.new(f"{parent}-{child}", "bushing")
        axes = (Axis(np.eye(3)[free[0]]),) if len(free) == 1 else ()
        link = Link(name, parent, child, at, child_at, axes, spherical=len(free) == 3, line=element.line)
        self.closures.append(link)
        self.report.add_loss(
            "bushings hold without giving way, their stiffness and damping are left out", name
        )

    def _tendon(self, element: Element) -> None:
        entries = element.children_named(f"{TENDON}_joint")
        joints = [self.names.joint(entry.get("name"), entry) for entry in entries]
        lower, upper = (
            _number(element, f"{end}_limit", sign * math.inf) for end, sign in (("lower", -1), ("upper", 1))
        )
        stiff = _number(element, "stiffness", math.inf) == math.inf
        if lower != upper or not stiff or not joints:
            self.report.add_loss(f"<{TENDON}> left out: it is no rigid coupling", *(j.name for j in joints))
            return
        factors: dict[str, float] = {}
        for joint, entry in zip(joints, entries, strict=True):
            factor = float(finite_numbers(entry, entry.get("a"), 1, "'a'")[0])
            factors[joint.name] = factors.get(joint.name, 0.0) + factor
        follower, *others = (name for name, factor in factors.items() if factor)
        ratios = {name: -factors[name] / factors[follower] for name in others}
        offset = (lower - _number(element, "offset", 0.0)) / factors[follower]
        self.couplings.append(Coupling(f"{follower}-tendon", follower, ratios, offset))

    def _spring(self, element: Element) -> None:
        bodies, points = self._points(element)
        values = [_number(element, tag, 0.0) for tag in ("stiffness", "free_length", "damping")]
        self.struts.append(Strut(self.names.joints.new("-".join(bodies), "spring"), bodies, points, *values))


def _name_of(element: Element, tag: str) -> str:
    """The full tag of a part: those of bushings begin with another word than the bushing."""
    return f"drake:bushing_{tag}" if element.tag == BUSHING else f"{element.tag}_{tag}"


def _child(element: Element, tag: str) -> Element:
    child = element.first(_name_of(element, tag))
    if child is None:
        raise element.fault(f"<{element.tag}> has no <{_name_of(element, tag)}>")
    return child


def _numbers(element: Element, tag: str, count: int) -> Array:
    child = _child(element, tag)
    return finite_numbers(child, child.get("value") or child.text, count, f"<{child.tag}>", LARGEST_NUMBER)


def _number(element: Element, tag: str, default: float) -> float:
    child = element.first(_name_of(element, tag))
    if child is None or (child.get("value") or child.text).strip().lstrip("+-").lower() in (
        "inf",
        "infinity",
    ):
        return default
    return float(_numbers(element, tag, 1)[0])
