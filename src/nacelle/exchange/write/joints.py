"""Joints of a robot as joints of one kind of motion, one after the other, with what acts along their axes.

A revolute, prismatic, universal, spherical or fixed joint is one link of the graph; a cylindrical joint is a
stroke and a hinge, a spherical joint on a plane two strokes and a ball, with massless bodies between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from nacelle.exchange.graph import Axis, ExchangeReport, Link, Motor
from nacelle.model.data import Actuator
from nacelle.model.joint import FrictionTerm, Joint, JointKind, Primitive
from nacelle.spatial.pose import Pose, identity
from nacelle.spatial.scalar import Array

# Basis functions that a graph has, by the names of its numbers.
_FRICTION = {"viscous": "damping", "coulomb": "coulomb", "quadratic": "quadratic", "cubic": "cubic"}
_TURN = 2.0 * math.pi
Ends = tuple[str, str]


class JointLinks:
    """Joints as links of a graph; what no link holds is reported."""

    def __init__(
        self, drives: Mapping[str, Actuator], name: Callable[[str], str], report: ExchangeReport
    ) -> None:
        """With the actuators by the names of their joints, and a function that gives new names."""
        self.drives, self.name, self.report = drives, name, report
        self._left_out: dict[str, list[str]] = {}

    def note_losses(self) -> None:
        """Report what was left out, joints with the same loss in one sentence."""
        for sentence, joints in self._left_out.items():
            names = ", ".join(dict.fromkeys(joints))
            self.report.lost(sentence.format(names))

    def _lost(self, sentence: str, joint: Joint) -> None:
        """Note a loss; the sentence has a place for the names of all its joints."""
        self._left_out.setdefault(sentence, []).append(joint.name)

    def links(self, joint: Joint, made: str, ends: Ends, values: list[float]) -> list[Link]:
        """The links of a joint, from its predecessor to its successor.

        Args:
            joint: the joint.
            made: its name in the graph.
            ends: names of its two bodies.
            values: its coordinates in the assembly.
        """
        steps: list[tuple[Axis, ...] | Array] = []
        place = 0
        for number, primitive in enumerate(joint.primitives):
            value = values[place : place + primitive.nq]
            place += primitive.nq
            if primitive is Primitive.SPHERICAL:
                steps.append(np.array(value))
                continue
            axis = self._axis(joint, number, primitive, value[0])
            if joint.kind is JointKind.UNIVERSAL and steps:
                steps[0] = (*steps[0], axis)
            else:
                steps.append((axis,))
        if not steps:
            steps.append(())
        return self._chain(joint, made, ends, steps)

    def _chain(
        self, joint: Joint, made: str, ends: Ends, steps: list[tuple[Axis, ...] | Array]
    ) -> list[Link]:
        links: list[Link] = []
        parent, at = ends[0], joint.frame_predecessor
        for k, step in enumerate(steps):
            last = k == len(steps) - 1
            child = (
                ends[1]
                if last
                else self.name(f"{made}-carrier{k + 1}" if len(steps) > 2 else f"{made}-carrier")
            )
            child_at = joint.frame_successor if last else identity()
            own = made if len(steps) == 1 else f"{made}-{k + 1}"
            if isinstance(step, tuple):
                links.append(Link(own, parent, child, at, child_at, step))
            else:
                damping, armature = self._ball(joint)
                ball = Link(own, parent, child, at, child_at, spherical=True, quat=step)
                links.append(replace(ball, damping=damping, armature=armature))
            parent, at = child, identity()
        return links

    def _axis(self, joint: Joint, number: int, primitive: Primitive, value: float) -> Axis:
        """One axis, with the part of what acts in the joint that acts along it."""
        direction = np.eye(3)[primitive.axis]
        turns = primitive.is_rotation
        forces = dict.fromkeys(_FRICTION.values(), 0.0)
        for term in joint.friction[number] if joint.friction else ():
            self._add(joint, term, forces)
        spring = joint.springs[number] if joint.springs else None
        stop = joint.stops[number] if joint.stops else None
        limits = joint.limits[number] if joint.limits else (-math.inf, math.inf)
        if stop is not None and stop.damping:
            self._lost("dampers of end stops left out: {}", joint)
        first = number == 0
        return Axis(
            direction=direction,
            turns=turns,
            value=_within(value, limits) if turns else value,
            damping=forces["damping"],
            coulomb=forces["coulomb"],
            quadratic=forces["quadratic"],
            cubic=forces["cubic"],
            armature=joint.gear_ratio**2 * joint.rotor_inertia if first else 0.0,
            stiffness=0.0 if spring is None else spring.stiffness,
            rest=0.0 if spring is None else spring.rest,
            limits=limits,
            stop=0.0 if stop is None else stop.stiffness,
            motor=self._motor(joint) if first else None,
        )

    def _add(self, joint: Joint, term: FrictionTerm, forces: dict[str, float]) -> None:
        if term.basis in _FRICTION:
            forces[_FRICTION[term.basis]] += term.coefficient
        elif term.basis == "coulomb-smooth":
            forces["coulomb"] += term.coefficient
            self._lost("smooth Coulomb friction changes its sign at once: {}", joint)
        elif term.coefficient:
            self._lost(f"{term.basis} friction left out: {{}}", joint)

    def _ball(self, joint: Joint) -> tuple[float, float]:
        """Damping and rotor inertia of the spherical part of a joint."""
        damping = 0.0
        number = joint.primitives.index(Primitive.SPHERICAL)
        for term in joint.friction[number] if joint.friction else ():
            if term.basis == "viscous":
                damping += term.coefficient
            elif term.coefficient:
                words = f"{term.basis} friction of spherical joints left out, which acts along their angular"
                self._lost(f"{words} velocity and not axis by axis: {{}}", joint)
        spherical = joint.kind is JointKind.SPHERICAL
        return damping, joint.gear_ratio**2 * joint.rotor_inertia if spherical else 0.0

    def _motor(self, joint: Joint) -> Motor | None:
        drive = self.drives.get(joint.name)
        if drive is None:
            return None
        if joint.drive_stiffness:
            self._lost("elasticity of drives left out, motor and load move as one: {}", joint)
        if drive.torque_constant or drive.encoder_zero or drive.encoder_sign != 1:
            self.report.lost("constants of motors and encoders left out")
        place = list(self.drives).index(joint.name)
        return Motor(drive.name, joint.gear_ratio, drive.force, drive.speed, place=place)


def _within(angle: float, limits: tuple[float, float]) -> float:
    """The angle, by whole turns, that is within the limits; as it is where none is."""
    for turned in (angle, angle + _TURN, angle - _TURN):
        if limits[0] <= turned <= limits[1]:
            return turned
    return angle


def placed(joint: Joint, poses: tuple[Pose, ...]) -> Pose:
    """The pose of a joint's second frame in its first, from those of all bodies."""
    first = poses[joint.predecessor] @ joint.frame_predecessor
    return first.inverse() @ poses[joint.successor] @ joint.frame_successor
