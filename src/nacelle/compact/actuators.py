"""Rates of the actuators in the compact form: joints of the tree, and closures that are driven.

A driven joint of the tree has its rate among those of its leg. A driven closure between the bodies 1 and 2
has, e (3,) its axis, v and w velocities at its point and angular velocities,

    revolute   q' = e . (w_2 - w_1), rad/s          prismatic   q' = e . (v_2 - v_1), m/s

so a unit force along it is +e on body 2 and -e on body 1 (a moment or a force). Along a rate of the leg with
columns (v, w) on one side that is e . w or e . v with its sign, on the platform a wrench at the closure's
point. By equal power a unit force of actuator k alone is along the reduced twist what row k of J_r^-1 is:

    F . v = 1 q_k' = (J_r^-1 v)_k          J_r^-1 (actuators, n)          [KI2007] (80)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nacelle.compact.configured import ConfiguredRobot, active_rates
from nacelle.compact.legs import ClosureRate, Legs, Rates
from nacelle.compact.line_legs.rod import geared_inertia
from nacelle.dynamics.actuators import LeastNorm, least_norm_forces
from nacelle.kinematics.shapes import jacobian_scales
from nacelle.model.joint import JointKind
from nacelle.spatial.scalar import Array, Scalar, is_zero, pack
from nacelle.tree.actuation import joint_axes
from nacelle.tree.spanning_tree import joint_rate_indices


def tree_rotors(configured: ConfiguredRobot) -> dict[int, Scalar]:
    """For every rate of a joint of the tree with a rotor its inertia along it, kg m^2 or kg."""
    robot = configured.robot
    inertias: dict[int, Scalar] = {}
    for j, joint in enumerate(robot.tree_joints):
        if joint.successor not in configured.parts.omitted_bodies and not is_zero(joint.rotor_inertia):
            inertias |= dict.fromkeys(joint_rate_indices(robot, (j,)), geared_inertia(joint))
    return inertias


def driven_closure_rates(configured: ConfiguredRobot) -> dict[int, ClosureRate]:
    """For every revolute or prismatic closure with an actuator or a rotor its rate."""
    robot = configured.robot
    driven = {actuator.joint: k for k, actuator in enumerate(robot.actuators)}
    closures: dict[int, ClosureRate] = {}
    for closure in configured.joint_closures:
        index, joint = closure.joint, robot.joints[closure.joint]
        rotor = geared_inertia(joint)
        if joint.kind is JointKind.SPHERICAL or (is_zero(rotor) and index not in driven):
            continue
        axis = joint_axes(joint, *configured.joint_frames(index, closure.sides.axes))[0]
        e = axis.directions[:, 0]
        closures[index] = ClosureRate(closure, e, joint.kind is JointKind.REVOLUTE, driven.get(index), rotor)
    return closures


def rotor_rates(configured: ConfiguredRobot) -> list[ClosureRate]:
    """Rates of all closures with a rotor; of a spherical one three, about the axes of its constraint."""
    robot = configured.robot
    rates = [rate for rate in driven_closure_rates(configured).values() if not is_zero(rate.rotor)]
    for closure in configured.joint_closures:
        joint = robot.joints[closure.joint]
        if joint.kind is JointKind.SPHERICAL and not is_zero(joint.rotor_inertia):
            rates += [ClosureRate(closure, e, True, None, joint.rotor_inertia) for e in np.eye(3)]
    return rates


def actuator_jacobian(legs: Legs) -> Array:
    """J_r^-1 (actuators, n): for every actuator what a unit force along it is along v."""
    robot = legs.configured.robot
    rows: dict[int, list[Scalar]] = {}
    platform_joint_rates = set(legs.plan.mechanism.platform_joint_rates)
    for index, k in active_rates(robot).items():
        unit: Rates = {index: 1.0}
        rows[k] = legs.project_held_forces(*(({}, unit) if index in platform_joint_rates else (unit, {})))
    for rate in driven_closure_rates(legs.configured).values():
        if rate.actuator is not None:
            rows[rate.actuator] = legs.project_held_forces(*rate.unit_force(legs))
    if not rows:
        return np.zeros((0, robot.motion.n))
    return pack([rows[k] for k in range(len(robot.actuators))])


def least_norm(legs: Legs, forces: Iterable[Array]) -> list[LeastNorm]:
    """For forces (n,) along v those of the actuators of least norm, in the actuators' units."""
    A, (rows, units) = actuator_jacobian(legs), jacobian_scales(legs.configured.robot.numeric)
    weights = rows * rows if len(rows) == len(units) else None
    return [least_norm_forces(A, force, weights, units=units) for force in forces]
