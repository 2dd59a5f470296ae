"""Kinematic elements ([OAM] section 3), bars, spindles, telescopes, screws: legs of them, and their places.

An element has an input point A, a direction x (3,), a length d and a spin theta about x; those of them that
move are its motion basis ([OAM] (26)). A leg is one of

    bars           a driven bar or slider and one or more rods to the platform     RRR PRR RUS PUS R[SS|SS]
    strut          a telescopic element between two joints                        UPS SPS RPS RPR UPU
    shaft          the same, turned by a motor: the screw of [OAM] (8)            RUPU
    plane          a slider with a spherical joint on a face of the platform       PC5
    parallelogram  a driven bar or slider, a hub, and two bars side by side       PRPaR RRPaR

read from the base to the platform, and its last element is its part of the platform: each body of the
platform is split evenly among the legs that hold it ([OAM] section 3.2, figure 2), one without legs among
those of its neighbours. The split is one of dynamics alone.

A rod reaches from its input E (3,), on the driven bar or slider, to its output B on the platform; on a
revolute joint with axis z, E is the point of the axis nearest to B,

    E = F + z (z . (B - F))                                  F the joint's origin

A bar on a revolute joint points from its axis, perpendicular to it, to E: with c = E - F

    x = (c - z (z . c)) / |c - z (z . c)|                    the direction x of [OAM] section 3

Base axes, m.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np

from nacelle.kinematics.legs.chain import is_on_axis
from nacelle.kinematics.legs.leg_type import JointGroup, leg_type
from nacelle.kinematics.legs.parallelogram import Parallelogram
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.joint import JointKind
from nacelle.model.leg import Leg
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, divide, dot, norm


class FrameAxis(NamedTuple):
    """An axis of a joint's frame: column of the frame on the successor, or on the predecessor."""

    joint: int
    on_successor: bool
    column: int


@dataclass(frozen=True)
class EndJoint:
    """What holds an element at one end.

    Attributes:
        letter: "R", "U" or "S".
        joints: one joint, or two revolutes that act as a universal joint.
        axes: the axes fixed to the body before and to the body behind; none of a spherical joint.
        cross: the body between two joints; None for one.
    """

    letter: str
    joints: tuple[int, ...]
    axes: tuple[FrameAxis, ...] = ()
    cross: int | None = None


@dataclass(frozen=True)
class ElementRod:
    """A bar or strut with its two ends.

    Attributes:
        body: the body at its input; of a strut the part that does not slide.
        hold: what holds it at its input.
        end: what holds it at its output, seen from the element.
        tip: the joint at its output.
        platform: the body of the platform there.
    """

    body: int
    hold: EndJoint
    end: EndJoint
    tip: int
    platform: int


@dataclass(frozen=True)
class KinematicElement:
    """A kinematic element ([OAM] section 3.1).

    Attributes:
        name: its name.
        letter: "B", "Sp", "T" or "S".
        body: the body that it is, or that slides in it.
        basis: which of its states move: "x", "d", "theta", and "A" where no other element gives it.
        share: the part of the body's wrenches that it carries: 1, or 1/k of a platform.
    """

    name: str
    letter: str
    body: int
    basis: tuple[str, ...]
    share: float = 1.0


class PlatformPart(NamedTuple):
    """A part of the platform that a leg carries.

    Attributes:
        element: it, last in the leg.
        joint: the joint at its input.
        neighbour: the body of the platform that it hangs on; None if on the leg itself.
    """

    element: KinematicElement
    joint: int
    neighbour: int | None


@dataclass(frozen=True)
class ElementLeg:
    """A leg as elements.

    Attributes:
        leg: the leg.
        form: "bars", "strut", "shaft", "plane" or "parallelogram".
        driver: the joint between the base and the first body; None for a strut.
        rods: bars, or the strut.
        prismatic: the slide of a strut; None elsewhere.
        moving: the body that slides in a strut.
        flip: -1.0 if the slide's axis points towards the strut's input, else 1.0.
        fold: the joints of a parallelogram.
        elements: its own elements, from the base on.
        parts: its parts of the platform.
    """

    leg: Leg
    form: str
    driver: int | None
    rods: tuple[ElementRod, ...]
    prismatic: int | None = None
    moving: int | None = None
    flip: float = 1.0
    fold: Parallelogram | None = None
    elements: tuple[KinematicElement, ...] = ()
    parts: tuple[PlatformPart, ...] = ()

    @property
    def has_arm(self) -> bool:
        """Whether a driven bar turns on the base."""
        return self.driver is not None and self.elements[0].basis == ("x",)

    @property
    def first_bar(self) -> int:
        """Place of its first rod, or of its strut, among its elements."""
        return len(self.elements) - len(self.bars)

    @property
    def bars(self) -> tuple[ElementRod, ...]:
        """Its rods or its strut that are elements: none of a slider on a plane."""
        return () if self.form == "plane" else self.rods

    @property
    def all_elements(self) -> tuple[KinematicElement, ...]:
        """Its own elements, then its parts of the platform."""
        return (*self.elements, *(part.element for part in self.parts))


# ---- where the elements of a leg are: frames of joints, ends of rods, directions; base axes, m


class Line(NamedTuple):
    """Input point A (3,), m, and direction x (3,) of an element, base axes."""

    A: Array
    x: Array


@dataclass(frozen=True)
class ElementGeometry:
    """A robot with the poses of its bodies, read as elements; points (3,) and directions (3,), base axes."""

    robot: Robot
    poses: tuple[Pose, ...]

    def frame(self, joint: int, *, on_successor: bool = False) -> Pose:
        """The frame of a joint on its predecessor or successor, in the base."""
        data = self.robot.joints[joint]
        if on_successor:
            return self.poses[data.successor] @ data.frame_successor
        return self.poses[data.predecessor] @ data.frame_predecessor

    def axis(self, axis: FrameAxis) -> Array:
        """An axis of a joint, unit vector (3,), base axes."""
        return np.asarray(self.frame(axis.joint, on_successor=axis.on_successor).R[:, axis.column])

    def origin(self, joint: int, body: int) -> Array:
        """Origin (3,), base axes, m, of a joint's frame on one of its bodies."""
        return np.asarray(self.frame(joint, on_successor=self.robot.joints[joint].successor == body).p)

    def local_origin(self, joint: int, body: int) -> Array:
        """The same in the frame of the body, as numbers."""
        data = self.robot.numeric.joints[joint]
        return np.asarray((data.frame_successor if data.successor == body else data.frame_predecessor).p)

    def centre(self, hold: EndJoint) -> Array:
        """The point (3,), base axes, m, about which a hold rotates: a joint's, or of two axes."""
        first = self.frame(hold.joints[0])
        if len(hold.joints) == 1:
            return np.asarray(first.p)
        a = first.R[:, 2]
        return np.asarray(first.p + (a @ (self.frame(hold.joints[1]).p - first.p)) * a)

    def ends(self, leg: ElementLeg, rod: ElementRod) -> tuple[Array, Array]:
        """Input and output (3,), base axes, m, of a rod or strut; of a parallelogram those of its arm."""
        B = self.origin(rod.tip, rod.platform)
        if leg.fold is not None:
            return B - (self.frame(leg.fold.end).p - self.frame(leg.fold.rod_a).p), B
        E = self.centre(rod.hold)
        if rod.hold.letter == "R" and leg.prismatic is None:
            z = self.axis(rod.hold.axes[0])
            E = E + z * dot(z, B - E)
        return E, B

    def direction(self, leg: ElementLeg, rod: ElementRod) -> Array:
        """Direction (B - E) / |B - E| (3,), base axes, of a rod from E to B, or a strut's axis."""
        if leg.prismatic is not None:
            return np.asarray(self.frame(leg.prismatic).R[:, 2] * leg.flip)
        E, B = self.ends(leg, rod)
        return unit_vector(B - E)

    def arm(self, leg: ElementLeg) -> Array:
        """The driven bar (3,), base axes, m: perpendicular to its axis, to the input of the first rod."""
        assert leg.driver is not None
        F = self.frame(leg.driver)
        z, arm = F.R[:, 2], self.ends(leg, leg.rods[0])[0] - F.p
        return np.asarray(arm - z * dot(z, arm))

    def lines(self, leg: ElementLeg) -> list[Line]:
        """Input points and directions of all elements of a leg, in their order."""
        lines = []
        if leg.driver is not None:
            F = self.frame(leg.driver)
            lines.append(Line(F.p, unit_vector(self.arm(leg)) if leg.has_arm else F.R[:, 2]))
        lines += [Line(self.ends(leg, rod)[0], self.direction(leg, rod)) for rod in leg.bars]
        return lines + [self._part_line(part.joint, part.element.body) for part in leg.parts]

    def _part_line(self, joint: int, body: int) -> Line:
        """A part of the platform: from the joint at its input to the body's origin, or along an axis."""
        A = self.origin(joint, body)
        if float(np.linalg.norm(self.local_origin(joint, body))) < 1e-9 * self.robot.numeric.size:
            return Line(A, self.poses[body].R[:, 0])
        return Line(A, unit_vector(self.poses[body].p - A))


def unit_vector(r: Array) -> Array:
    """Give r / |r| (3,)."""
    return np.asarray(r * divide(1.0, norm(r)))


# ---- how a robot's bodies are grouped into elements, read from the types of its legs


class UnsupportedElementsError(ValueError):
    """A robot cannot be written as elements; the message is one sentence that says why."""


@lru_cache(maxsize=64)
def element_legs(mechanism: Mechanism) -> tuple[ElementLeg, ...]:
    """Group all bodies of a robot into elements.

    Raises:
        UncoveredError: if it cannot be done.
    """
    robot = mechanism.robot
    for j in (*robot.platform.joints, *robot.platform.closures):
        joint = robot.joints[j]
        slides = (JointKind.PRISMATIC,) if j < robot.tree else ()
        allowed = (JointKind.REVOLUTE, JointKind.FIXED, *slides)
        if joint.kind not in allowed and not joint.at_point:
            raise UnsupportedElementsError(
                f"{joint.kind} joints inside the platform ({joint.name}) are not covered by elements"
            )
    legs = [_LegReader(mechanism, leg).read() for leg in robot.legs]
    return _split_platform(robot, legs)


class _LegReader:
    """Reads one leg."""

    def __init__(self, mechanism: Mechanism, leg: Leg) -> None:
        self.robot, self.leg = mechanism.robot, leg
        self.at = ElementGeometry(mechanism.robot, mechanism.assembly.motion.poses)
        self.stem = welded_bodies(mechanism.robot)

    def fail(self, reason: str) -> UnsupportedElementsError:
        return UnsupportedElementsError(f"leg {self.leg.name!r} {reason}")

    def read(self) -> ElementLeg:
        kind = leg_type(self.robot, self.leg)
        if kind.parallelogram is not None and kind.has_closed_form:
            return self._parallelogram(kind.parallelogram)
        if not kind.trunk:
            raise self.fail(f"is not covered by elements: {kind.reason}")
        match [group.letter for group in kind.trunk]:
            case ["R" | "P"] if kind.branches:
                return self._bars(kind.trunk[0], kind.branches)
            case _ if kind.branches:
                raise self.fail("branches in a way that is not covered by elements")
            case ["P", "C5"] if kind.trunk[1].joints[0].kind is JointKind.PLANAR_SPHERICAL:
                return self._plane(*kind.trunk)
            case ["R" | "P", second, third] if "P" not in (second, third):
                return self._bars(kind.trunk[0], (kind.trunk[1:],))
            case ["R", "U", "P", "U"]:
                return self._strut(kind.trunk[1:], kind.trunk[0])
            case [_, "P", _]:
                return self._strut(kind.trunk, None)
        raise self.fail(f"is not of a supported kind: bars, struts, shafts, sliders on a plane ({kind.name})")

    def _hold(self, group: JointGroup) -> EndJoint:
        first, last = group.joints[0], group.joints[-1]
        joints = tuple(joint.joint for joint in group.joints)
        match [joint.kind for joint in group.joints]:
            case [JointKind.SPHERICAL | JointKind.POINT]:
                return EndJoint("S", joints)
            case [JointKind.UNIVERSAL]:
                axes = FrameAxis(first.joint, False, 0), FrameAxis(first.joint, True, 1)
                return EndJoint("U", joints, axes if first.forward else axes[::-1])
            case [JointKind.REVOLUTE] | [JointKind.REVOLUTE, JointKind.REVOLUTE]:
                axes = FrameAxis(first.joint, not first.forward, 2), FrameAxis(last.joint, last.forward, 2)
                return EndJoint(
                    group.letter, joints, axes, self.stem[first.after] if len(joints) > 1 else None
                )
        names = ", ".join(f"{self.robot.joints[j].name}, {self.robot.joints[j].kind}" for j in joints)
        raise self.fail(f"has a joint ({names}) where elements need R, U, S or a slide")

    def _ends(self, first: JointGroup, last: JointGroup) -> tuple[EndJoint, EndJoint]:
        """The joints at the two ends of a rod or strut."""
        if last.after not in self.robot.platform.bodies:
            raise self.fail("does not end at the platform with a joint that moves")
        hold, end = self._hold(first), self._hold(last)
        if len(end.joints) > 1:
            raise self.fail(
                "has a body in the universal joint at the platform, which is not covered by elements"
            )
        return hold, end

    def _rod(self, groups: tuple[JointGroup, ...]) -> ElementRod:
        if len(groups) != 2:
            raise self.fail("has joints between its elements that are not covered")
        body, tip = self.stem[groups[1].before], groups[1].joints[0].joint
        return ElementRod(body, *self._ends(*groups), tip, groups[1].after)

    def _driver(self, joint: int, body: int) -> KinematicElement:
        letter, basis = ("B", "x") if self.robot.joints[joint].kind is JointKind.REVOLUTE else ("T", "d")
        return KinematicElement(self.robot.bodies[body].name, letter, body, (basis,))

    def _bars(self, driver: JointGroup, branches: tuple[tuple[JointGroup, ...], ...]) -> ElementLeg:
        rods = tuple(self._rod(groups) for groups in branches)
        if len({rod.platform for rod in rods}) > 1:
            raise self.fail("holds several bodies of the platform, which is not covered by elements")
        joint = driver.joints[0].joint
        elements = (self._driver(joint, self.stem[driver.after]), *(self._bar(rod) for rod in rods))
        return ElementLeg(self.leg, "bars", joint, rods, elements=elements)

    def _bar(self, rod: ElementRod) -> KinematicElement:
        spins = "U" in (rod.hold.letter, rod.end.letter)
        return KinematicElement(
            self.robot.bodies[rod.body].name, "B", rod.body, ("x", "theta") if spins else ("x",)
        )

    def _plane(self, prismatic: JointGroup, face: JointGroup) -> ElementLeg:
        body, driver, tip = self.stem[prismatic.after], prismatic.joints[0].joint, face.joints[0].joint
        ball = EndJoint("S", (tip,))
        rod = ElementRod(body, ball, ball, tip, face.after)
        return ElementLeg(self.leg, "plane", driver, (rod,), elements=(self._driver(driver, body),))

    def _strut(self, groups: tuple[JointGroup, ...], motor: JointGroup | None) -> ElementLeg:
        first, between, last = groups
        hold, end = self._ends(first, last)
        tip, prismatic = last.joints[0].joint, between.joints[0].joint
        tube, moving = self.stem[between.before], self.stem[between.after]
        rod = ElementRod(tube, hold, end, tip, last.after)
        reach = self.at.frame(tip).p - self.at.centre(hold)
        flip = 1.0 if float(self.at.frame(prismatic).R[:, 2] @ reach) > 0.0 else -1.0
        name = " + ".join(self.robot.bodies[body].name for body in (tube, moving))
        strut = KinematicElement(name, "T" if motor is None else "S", moving, ("x", "d", "theta"))
        if motor is None:
            form, driver, elements = "strut", None, [strut]
        else:
            far, shaft = motor.joints[0].far, self.stem[motor.after]
            if not is_on_axis(far.R.T @ (first.centre - far.p), self.robot.size):
                raise self.fail("has a shaft whose joint is not on the motor's axis")
            spindle = KinematicElement(self.robot.bodies[shaft].name, "Sp", shaft, ("theta",))
            form, driver, elements = "shaft", motor.joints[0].joint, [spindle, strut]
        return ElementLeg(self.leg, form, driver, (rod,), prismatic, moving, flip, elements=tuple(elements))

    def _parallelogram(self, fold: Parallelogram) -> ElementLeg:
        joints = self.robot.joints
        arm, hub = joints[fold.root].successor, joints[fold.hub].successor
        axes = FrameAxis(fold.hub, False, 2), FrameAxis(fold.rod_a, True, 2)
        hold = EndJoint("U", (fold.hub, fold.rod_a), axes, hub)
        end = EndJoint("R", (fold.wrist,), (FrameAxis(fold.wrist, False, 2), FrameAxis(fold.wrist, True, 2)))
        platform = joints[fold.wrist].successor
        rods = tuple(
            ElementRod(joints[j].successor, hold, end, fold.wrist, platform) for j in (fold.rod_a, fold.rod_b)
        )
        elements = (self._driver(fold.root, arm), *(self._bar(rod) for rod in rods))
        return ElementLeg(self.leg, "parallelogram", fold.root, rods, fold=fold, elements=elements)


class _PlatformPath(NamedTuple):
    """How a leg reaches a body of the platform: by which joint, and past which other body of it."""

    joint: int
    neighbour: int | None = None


def _split_platform(robot: Robot, legs: list[ElementLeg]) -> tuple[ElementLeg, ...]:
    """Split each body of the platform evenly among its legs; one without, among its neighbours' legs."""
    # By body and leg.
    ways: dict[int, dict[int, _PlatformPath]] = {}
    for k, leg in enumerate(legs):
        ways.setdefault(leg.rods[0].platform, {})[k] = _PlatformPath(leg.rods[0].tip)
    links = [
        (j, *ends)
        for j in (*robot.platform.joints, *robot.platform.closures)
        if not (joint := robot.joints[j]).at_point
        for ends in permutations((joint.predecessor, joint.successor))
    ]
    while len(ways) < len(robot.platform.bodies):
        newly: dict[int, dict[int, _PlatformPath]] = {}
        for j, body, neighbour in links:
            if body not in ways:
                for k in ways.get(neighbour, ()):
                    newly.setdefault(body, {}).setdefault(k, _PlatformPath(j, neighbour))
        if not newly:
            raise UnsupportedElementsError("some bodies of the platform hang on none of its legs")
        ways |= newly
    return tuple(
        replace(
            leg,
            parts=tuple(
                _platform_part(robot, leg, body, way[k], len(way)) for body, way in ways.items() if k in way
            ),
        )
        for k, leg in enumerate(legs)
    )


def _platform_part(robot: Robot, leg: ElementLeg, body: int, way: _PlatformPath, count: int) -> PlatformPart:
    """A leg's part of a body of the platform; its input moves by itself on a plane or behind a slider."""
    joint, neighbour = way
    kind = robot.joints[joint].kind
    hinged = leg.form != "plane" if neighbour is None else kind in (JointKind.REVOLUTE, JointKind.FIXED)
    rotation = () if robot.platform.kind == "point" else ("x", "theta")
    name = f"{robot.bodies[body].name}/{leg.leg.name}"
    element = KinematicElement(name, "B", body, rotation if hinged else ("A", *rotation), 1.0 / count)
    return PlatformPart(element, joint, neighbour)


def welded_bodies(robot: Robot) -> tuple[int, ...]:
    """For each body the one that it is fixed to, by fixed joints of the tree; else itself."""
    stem = list(range(len(robot.bodies)))
    for joint in robot.tree_joints:
        if joint.kind is JointKind.FIXED and joint.successor not in robot.platform.bodies:
            stem[joint.successor] = stem[joint.predecessor]
    return tuple(stem)
