"""Kinematic coordinates: how the bodies of a leg move with the motion basis of its elements.

The motion basis of a leg stacks x' (3), d' and theta' of its elements ([OAM] (26)); the kinematic coordinates
of a body are the partial velocities [dS'/du; dw/du] ([OAM] (49), (50), Table 1). They follow from the chain

    B' = A' + d' x + d x',   w = x x x' + theta' x                                   [OAM] (12), (14), (30)

from the base outwards, with every point that lies off an element's line carried along as w x e.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.formulations.elements.geometry import (
    bar_direction,
    centre,
    frame,
    part_direction,
    part_input,
    rod_ends,
    tip_point,
)
from nacelle.dynamics.formulations.elements.motion import ElementMotion, Solved, cross_motion
from nacelle.dynamics.formulations.elements.rates import Rate, Rigid, along, crossed, resting, still
from nacelle.dynamics.formulations.elements.reading import welds
from nacelle.dynamics.formulations.elements.structure import Element, ElementLeg
from nacelle.model.joint import JointKind
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, divide, dot, norm, pack


class Carried(NamedTuple):
    """A body, or a part of one, that a leg carries: its motion over the leg's motion basis."""

    body: int
    share: float
    rigid: Rigid


@dataclass(frozen=True)
class Group:
    """The elements of a leg, with its part of the nacelle.

    Attributes:
        leg: the leg.
        M: motion constraints (m, n): its motion basis from the reduced twist ([OAM] (55)).
        now: motion basis (m,).
        next: its derivative (m,).
        carried: all bodies that it carries.
    """

    leg: ElementLeg
    M: Array
    now: Array
    next: Array
    carried: tuple[Carried, ...]


def groups(robot: Robot, poses: tuple[Pose, ...], motion: ElementMotion) -> tuple[Group, ...]:
    """Kinematic coordinates of all bodies, leg by leg."""
    return tuple(
        _group(robot, poses, leg, solved) for leg, solved in zip(motion.legs, motion.solved, strict=True)
    )


def _group(robot: Robot, poses: tuple[Pose, ...], leg: ElementLeg, solved: Solved) -> Group:
    blocks = [rate for rates in solved.basis for rate in rates]
    M = np.concatenate([np.atleast_2d(rate.M) for rate in blocks])
    now = pack([entry for rate in blocks for entry in np.ravel(rate.now)])
    after = pack([entry for rate in blocks for entry in np.ravel(rate.next)])
    motions = _BodyMotions(robot, poses, leg, Rate(np.eye(len(M)), now, after))
    return Group(leg, M, now, after, motions.carried())


class _BodyMotions:
    """Builds the motions of a leg's bodies over its own motion basis."""

    def __init__(self, robot: Robot, poses: tuple[Pose, ...], leg: ElementLeg, u: Rate) -> None:
        self.robot, self.poses, self.leg = robot, poses, leg
        self.count = u.M.shape[1]
        self.own: list[dict[str, Rate]] = []
        start = 0
        for element in leg.all_elements:
            states: dict[str, Rate] = {}
            for name in element.basis:
                wide = name in ("A", "x")
                states[name] = u[start : start + 3] if wide else u[start]
                start += 3 if wide else 1
            self.own.append(states)

    def carried(self) -> tuple[Carried, ...]:
        forms = {"bars": self._bars, "parallelogram": self._parallelogram, "plane": self._bars}
        bodies = forms.get(self.leg.form, self._strut)()
        stem = welds(self.robot)
        for body in self.leg.leg.bodies:
            if stem[body] != body:
                bodies[body] = resting(self.count) if stem[body] == BASE else bodies[stem[body]]
        carried = [Carried(body, 1.0, rigid) for body, rigid in bodies.items()]
        parts: dict[int, Rigid] = {}
        for k, part in enumerate(self.leg.parts, start=len(self.leg.elements)):
            A = part_input(self.robot, self.poses, part)
            if "A" in self.own[k]:
                v = self.own[k]["A"]
            elif part.neighbour is None:
                v = self._last(bodies).at(A)
            else:
                v = parts[part.neighbour].at(A)
            w = still(self.count)
            if "x" in self.own[k]:
                w = self._turn(k, part_direction(self.robot, self.poses, part))
            parts[part.element.body] = Rigid(A, v, w)
            carried.append(Carried(part.element.body, part.element.share, parts[part.element.body]))
        return tuple(carried)

    def _last(self, bodies: dict[int, Rigid]) -> Rigid:
        """The body at the end of the leg."""
        if self.leg.fold is not None:
            return bodies[self.robot.joints[self.leg.fold.end].successor]
        return bodies[self.leg.rods[0].body if self.leg.moving is None else self.leg.moving]

    def _turn(self, k: int, x: Array) -> Rate:
        """Angular velocity of an element: x x x' + theta' x ([OAM] (12), (13))."""
        x_rate = self.own[k]["x"]
        w = crossed(x, x_rate)
        return w + along(self.own[k]["theta"], x, x_rate.now) if "theta" in self.own[k] else w

    def _driver(self, E: Array) -> tuple[int, Rigid]:
        """The driven bar, slider or spindle."""
        assert self.leg.driver is not None
        F = frame(self.robot, self.poses, self.leg.driver, on_successor=False)
        first: Element = self.leg.elements[0]
        z, none, zero = F.R[:, 2], still(self.count), np.zeros(3)
        if self.robot.joints[self.leg.driver].kind is not JointKind.REVOLUTE:
            return first.body, Rigid(F.p, along(self.own[0]["d"], z, zero), none)
        if first.letter == "Sp":
            return first.body, Rigid(F.p, none, along(self.own[0]["theta"], z, zero))
        return first.body, Rigid(
            F.p, none, self._turn(0, bar_direction(self.robot, self.poses, self.leg.driver, E))
        )

    def _bars(self) -> dict[int, Rigid]:
        bodies: dict[int, Rigid] = {}
        if self.leg.form == "plane":
            return dict([self._driver(np.zeros(3))])
        for k, rod in enumerate(self.leg.rods, start=1):
            E, B = rod_ends(self.robot, self.poses, rod.hold, rod.tip, self.leg)
            if k == 1:
                arm_body, arm = self._driver(E)
                bodies[arm_body] = arm
            x = _unit(B - E)
            w = self._turn(k, x)
            bodies[rod.body] = Rigid(E, arm.at(E), w)
            if rod.hold.cross is not None:
                turn = cross_motion(self.robot, self.poses, rod.hold, arm.w, w)
                bodies[rod.hold.cross] = Rigid(E, arm.at(E), turn)
        return bodies

    def _parallelogram(self) -> dict[int, Rigid]:
        fold = self.leg.fold
        assert fold is not None
        rod = self.leg.rods[0]
        E, B = rod_ends(self.robot, self.poses, rod.hold, rod.tip, self.leg)
        arm_body, arm = self._driver(E)
        x = _unit(B - E)
        w = [self._turn(k, x) for k in (1, 2)]
        hub = Rigid(E, arm.at(E), cross_motion(self.robot, self.poses, rod.hold, arm.w, w[0]))
        bodies = {arm_body: arm, self.robot.joints[fold.hub].successor: hub}
        for j, turn in zip((fold.rod_a, fold.rod_b), w, strict=True):
            root = frame(self.robot, self.poses, j, on_successor=False).p
            bodies[self.robot.joints[j].successor] = Rigid(root, hub.at(root), turn)
        tip = frame(self.robot, self.poses, fold.end, on_successor=False).p
        first = bodies[self.robot.joints[fold.rod_a].successor]
        bodies[self.robot.joints[fold.end].successor] = Rigid(tip, first.at(tip), hub.w)
        return bodies

    def _strut(self) -> dict[int, Rigid]:
        leg = self.leg
        assert leg.slide is not None
        assert leg.moving is not None
        rod = leg.rods[0]
        A, B = centre(self.robot, self.poses, rod.hold), tip_point(self.robot, self.poses, leg)
        bodies: dict[int, Rigid] = {}
        before = resting(self.count)
        k = len(leg.elements) - 1
        if leg.form == "shaft":
            motor, before = self._driver(A)
            bodies[motor] = before
        x = frame(self.robot, self.poses, leg.slide, on_successor=False).R[:, 2] * leg.flip
        x_rate, d_rate = self.own[k]["x"], self.own[k]["d"]
        d = dot(x, B - A)
        w = self._turn(k, x)
        bodies[rod.body] = Rigid(A, before.at(A), w)
        # P = A + d x: P' = A' + d' x + d x'
        stretch = Rate(x_rate.M * d, x_rate.now * d, x_rate.next * d + x_rate.now * d_rate.now)
        P = A + x * d
        bodies[leg.moving] = Rigid(P, before.at(A) + along(d_rate, x, x_rate.now) + stretch, w)
        if rod.hold.cross is not None:
            turn = cross_motion(self.robot, self.poses, rod.hold, before.w, w)
            bodies[rod.hold.cross] = Rigid(A, before.at(A), turn)
        return bodies


def _unit(r: Array) -> Array:
    return np.asarray(r * divide(1.0, norm(r)))
