"""Loops of the nacelle itself, in base axes: rows over the nacelle's own rates.

A closure between the bodies 1 and 2 of the nacelle, at a point where they meet, locks for each of its rows
with direction f (3,) of a force and n (3,) of a moment (`tie_rows`)

    f . (v_2 - v_1) + n . (w_2 - w_1) = 0

v_i velocity of body i at the point, w_i its angular velocity, base axes. Over the moving rates of the nacelle
that is a row: what the wrench [f; n] is along them on body 2, less the same on body 1. The accelerations
satisfy the derivative of this, whose part at constant rates `second` gives. An idle spin of a body that hangs
between spherical joints is a row as well, against the base: n . w_2 = 0, n its axis.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.general.nacelle import MovingFrame, PlacedNacelle
from nacelle.kinematics.general.tie_motion import second_derivatives
from nacelle.kinematics.general.ties import Axes, Tie, TieRow, basis, closure_rows, coupling_tie, locked_axes
from nacelle.kinematics.general.vectors import ZERO, add
from nacelle.model.leg import BASE
from nacelle.model.robot import Robot
from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array, Scalar, plus, product
from nacelle.spatial.screw import AngularMotion


@dataclass(frozen=True, eq=False)
class NacelleLoop:
    """A closure between two bodies of the nacelle, or between one and the base.

    Attributes:
        tie: its rows, base axes; forces and moments are those on the second body.
        bodies: the first and the second body.
        point: where both meet (3,), base axes, m.
    """

    tie: Tie
    bodies: tuple[int, int]
    point: Array

    def coefficients(self, nacelle: PlacedNacelle, row: TieRow) -> dict[int, Scalar]:
        """A row f . (v_2 - v_1) + n . (w_2 - w_1) over the moving rates of the nacelle, by rate."""
        if self.tie.is_coupling:
            return {rate: factor for rate, factor in row.coefficients.items() if rate in nacelle.moving}
        common = nacelle.common(*self.bodies)
        first = nacelle.onto(self.bodies[0], self.point, row.force, row.moment, without=common)
        coefficients = nacelle.onto(self.bodies[1], self.point, row.force, row.moment, without=common)
        for rate, value in first.items():
            coefficients[rate] = coefficients[rate] - value if rate in coefficients else -value
        return coefficients

    def second(self, frames: dict[int, MovingFrame]) -> list[Scalar]:
        """Second derivatives of the rows where all rates are constant, m/s^2 or rad/s^2."""
        if self.tie.is_coupling:
            return [0.0]
        near, far = (frames[body] for body in self.bodies)
        arms = [plus(self.point, -frame.pose.p) for frame in (near, far)]
        gap = add(far.acceleration_at(arms[1]), -near.acceleration_at(arms[0]))
        slip = add(far.velocity_at(arms[1]), -near.velocity_at(arms[0]))
        first, second = (AngularMotion(frame.w, frame.w_dot) for frame in (near, far))
        return second_derivatives(self.tie, gap, first, second, lambda: slip)


def nacelle_loops(robot: Robot, nacelle: PlacedNacelle) -> list[NacelleLoop]:
    """All loops of the nacelle."""
    loops = []
    for c in robot.nacelle.closures:
        joint = robot.joints[c]
        if joint.at_point:
            continue
        if joint.is_coupling:
            loops.append(NacelleLoop(coupling_tie(robot, c), (joint.predecessor, joint.successor), ZERO))
            continue
        first = nacelle.poses[joint.predecessor] @ joint.frame_predecessor
        second: Pose = nacelle.poses[joint.successor] @ joint.frame_successor
        _, locked, _ = locked_axes(joint)
        rows, arms = closure_rows(joint, {}, Axes(first.R, second.R, True), basis(first.R, locked))
        tie = Tie(0, rows, joint=c, arms=arms)
        loops.append(NacelleLoop(tie, (joint.predecessor, joint.successor), second.p))
    for spin in nacelle.mechanism.nacelle_spins:
        pose = nacelle.poses[spin.body]
        row = TieRow({}, "spin", moment=product(pose.R, np.array(spin.axis)))
        loops.append(NacelleLoop(Tie(0, (row,)), (BASE, spin.body), pose.p))
    return loops
