"""What joints require in addition to the bodies: friction, springs, and rotors behind gears.

An axis s of a joint through a point P, fixed to its first or second frame, in the tree or closing a loop, has
the rate and transmits the wrench

    q' = s . (w_2 - w_1)    and the moment  e s            if it turns
    q' = s . (v_2 - v_1)    and the force   e s at P       if it slides, v the velocities of both bodies at P

so that e q' is the power of the effort e on the second body and its opposite on the first, and all there is
to say of its reaction. A spherical joint has three axes at once, those of its second frame. At its coordinate
q, rate q' and acceleration q'' the axis requires

    e = friction(q') + k (q - q_0) + i^2 J q''  + end stop (`compliance`)

k stiffness and q_0 rest position of a spring, J inertia of a rotor behind a gear of ratio i, in a spherical
joint about all three axes, q'' the derivative of the relative angular velocity seen from the second body.
Over the rates u of the tree q' = C u, and the effort adds C^T e to the forces along them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.dynamics.compliance import end_stop, stop_effort
from nacelle.dynamics.friction import axis_friction, spherical_friction
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.model.joint import Joint
from nacelle.model.robot import Robot
from nacelle.spatial.linear_form import is_linear_form
from nacelle.spatial.scalar import Array, Scalar, cross, pack
from nacelle.spatial.screw import AngularMotion
from nacelle.tree.actuation import JointAxis, rate_bias, rate_rows


def relative_angular_acceleration(axis: JointAxis, first: AngularMotion, second: AngularMotion) -> Array:
    """Derivative of the relative angular velocity of two bodies (3,), rad/s^2, as a joint's axis counts it.

    Of a spherical joint seen from the second body, w_2' - w_1' + w_2 x w_1; of one axis w_2' - w_1', whose
    component along the axis is the same.

    Args:
        axis: of the joint.
        first: how its first body turns.
        second: how its second body turns, in the same axes.
    """
    rate = second.w_dot - first.w_dot
    return rate + cross(second.w, first.w) if axis.directions.shape[1] == 3 else rate


def rotors(robot: Robot) -> list[tuple[int, Scalar]]:
    """Joints with a rotor, and its inertia seen from the joint: gear_ratio^2 rotor_inertia, kg m^2 or kg."""
    return [
        (index, joint.gear_ratio * joint.gear_ratio * joint.rotor_inertia)
        for index, joint in enumerate(robot.joints)
        if robot.numeric.joints[index].rotor_inertia or is_linear_form(joint.rotor_inertia)
    ]


def loaded_joints(robot: Robot) -> list[int]:
    """Joints with friction, a spring, an end stop or a rotor."""
    geared = {index for index, _ in rotors(robot)}
    return [
        index
        for index, joint in enumerate(robot.joints)
        if any(joint.friction) or joint.has_spring_or_stop or index in geared
    ]


def friction_effort(joint: Joint, number: int, rate: Array, smooth: float | None) -> Array:
    """Friction (k,) along an axis at a rate (1,), in a spherical joint at an angular velocity (3,)."""
    terms = joint.friction[number] if joint.friction else ()
    if not terms:
        return np.zeros(len(rate))
    if len(rate) == 3:
        return spherical_friction(terms, rate, smooth)
    return pack([axis_friction(terms, rate[0], smooth)])


def axis_effort(
    state: State, index: int, number: int, rate: Array, acceleration: Array, physics: Physics
) -> Array:
    """What an axis of a joint requires (k,), N or N m: friction, spring and rotor.

    Args:
        state: where the robot is.
        index: of the joint.
        number: of the axis in the joint.
        rate: of the axis (1,), rad/s or m/s, of a spherical joint the relative angular velocity (3,).
        acceleration: its derivative, rad/s^2 or m/s^2; of joints without a rotor it does not count.
        physics: what is included.
    """
    joint = state.robot.joints[index]
    total: Array = np.zeros(len(rate))
    if physics.friction:
        total = friction_effort(joint, number, rate, physics.smooth)
    spring = joint.springs[number] if physics.springs and joint.springs else None
    if spring is not None:
        total = total + spring.holding_force(state.now.coordinate(index, number))
    if end_stop(joint, number) is not None:
        q = state.now.coordinate(index, number)
        total = total + pack([stop_effort(joint, number, q, rate[0], physics)])
    for rotor, inertia in rotors(state.robot) if physics.inertia else ():
        if rotor == index:
            total = total + inertia * acceleration
    return total


# ---- over the rates of the tree


class Effort(NamedTuple):
    """What an axis of a joint requires: joint, number of the axis, its rates (k, rates), efforts (k,)."""

    joint: int
    number: int
    rows: Array
    values: Array


def joint_efforts(state: State, u_dot: Array, physics: Physics) -> list[Effort]:
    """Efforts (N, N m) of all joints, active and passive, in the tree and at closures, at u_dot (rates,).

    Along each axis friction(q') + k (q - q_0) + i^2 J q'', the last for rotors behind gears of ratio i.
    """
    robot, motion = state.robot, state.now.motion
    geared = {index for index, _ in rotors(robot)}
    efforts = []
    for index in loaded_joints(robot):
        acceleration: Array = np.zeros(1)
        if index in geared:
            bias = rate_bias(robot, motion, state.moving.velocity, index)
            acceleration = rate_rows(robot, motion, index)[0] @ u_dot + bias
        for number, rows in enumerate(rate_rows(robot, motion, index)):
            values = axis_effort(state, index, number, rows @ state.moving.u, acceleration, physics)
            efforts.append(Effort(index, number, rows, values))
    return efforts
