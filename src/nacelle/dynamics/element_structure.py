"""Kinematic elements: how a robot's bodies are grouped into bars, spindles, telescopic elements and screws.

A leg is read from the base to the nacelle as one of

    bars           a driven bar or slider and one or more rods to the nacelle     RRR PRR RUS PUS R[SS|SS]
    strut          a telescopic element between two joints                        UPS SPS RPS RPR UPU
    shaft          the same, turned by a motor: the screw of [OAM] (8)            RUPU
    plane          a slider with a ball on a face of the nacelle                  PC5
    parallelogram  a driven bar or slider, a hub, and two bars side by side       PRPaR RRPaR

and each body of the nacelle is split evenly among the legs that hold it ([OAM] section 3.2, figure 2), so
that a leg's last element is its part of the nacelle. The split is one of dynamics alone.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.leg_solution import leg_form
from nacelle.kinematics.mechanism import Mechanism
from nacelle.kinematics.parallelogram import MEET, Parallelogram, parallelogram
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE, Leg
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

_BALLS = (JointKind.SPHERICAL, JointKind.POINT)
_WIDTHS = {"A": 3, "x": 3, "d": 1, "theta": 1}


class Axis(NamedTuple):
    """An axis of a joint's frame: column of the frame on the successor, or on the predecessor."""

    joint: int
    on_successor: bool
    column: int


@dataclass(frozen=True)
class Hold:
    """What holds an element at one end.

    Attributes:
        letter: "R", "U" or "S".
        joints: one joint, or two revolutes that act as a universal joint.
        cross: the body between those two; None for one joint.
        before: axis fixed to the body before; None for a ball.
        behind: axis fixed to the body behind; None for a ball.
    """

    letter: str
    joints: tuple[int, ...]
    cross: int | None
    before: Axis | None
    behind: Axis | None


@dataclass(frozen=True)
class Rod:
    """A bar or strut with its two ends.

    Attributes:
        body: the body at its input; of a strut the part that does not slide.
        hold: what holds it at its input.
        end: what holds it at its output, seen from the element.
        tip: the joint at its output.
        nacelle: the body of the nacelle there.
    """

    body: int
    hold: Hold
    end: Hold
    tip: int
    nacelle: int


@dataclass(frozen=True)
class Element:
    """A kinematic element ([OAM] section 3.1).

    Attributes:
        name: its name.
        letter: "B", "Sp", "T" or "S".
        body: the body that it is, or that slides in it.
        basis: which of its states move: "x", "d", "theta", and "A" where no other element gives it.
        share: the part of the body's wrenches that it carries: 1, or 1/k of a nacelle.
    """

    name: str
    letter: str
    body: int
    basis: tuple[str, ...]
    share: float = 1.0

    @property
    def width(self) -> int:
        """Number of entries that it adds to the motion basis."""
        return sum(_WIDTHS[name] for name in self.basis)


class Part(NamedTuple):
    """A part of the nacelle that a leg carries.

    Attributes:
        element: it, last in the leg.
        joint: the joint at its input.
        neighbour: the body of the nacelle that it hangs on; None if on the leg itself.
        hinged: whether its input point is one of the body before it.
    """

    element: Element
    joint: int
    neighbour: int | None
    hinged: bool


@dataclass(frozen=True)
class ElementLeg:
    """A leg as elements.

    Attributes:
        leg: the leg.
        form: "bars", "strut", "shaft", "plane" or "parallelogram".
        driver: the joint between the base and the first body; None for a strut.
        rods: bars, or the strut.
        slide: the slide of a strut; None elsewhere.
        moving: the body that slides in a strut.
        flip: -1.0 if the slide's axis points towards the strut's input, else 1.0.
        fold: the joints of a parallelogram.
        elements: its own elements, from the base on.
        parts: its parts of the nacelle.
    """

    leg: Leg
    form: str
    driver: int | None
    rods: tuple[Rod, ...]
    slide: int | None = None
    moving: int | None = None
    flip: float = 1.0
    fold: Parallelogram | None = None
    elements: tuple[Element, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def all_elements(self) -> tuple[Element, ...]:
        """Its own elements, then its parts of the nacelle."""
        return (*self.elements, *(part.element for part in self.parts))


class UncoveredError(ValueError):
    """A robot cannot be written as elements; the message is one sentence that says why."""


class _Hop(NamedTuple):
    """A joint passed on the way from the base to the nacelle."""

    joint: int
    before: int
    after: int


@lru_cache(maxsize=64)
def element_legs(known: Mechanism) -> tuple[ElementLeg, ...]:
    """Group all bodies of a robot into elements.

    Raises:
        UncoveredError: if it cannot be done.
    """
    robot = known.robot
    for j in (*robot.nacelle.joints, *robot.nacelle.closures):
        joint = robot.joints[j]
        slides = (JointKind.PRISMATIC,) if j < robot.tree else ()
        allowed = (JointKind.REVOLUTE, JointKind.FIXED, *slides)
        if joint.kind not in allowed and not joint.at_point:
            raise UncoveredError(
                f"{joint.kind} joints inside the nacelle ({joint.name}) are not covered by elements"
            )
    legs = [_Reader(known, leg).read() for leg in robot.legs]
    return _with_parts(robot, legs)


class _Reader:
    """Reads one leg."""

    def __init__(self, known: Mechanism, leg: Leg) -> None:
        self.known, self.robot, self.leg = known, known.robot, leg
        self.poses = known.assembly.motion.poses
        self.stem = welds(self.robot)
        kinds = {j: self.robot.joints[j].kind for j in (*leg.joints, *leg.closures)}
        self.edges = [j for j, kind in kinds.items() if kind is not JointKind.FIXED]

    def fail(self, reason: str) -> UncoveredError:
        return UncoveredError(f"leg {self.leg.name!r} {reason}")

    def read(self) -> ElementLeg:
        robot, leg = self.robot, self.leg
        fold = parallelogram(robot, leg)
        if fold is not None:
            if leg_form(robot, leg) != "parallelogram":
                raise self.fail("has a parallelogram whose hub does not stand on its axis")
            return self._parallelogram(fold)
        roots = [hop for hop in self._hops(BASE, set()) if hop.after != BASE]
        if len(roots) != 1:
            raise self.fail(f"stands on the base with {len(roots)} joints; elements need one")
        hops = [roots[0]]
        used = {hops[0].joint}
        while hops[-1].after not in robot.nacelle.bodies:
            nexts = self._hops(hops[-1].after, used)
            if len(nexts) > 1 and len(hops) == 1:
                return self._bars(hops[0], [self._branch(hop, used) for hop in nexts])
            if len(nexts) != 1:
                raise self.fail("branches in a way that is not covered by elements")
            hops.append(nexts[0])
            used.add(nexts[0].joint)
        return self._serial(hops, used)

    def _hops(self, body: int, used: set[int]) -> list[_Hop]:
        found = []
        for j in self.edges:
            joint = self.robot.joints[j]
            ends = self.stem[joint.predecessor], self.stem[joint.successor]
            if j not in used and body in ends:
                found.append(_Hop(j, body, ends[1] if ends[0] == body else ends[0]))
        return found

    def _branch(self, hop: _Hop, used: set[int]) -> list[_Hop]:
        hops = [hop]
        used.add(hop.joint)
        while hops[-1].after not in self.robot.nacelle.bodies:
            nexts = self._hops(hops[-1].after, used)
            if len(nexts) != 1:
                raise self.fail("has rods that branch, which is not covered by elements")
            hops.append(nexts[0])
            used.add(nexts[0].joint)
        return hops

    def _serial(self, hops: list[_Hop], used: set[int]) -> ElementLeg:
        if set(self.edges) - used:
            raise self.fail("has a loop of its own that is not covered by elements")
        kind = self.robot.joints[hops[-1].joint].kind
        if len(hops) == 2 and kind is JointKind.PLANAR_SPHERICAL and self._letter(hops[0]) == "P":
            return self._plane(hops)
        if self._letter(hops[0]) in ("R", "P") and len(hops) >= 3:
            holds = self._holds(hops[1:])
            word = "".join(h.letter if isinstance(h, Hold) else "P" for h in holds)
            if len(word) == 2 and "P" not in word:
                return self._bars(hops[0], [hops[1:]])
            if self._letter(hops[0]) == "R" and word == "UPU":
                return self._strut(hops[1:], hops[0])
        return self._strut(hops, None)

    def _letter(self, hop: _Hop) -> str:
        kind = self.robot.joints[hop.joint].kind
        letters = {JointKind.REVOLUTE: "R", JointKind.PRISMATIC: "P", JointKind.UNIVERSAL: "U"}
        return "S" if kind in _BALLS else letters.get(kind, "?")

    def _holds(self, hops: list[_Hop]) -> list[Hold | _Hop]:
        """Joints as holds, two revolutes that meet and stand square taken together; slides as they are."""
        found: list[Hold | _Hop] = []
        k = 0
        while k < len(hops):
            letter = self._letter(hops[k])
            if letter == "P":
                found.append(hops[k])
            elif letter == "R" and k + 1 < len(hops) and self._meet(hops[k], hops[k + 1]):
                joints = (hops[k].joint, hops[k + 1].joint)
                axes = self._axis(hops[k], hops[k].before), self._axis(hops[k + 1], hops[k + 1].after)
                found.append(Hold("U", joints, hops[k].after, *axes))
                k += 1
            else:
                found.append(self._hold(hops[k]))
            k += 1
        return found

    def _hold(self, hop: _Hop) -> Hold:
        letter = self._letter(hop)
        match letter:
            case "S":
                return Hold("S", (hop.joint,), None, None, None)
            case "R":
                return Hold("R", (hop.joint,), None, self._axis(hop, hop.before), self._axis(hop, hop.after))
            case "U":
                outward = self.stem[self.robot.joints[hop.joint].predecessor] == hop.before
                first, second = Axis(hop.joint, False, 0), Axis(hop.joint, True, 1)
                axes = (first, second) if outward else (second, first)
                return Hold("U", (hop.joint,), None, *axes)
        name = self.robot.joints[hop.joint]
        raise self.fail(f"has a {name.kind} joint ({name.name}) where elements need R, U, S or a slide")

    def _axis(self, hop: _Hop, body: int) -> Axis:
        """The z axis of a joint on one of its bodies."""
        return Axis(hop.joint, self.stem[self.robot.joints[hop.joint].successor] == body, 2)

    def _meet(self, first: _Hop, second: _Hop) -> bool:
        """Whether the axes of two revolutes on one body meet and stand square."""
        if self._letter(second) != "R":
            return False
        F = frame(self.robot, self.poses, first.joint, on_successor=False)
        G = frame(self.robot, self.poses, second.joint, on_successor=False)
        a, b = F.R[:, 2], G.R[:, 2]
        # The reference pose is assembled to 1e-12, so this is looser than the closed forms ask.
        away = abs(float(np.cross(a, b) @ (G.p - F.p)))
        return abs(float(a @ b)) < 1e-9 and away < 1e3 * MEET * self.robot.size

    def _rod(self, hops: list[_Hop]) -> Rod:
        holds = self._holds(hops)
        if len(holds) != 2 or not all(isinstance(hold, Hold) for hold in holds):
            raise self.fail("has joints between its elements that are not covered")
        hold, end = holds
        assert isinstance(hold, Hold)
        assert isinstance(end, Hold)
        if len(end.joints) > 1:
            raise self.fail(
                "has a body in the universal joint at the nacelle, which is not covered by elements"
            )
        return Rod(hops[-1].before, hold, end, hops[-1].joint, hops[-1].after)

    def _driver(self, hop: _Hop) -> Element:
        letter = self._letter(hop)
        if letter not in ("R", "P"):
            raise self.fail("starts with a joint that is neither a revolute nor a slide")
        name = self.robot.bodies[hop.after].name
        return Element(name, *(("B", hop.after, ("x",)) if letter == "R" else ("T", hop.after, ("d",))))

    def _bars(self, driver: _Hop, branches: list[list[_Hop]]) -> ElementLeg:
        rods = tuple(self._rod(hops) for hops in branches)
        if len({rod.nacelle for rod in rods}) > 1:
            raise self.fail("holds several bodies of the nacelle, which is not covered by elements")
        elements = [self._driver(driver)]
        for rod in rods:
            spins = "U" in (rod.hold.letter, rod.end.letter)
            basis = ("x", "theta") if spins else ("x",)
            elements.append(Element(self.robot.bodies[rod.body].name, "B", rod.body, basis))
        return ElementLeg(self.leg, "bars", driver.joint, rods, elements=tuple(elements))

    def _plane(self, hops: list[_Hop]) -> ElementLeg:
        ball = Hold("S", (hops[1].joint,), None, None, None)
        rod = Rod(hops[0].after, ball, ball, hops[1].joint, hops[1].after)
        return ElementLeg(self.leg, "plane", hops[0].joint, (rod,), elements=(self._driver(hops[0]),))

    def _strut(self, hops: list[_Hop], motor: _Hop | None) -> ElementLeg:
        holds = self._holds(hops)
        words = [hold.letter if isinstance(hold, Hold) else "P" for hold in holds]
        if len(holds) != 3 or words[1] != "P" or "P" in (words[0], words[2]):
            raise self.fail(
                f"is none of the covered kinds: bars, struts, shafts, sliders on a plane ({''.join(words)})"
            )
        hold, slide, end = holds
        assert isinstance(hold, Hold)
        assert isinstance(slide, _Hop)
        assert isinstance(end, Hold)
        if len(end.joints) > 1:
            raise self.fail(
                "has a body in the universal joint at the nacelle, which is not covered by elements"
            )
        tip = hops[-1]
        rod = Rod(slide.before, hold, end, tip.joint, tip.after)
        A = centre(self.robot, self.poses, hold)
        B = frame(self.robot, self.poses, tip.joint, on_successor=False).p
        s = frame(self.robot, self.poses, slide.joint, on_successor=False).R[:, 2]
        flip = 1.0 if float(s @ (B - A)) > 0.0 else -1.0
        names = [self.robot.bodies[body].name for body in (slide.before, slide.after)]
        strut = Element(" + ".join(names), "T" if motor is None else "S", slide.after, ("x", "d", "theta"))
        if motor is None:
            if self.stem[hops[0].before] != BASE:
                raise self.fail("has a strut that does not stand on the base")
            form, driver, elements = "strut", None, [strut]
        else:
            F = frame(self.robot, self.poses, motor.joint, on_successor=False)
            off = np.cross(F.R[:, 2], A - F.p)
            if float(np.linalg.norm(off)) > 1e3 * MEET * self.robot.size:
                raise self.fail("has a shaft whose joint does not stand on the motor's axis")
            spindle = Element(self.robot.bodies[motor.after].name, "Sp", motor.after, ("theta",))
            form, driver, elements = "shaft", motor.joint, [spindle, strut]
        return ElementLeg(
            self.leg, form, driver, (rod,), slide.joint, slide.after, flip, elements=tuple(elements)
        )

    def _parallelogram(self, fold: Parallelogram) -> ElementLeg:
        joints = self.robot.joints
        arm, hub = joints[fold.root].successor, joints[fold.hub].successor
        hold = Hold("U", (fold.hub, fold.rod_a), hub, Axis(fold.hub, False, 2), Axis(fold.rod_a, True, 2))
        wrist = joints[fold.wrist]
        own = wrist.predecessor == joints[fold.end].successor
        end = Hold("R", (fold.wrist,), None, Axis(fold.wrist, not own, 2), Axis(fold.wrist, own, 2))
        nacelle = wrist.successor if own else wrist.predecessor
        rods = tuple(
            Rod(joints[j].successor, hold, end, fold.wrist, nacelle) for j in (fold.rod_a, fold.rod_b)
        )
        elements = [self._driver(_Hop(fold.root, BASE, arm))]
        elements += [Element(self.robot.bodies[rod.body].name, "B", rod.body, ("x", "theta")) for rod in rods]
        return ElementLeg(self.leg, "parallelogram", fold.root, rods, fold=fold, elements=tuple(elements))


def _with_parts(robot: Robot, legs: list[ElementLeg]) -> tuple[ElementLeg, ...]:
    """Split each body of the nacelle evenly among its legs; one without, among its neighbours' legs."""
    holders: dict[int, list[int]] = {}
    for k, leg in enumerate(legs):
        holders.setdefault(leg.rods[0].nacelle, []).append(k)
    # For each body of the nacelle without legs: the joint and the neighbour by which each leg reaches it.
    links: dict[int, dict[int, tuple[int, int]]] = {body: {} for body in robot.nacelle.bodies}
    reached = dict(holders)
    left = [body for body in robot.nacelle.bodies if body not in reached]
    while left:
        found: dict[int, list[int]] = {}
        for body in left:
            for j in (*robot.nacelle.joints, *robot.nacelle.closures):
                ends = robot.joints[j].predecessor, robot.joints[j].successor
                if body in ends and not robot.joints[j].at_point:
                    other = ends[1] if ends[0] == body else ends[0]
                    for k in reached.get(other, []):
                        if k not in links[body]:
                            links[body][k] = (j, other)
                            found.setdefault(body, []).append(k)
        if not found:
            raise UncoveredError("some bodies of the nacelle hang on none of its legs")
        reached |= found
        left = [body for body in left if body not in found]
    result = []
    for k, leg in enumerate(legs):
        parts = [_held_part(robot, leg, len(holders[leg.rods[0].nacelle]))]
        for body in reached:
            if k in links[body]:
                j, other = links[body][k]
                hinged = robot.joints[j].kind in (JointKind.REVOLUTE, JointKind.FIXED)
                basis = ("x", "theta") if hinged else ("A", "x", "theta")
                name = f"{robot.bodies[body].name}/{leg.leg.name}"
                element = Element(name, "B", body, basis, 1.0 / len(reached[body]))
                parts.append(Part(element, j, other, hinged))
        result.append(dataclasses.replace(leg, parts=tuple(parts)))
    return tuple(result)


def _held_part(robot: Robot, leg: ElementLeg, count: int) -> Part:
    """A leg's part of the body of the nacelle that it holds."""
    body = leg.rods[0].nacelle
    hinged = leg.form != "plane"
    turns = () if robot.nacelle.kind == "point" else ("x", "theta")
    basis = turns if hinged else ("A", *turns)
    name = f"{robot.bodies[body].name}/{leg.leg.name}"
    return Part(Element(name, "B", body, basis, 1.0 / count), leg.rods[0].tip, None, hinged)


def welds(robot: Robot) -> tuple[int, ...]:
    """For each body the one that it is fixed to, by fixed joints of the tree; else itself."""
    stem = list(range(len(robot.bodies)))
    for joint in robot.tree_joints:
        if joint.kind is JointKind.FIXED and joint.successor not in robot.nacelle.bodies:
            stem[joint.successor] = stem[joint.predecessor]
    return tuple(stem)


def frame(robot: Robot, poses: tuple[Pose, ...], joint: int, *, on_successor: bool) -> Pose:
    """A frame of a joint in the base."""
    found = robot.joints[joint]
    if on_successor:
        return poses[found.successor] @ found.frame_successor
    return poses[found.predecessor] @ found.frame_predecessor


def direction(robot: Robot, poses: tuple[Pose, ...], axis: Axis) -> Array:
    """An axis of a joint (3,), base axes."""
    return np.asarray(frame(robot, poses, axis.joint, on_successor=axis.on_successor).R[:, axis.column])


def centre(robot: Robot, poses: tuple[Pose, ...], hold: Hold) -> Array:
    """The point about which a hold turns (3,): of a joint its origin, of two axes where they meet."""
    first = frame(robot, poses, hold.joints[0], on_successor=False)
    if len(hold.joints) == 1:
        return np.asarray(first.p)
    second = frame(robot, poses, hold.joints[1], on_successor=False)
    a = first.R[:, 2]
    return np.asarray(first.p + (a @ (second.p - first.p)) * a)
