"""How a robot's bodies are grouped into kinematic elements, read from the types of its legs.

A leg is read from the base to the nacelle (`structure`), and each body of the nacelle is split evenly among
the legs that hold it ([OAM] section 3.2, figure 2), one without legs among those of its neighbours. The
split is one of dynamics alone.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from nacelle.kinematics.legs.chain import on_axis
from nacelle.kinematics.legs.leg_type import Group, leg_type
from nacelle.kinematics.legs.parallelogram import Parallelogram
from nacelle.kinematics.mechanism.mechanism import Mechanism
from nacelle.model.joint import JointKind
from nacelle.model.leg import Leg
from nacelle.model.robot import Robot
from nacelle.papers.elements.structure import (
    ElementGeometry,
    ElementLeg,
    ElementRod,
    FrameAxis,
    Hold,
    KinematicElement,
    NacellePart,
)


class UncoveredError(ValueError):
    """A robot cannot be written as elements; the message is one sentence that says why."""


@lru_cache(maxsize=64)
def element_legs(mechanism: Mechanism) -> tuple[ElementLeg, ...]:
    """Group all bodies of a robot into elements.

    Raises:
        UncoveredError: if it cannot be done.
    """
    robot = mechanism.robot
    for j in (*robot.nacelle.joints, *robot.nacelle.closures):
        joint = robot.joints[j]
        slides = (JointKind.PRISMATIC,) if j < robot.tree else ()
        allowed = (JointKind.REVOLUTE, JointKind.FIXED, *slides)
        if joint.kind not in allowed and not joint.at_point:
            raise UncoveredError(
                f"{joint.kind} joints inside the nacelle ({joint.name}) are not covered by elements"
            )
    legs = [_Reader(mechanism, leg).read() for leg in robot.legs]
    return _with_parts(robot, legs)


class _Reader:
    """Reads one leg."""

    def __init__(self, mechanism: Mechanism, leg: Leg) -> None:
        self.robot, self.leg = mechanism.robot, leg
        self.at = ElementGeometry(mechanism.robot, mechanism.assembly.motion.poses)
        self.stem = welds(mechanism.robot)

    def fail(self, reason: str) -> UncoveredError:
        return UncoveredError(f"leg {self.leg.name!r} {reason}")

    def read(self) -> ElementLeg:
        kind = leg_type(self.robot, self.leg)
        if kind.parallelogram is not None and kind.closed_form:
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
            case ["R" | "P", one, two] if "P" not in (one, two):
                return self._bars(kind.trunk[0], (kind.trunk[1:],))
            case ["R", "U", "P", "U"]:
                return self._strut(kind.trunk[1:], kind.trunk[0])
            case [_, "P", _]:
                return self._strut(kind.trunk, None)
        raise self.fail(
            f"is none of the covered kinds: bars, struts, shafts, sliders on a plane ({kind.name})"
        )

    def _hold(self, group: Group) -> Hold:
        first, last = group.joints[0], group.joints[-1]
        joints = tuple(joint.joint for joint in group.joints)
        match [joint.kind for joint in group.joints]:
            case [JointKind.SPHERICAL | JointKind.POINT]:
                return Hold("S", joints, None, None, None)
            case [JointKind.UNIVERSAL]:
                axes = FrameAxis(first.joint, False, 0), FrameAxis(first.joint, True, 1)
                return Hold("U", joints, None, *(axes if first.forward else axes[::-1]))
            case [JointKind.REVOLUTE] | [JointKind.REVOLUTE, JointKind.REVOLUTE]:
                before, behind = (
                    FrameAxis(first.joint, not first.forward, 2),
                    FrameAxis(last.joint, last.forward, 2),
                )
                return Hold(
                    group.letter, joints, self.stem[first.after] if len(joints) > 1 else None, before, behind
                )
        names = ", ".join(f"{self.robot.joints[j].name}, {self.robot.joints[j].kind}" for j in joints)
        raise self.fail(f"has a joint ({names}) where elements need R, U, S or a slide")

    def _ends(self, first: Group, last: Group) -> tuple[Hold, Hold]:
        """The joints at the two ends of a rod or strut."""
        if last.after not in self.robot.nacelle.bodies:
            raise self.fail("does not end at the nacelle with a joint that moves")
        hold, end = self._hold(first), self._hold(last)
        if len(end.joints) > 1:
            raise self.fail(
                "has a body in the universal joint at the nacelle, which is not covered by elements"
            )
        return hold, end

    def _rod(self, groups: tuple[Group, ...]) -> ElementRod:
        if len(groups) != 2:
            raise self.fail("has joints between its elements that are not covered")
        body, tip = self.stem[groups[1].before], groups[1].joints[0].joint
        return ElementRod(body, *self._ends(*groups), tip, groups[1].after)

    def _driver(self, joint: int, body: int) -> KinematicElement:
        letter, basis = ("B", "x") if self.robot.joints[joint].kind is JointKind.REVOLUTE else ("T", "d")
        return KinematicElement(self.robot.bodies[body].name, letter, body, (basis,))

    def _bars(self, driver: Group, branches: tuple[tuple[Group, ...], ...]) -> ElementLeg:
        rods = tuple(self._rod(groups) for groups in branches)
        if len({rod.nacelle for rod in rods}) > 1:
            raise self.fail("holds several bodies of the nacelle, which is not covered by elements")
        joint = driver.joints[0].joint
        elements = (self._driver(joint, self.stem[driver.after]), *(self._bar(rod) for rod in rods))
        return ElementLeg(self.leg, "bars", joint, rods, elements=elements)

    def _bar(self, rod: ElementRod) -> KinematicElement:
        spins = "U" in (rod.hold.letter, rod.end.letter)
        return KinematicElement(
            self.robot.bodies[rod.body].name, "B", rod.body, ("x", "theta") if spins else ("x",)
        )

    def _plane(self, prismatic: Group, face: Group) -> ElementLeg:
        body, driver, tip = self.stem[prismatic.after], prismatic.joints[0].joint, face.joints[0].joint
        ball = Hold("S", (tip,), None, None, None)
        rod = ElementRod(body, ball, ball, tip, face.after)
        return ElementLeg(self.leg, "plane", driver, (rod,), elements=(self._driver(driver, body),))

    def _strut(self, groups: tuple[Group, ...], motor: Group | None) -> ElementLeg:
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
            if not on_axis(far.R.T @ (first.centre - far.p), self.robot.size):
                raise self.fail("has a shaft whose joint is not on the motor's axis")
            spindle = KinematicElement(self.robot.bodies[shaft].name, "Sp", shaft, ("theta",))
            form, driver, elements = "shaft", motor.joints[0].joint, [spindle, strut]
        return ElementLeg(self.leg, form, driver, (rod,), prismatic, moving, flip, elements=tuple(elements))

    def _parallelogram(self, fold: Parallelogram) -> ElementLeg:
        joints = self.robot.joints
        arm, hub = joints[fold.root].successor, joints[fold.hub].successor
        hold = Hold(
            "U", (fold.hub, fold.rod_a), hub, FrameAxis(fold.hub, False, 2), FrameAxis(fold.rod_a, True, 2)
        )
        end = Hold("R", (fold.wrist,), None, FrameAxis(fold.wrist, False, 2), FrameAxis(fold.wrist, True, 2))
        nacelle = joints[fold.wrist].successor
        rods = tuple(
            ElementRod(joints[j].successor, hold, end, fold.wrist, nacelle) for j in (fold.rod_a, fold.rod_b)
        )
        elements = (self._driver(fold.root, arm), *(self._bar(rod) for rod in rods))
        return ElementLeg(self.leg, "parallelogram", fold.root, rods, fold=fold, elements=elements)


class _Way(NamedTuple):
    """How a leg reaches a body of the nacelle: by which joint, and past which other body of it."""

    joint: int
    neighbour: int | None = None


def _with_parts(robot: Robot, legs: list[ElementLeg]) -> tuple[ElementLeg, ...]:
    """Split each body of the nacelle evenly among its legs; one without, among its neighbours' legs."""
    # By body and leg.
    ways: dict[int, dict[int, _Way]] = {}
    for k, leg in enumerate(legs):
        ways.setdefault(leg.rods[0].nacelle, {})[k] = _Way(leg.rods[0].tip)
    links = [
        (j, *ends)
        for j in (*robot.nacelle.joints, *robot.nacelle.closures)
        if not (joint := robot.joints[j]).at_point
        for ends in permutations((joint.predecessor, joint.successor))
    ]
    while len(ways) < len(robot.nacelle.bodies):
        newly: dict[int, dict[int, _Way]] = {}
        for j, body, other in links:
            if body not in ways:
                for k in ways.get(other, ()):
                    newly.setdefault(body, {}).setdefault(k, _Way(j, other))
        if not newly:
            raise UncoveredError("some bodies of the nacelle hang on none of its legs")
        ways |= newly
    return tuple(
        dataclasses.replace(
            leg,
            parts=tuple(_part(robot, leg, body, way[k], len(way)) for body, way in ways.items() if k in way),
        )
        for k, leg in enumerate(legs)
    )


def _part(robot: Robot, leg: ElementLeg, body: int, way: _Way, count: int) -> NacellePart:
    """A leg's part of a body of the nacelle; its input moves by itself on a plane or behind a slider."""
    joint, neighbour = way
    kind = robot.joints[joint].kind
    hinged = leg.form != "plane" if neighbour is None else kind in (JointKind.REVOLUTE, JointKind.FIXED)
    rotation = () if robot.nacelle.kind == "point" else ("x", "theta")
    name = f"{robot.bodies[body].name}/{leg.leg.name}"
    element = KinematicElement(name, "B", body, rotation if hinged else ("A", *rotation), 1.0 / count)
    return NacellePart(element, joint, neighbour)


def welds(robot: Robot) -> tuple[int, ...]:
    """For each body the one that it is fixed to, by fixed joints of the tree; else itself."""
    stem = list(range(len(robot.bodies)))
    for joint in robot.tree_joints:
        if joint.kind is JointKind.FIXED and joint.successor not in robot.nacelle.bodies:
            stem[joint.successor] = stem[joint.predecessor]
    return tuple(stem)
