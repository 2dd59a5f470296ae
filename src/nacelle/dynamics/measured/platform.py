"""The balance of a platform that does not turn, from the motion of its legs.

Leg j pulls the platform with f_j r_j - G_j at B_j, r_j = B_j - A_j (`general.bars.demand`). With m the mass
of the platform, a its acceleration and g that of gravity

    sum over legs of f_j r_j = m (a - g) + sum over legs of G_j          for the force densities f_j, N/m

in one row for each direction that the platform moves along, and force_j = gain_j f_j + own_j.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.general.bars import rod as rods
from nacelle.dynamics.general.bars.demand import Demand
from nacelle.dynamics.general.bars.strut import strut
from nacelle.dynamics.general.bars.strut_line import StrutMotion
from nacelle.dynamics.general.required import Counted
from nacelle.dynamics.measured.rod import Measured, end_share, rod
from nacelle.kinematics.bars.reading import read_legs
from nacelle.kinematics.general.solve import pivot_order, solve_in_order
from nacelle.kinematics.general.vectors import is_zero
from nacelle.kinematics.mechanism.closed import generic_poses
from nacelle.kinematics.mechanism.mechanism import Mechanism, mechanism_of
from nacelle.model.leg import PLATFORM
from nacelle.model.loaded import body_parameters
from nacelle.model.robot import Robot
from nacelle.spatial.rounding import first_largest
from nacelle.spatial.scalar import Array, Scalar, pack
from nacelle.spatial.solve import solve


class Choice(NamedTuple):
    """How the balance is written.

    Attributes:
        mass: where the platform's mass counts: "platform"; "end", of the first leg; "ends", there with the
            masses at the ends of all rods, which accelerate alike.
        cramer: whether it is solved by Cramer's rule.
    """

    mass: str = "platform"
    cramer: bool = False


WAYS = tuple(Choice(mass, cramer) for mass in ("platform", "end", "ends") for cramer in (False, True))


class PlatformBalance:
    """The balance of a platform that does not turn: sum over legs of f_j r_j = force, for the densities f."""

    def __init__(self, robot: Robot, counted: Counted, choice: Choice) -> None:
        mechanism = mechanism_of(robot)
        self.robot, self.mechanism, self.counted, self.choice = robot, mechanism, counted, choice
        self.forms = read_legs(robot)
        self.demands: list[Demand] = []
        self.moved: list[rods.Moved] = []
        self.a: Array = np.zeros(3)
        mass: Scalar = body_parameters(robot, PLATFORM)[0]
        for form in self.forms:
            mass = mass + form.rod[0] if form.kind == "strut" else mass
        self.mass = mass

    def _extra(self, leg: int) -> Scalar:
        if self.choice.mass == "platform":
            return 0.0
        lumped = [end_share(form) if form.kind == "rod" else 0.0 for form in self.forms[1:]]
        if self.choice.mass == "end" or not any(form.kind == "rod" for form in self.forms):
            return self.mass if leg == 0 else 0.0
        return sum(lumped, start=self.mass) if leg == 0 else -lumped[leg - 1]

    def add_strut(self, leg: int, r: Array, v: Array, a: Array) -> None:
        """A strut whose motion is measured."""
        gravity = np.asarray(self.robot.gravity)
        up = _upright(self.mechanism)
        at = StrutMotion(r, v, a, gravity, np.zeros(3))
        self.demands.append(strut(self.forms[leg], at, self._extra(leg), up, self.counted))
        self.moved.append(rods.Moved(r, v, np.zeros(3), np.zeros(3), 0.0, 0.0, np.zeros(3)))
        self.a = a if leg == 0 else self.a

    def add_rod(self, leg: int, at: Measured) -> None:
        """A rod whose motion is measured."""
        gravity = np.asarray(self.robot.gravity)
        demand, moved = rod(self.forms[leg], at, gravity, self._extra(leg), self.counted)
        self.demands.append(demand)
        self.moved.append(moved)
        self.a = at.a2 if leg == 0 else self.a

    def force(self) -> Array:
        """Forces of the actuators (actuators,), N or N m: gain_j f_j + own_j, f the balance's densities."""
        axes = self.robot.motion.twist_axes
        total: Array = np.zeros(3)
        if self.choice.mass == "platform":
            total = self.mass * (self.a - np.asarray(self.robot.gravity))
        lines = {f.name: (f, partial(_line_rate, at)) for f, at in zip(self.forms, self.moved, strict=True)}
        hinges = rods.hinge_moments(self.robot, lines, self.counted)
        for k, demand in enumerate(self.demands):
            total = total + demand.G
            moment = demand.about_a + hinges.get(self.forms[k].name, 0.0)
            if not is_zero(moment):
                total = total + moment * rods.lean(self.forms[k], self.moved[k])
        A = [[demand.r[axis] for demand in self.demands] for axis in axes]
        wrench = [total[axis] for axis in axes]
        if self.choice.cramer:
            densities = solve(pack(A), pack(wrench))
        else:
            units = (np.ones(len(axes)), np.ones(len(axes)))
            densities = solve_in_order(A, wrench, _order(self.mechanism), units).f
        listed = [d.gain * f + d.own for d, f in zip(self.demands, densities, strict=True)]
        return pack(listed)


def _line_rate(at: rods.Moved) -> tuple[Array, Array]:
    """B - A of a leg, and its derivative."""
    return at.r, at.v


@lru_cache(maxsize=64)
def _lines(mechanism: Mechanism) -> Array:
    """B - A of all legs (samples, legs, 3) in poses around the reference."""
    robot, forms = mechanism.robot, read_legs(mechanism.robot)
    motions = [mechanism.assembly.motion, *(motion for motion, _ in generic_poses(robot, mechanism.assembly))]
    listed = []
    for motion in motions:
        pose = motion.poses[PLATFORM]
        lines = []
        for form in forms:
            joint = robot.joints[robot.actuators[form.drive.number].joint]
            A = form.A
            if form.kind == "rod":
                carrier = motion.poses[joint.successor]
                A = carrier.p + carrier.R @ (
                    joint.frame_successor.p + joint.frame_successor.R @ form.carriage.elbow
                )
            lines.append(pose.p + pose.R @ form.B - A)
        listed.append(lines)
    return np.array(listed, dtype=float)


@lru_cache(maxsize=64)
def _upright(mechanism: Mechanism) -> int:
    """The axis of the base that is nearest to the struts' directions."""
    lines = _lines(mechanism)
    return first_largest(np.min(np.abs(lines) / np.linalg.norm(lines, axis=2, keepdims=True), axis=(0, 1)))


@lru_cache(maxsize=64)
def _order(mechanism: Mechanism) -> tuple[tuple[int, int], ...]:
    """Order of the pivots that keeps them large in poses around the reference."""
    lines, forms = _lines(mechanism), read_legs(mechanism.robot)
    up = _upright(mechanism)
    scale = np.stack(
        [lines[:, k, up] if form.kind == "strut" else np.ones(len(lines)) for k, form in enumerate(forms)],
        axis=1,
    )
    columns = lines / scale[:, :, None]
    axes = list(mechanism.robot.motion.twist_axes)
    return pivot_order(np.swapaxes(columns[:, :, axes], 1, 2))
