"""Rates of the actuators in the general form: joints of the tree, and closures that are driven.

A driven joint of the tree has its rate among those of its leg. A driven closure between the bodies 1 and 2
has, e (3,) its axis, v and w velocities at its point and angular velocities,

    revolute   q' = e . (w_2 - w_1), rad/s          prismatic   q' = e . (v_2 - v_1), m/s

so a unit force along it is +e on body 2 and -e on body 1 (a moment or a force). Along a rate of the leg with
columns (v, w) on one side that is e . w or e . v with its sign, on the nacelle a wrench at the closure's
point. By equal power a unit force of actuator k alone is along the reduced twist what row k of J_r^-1 is:

    F . v = 1 q_k' = (J_r^-1 v)_k          J_r^-1 (actuators, n)          [KI2007] (80)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.kinematics.general.legs import Legs, Rates, merge
from nacelle.kinematics.general.motion import columns
from nacelle.kinematics.general.placed import Placed, active_rates
from nacelle.kinematics.general.tie_motion import onto_nacelle, tie_columns
from nacelle.kinematics.general.ties import Tie
from nacelle.kinematics.general.vectors import ZERO, is_zero
from nacelle.model.joint import JointKind, Primitive
from nacelle.spatial.scalar import Array, Scalar, dot, pack


def node_closure_axes(placed: Placed, index: int, axes: int) -> list[Array]:
    """Unit axes (3,) of a closure's primitives in a node's axes (0: of the base); zero for spherical ones."""
    joint = placed.robot.joints[index]
    first, second = placed.joint_frames(index, axes)
    return [
        ZERO
        if primitive is Primitive.SPHERICAL
        else second.R[:, 1]
        if joint.kind is JointKind.UNIVERSAL and number == 1
        else first.R[:, primitive.axis]
        for number, primitive in enumerate(joint.primitives)
    ]


@dataclass(frozen=True, eq=False)
class ClosureRate:
    """The rate of a revolute or prismatic closure: of its second body seen from the first.

    Attributes:
        tie: its tie.
        e: its axis in the tie's axes, unit vector (3,).
        revolute: whether it is revolute.
        actuator: number of its actuator; None if it is passive.
        rotor: inertia of its rotor seen from the joint, kg m^2 or kg; 0 without one.
    """

    tie: Tie
    e: Array
    revolute: bool
    actuator: int | None
    rotor: Scalar

    def unit_force(self, legs: Legs) -> tuple[Rates, Rates]:
        """A unit force along it, N or N m: forces along the rates of the leg, and along those of the nacelle.

        -e on the first body and +e on the second: e . v or e . w for the columns (v, w) of every rate.
        """
        placed, tie = legs.placed, self.tie
        trees = placed.trees
        sign = 1.0 if tie.first else -1.0
        if tie.other is None:
            near, far = tie_columns(trees, tie), {}
        else:
            near = columns(trees, tie.node, tie.own, tie.axes)
            far = columns(trees, *tie.other, tie.axes)
        gamma: Rates = {}
        for side, moved in ((-sign, near), (sign, far)):
            merge(
                gamma, {rate: side * dot(self.e, w if self.revolute else v) for rate, (v, w) in moved.items()}
            )
        e = sign * self.e
        force, moment = (ZERO, e) if self.revolute else (e, ZERO)
        return gamma, onto_nacelle(trees, placed.nacelle, tie, force, moment)


def driven_closure_rates(placed: Placed) -> dict[int, ClosureRate]:
    """For every revolute or prismatic closure with an actuator or a rotor its rate."""
    robot = placed.robot
    driven = {actuator.joint: k for k, actuator in enumerate(robot.actuators)}
    closures: dict[int, ClosureRate] = {}
    for ties in placed.ties:
        for tie in ties:
            if tie.joint < 0:
                continue
            joint, rotor = robot.joints[tie.joint], 0.0
            if robot.numeric.joints[tie.joint].rotor_inertia:
                rotor = joint.gear_ratio * joint.gear_ratio * joint.rotor_inertia
            elif tie.joint not in driven:
                continue
            if joint.kind is JointKind.SPHERICAL:
                continue
            e = node_closure_axes(placed, tie.joint, tie.axes)[0]
            revolute = joint.kind is JointKind.REVOLUTE
            closures[tie.joint] = ClosureRate(tie, e, revolute, driven.get(tie.joint), rotor)
    return closures


def rotor_rates(placed: Placed) -> list[ClosureRate]:
    """Rates of all closures with a rotor; of a spherical one three, about the axes of its tie."""
    robot = placed.robot
    rates = [rate for rate in driven_closure_rates(placed).values() if not is_zero(rate.rotor)]
    for tie in (tie for ties in placed.ties for tie in ties if tie.joint >= 0):
        joint = robot.joints[tie.joint]
        if joint.kind is JointKind.SPHERICAL and robot.numeric.joints[tie.joint].rotor_inertia:
            rates += [ClosureRate(tie, e, True, None, joint.rotor_inertia) for e in np.eye(3)]
    return rates


def actuator_jacobian(legs: Legs) -> Array:
    """J_r^-1 (actuators, n): for every actuator what a unit force along it is along v."""
    robot = legs.placed.robot
    rows: dict[int, list[Scalar]] = {}
    own = set(legs.plan.mechanism.nacelle_rates)
    for place, k in active_rates(robot).items():
        unit: Rates = {place: 1.0}
        rows[k] = legs.held_along_v(*(({}, unit) if place in own else (unit, {})))
    for rate in driven_closure_rates(legs.placed).values():
        if rate.actuator is not None:
            rows[rate.actuator] = legs.held_along_v(*rate.unit_force(legs))
    if not rows:
        return np.zeros((0, robot.motion.n))
    return pack([rows[k] for k in range(len(robot.actuators))])
