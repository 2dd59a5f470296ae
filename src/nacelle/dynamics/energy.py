"""Kinetic and potential energy (J), and the power (W) that friction takes.

The point r of a body (from its origin o, body axes) has the velocity v + w x r. Summed over its mass, with
m = sum dm, h = sum r dm = m c and I = sum (r.r 1 - r r^T) dm about o, v.v / 2 gives

    T = sum over bodies of m v.v / 2 + v . (w x h) + w . I w / 2  +  sum over rotors of i^2 J q'^2 / 2
    U = - sum over bodies of g . (m p + R h)  +  sum over springs of k (q - q_0)^2 / 2
    P = sum over the joints' axes of friction(q') q'
    U, P  also those of end stops and of springs and torsion springs between bodies (`compliance`)

v (3,) velocity of the origin, m/s, and w (3,) angular velocity, rad/s, in the body's axes, in which m, h, I
are constant; R (3, 3), p (3,) pose of the body and g (3,) gravity, m/s^2, in base axes; q, q' coordinate and
rate of a joint's axis, J inertia of a rotor behind a gear of ratio i, k and q_0 stiffness and rest position
of a spring. Along a motion d(T + U)/dt = Gamma . q_a' + power of external wrenches - P.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.dynamics.compliance import (
    damper_power,
    spring_energy,
    spring_line,
    spring_rate,
    stop_energy,
    torsion_spring_states,
)
from nacelle.dynamics.joint_effort import joint_efforts, rotors
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.model.robot import body_parameters, has_mass
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.scalar import Scalar, cross, dot
from nacelle.tree.actuation import rate_rows
from nacelle.tree.spanning_tree import point_velocity


def kinetic_energy(state: State) -> Scalar:
    """Kinetic energy (J): of every body m v.v / 2 + v . (w x h) + w . I w / 2, and of the rotors."""
    robot, motion = state.robot, state.now.motion
    total: Scalar = 0.0
    for body, pose in enumerate(motion.poses):
        if body == 0 or not has_mass(robot, body):
            continue
        twist = state.moving.velocity.twists[body]
        v, w = pose.R.T @ point_velocity(twist, pose.p), pose.R.T @ twist[3:]
        p = body_parameters(robot, body)
        total = (
            total + 0.5 * p[0] * dot(v, v) + dot(v, cross(w, p[1:4])) + 0.5 * dot(w, inertia_matrix(p) @ w)
        )
    for index, inertia in rotors(robot):
        for row in rate_rows(robot, motion, index)[0]:
            rate = row @ state.moving.u
            total = total + 0.5 * inertia * rate * rate
    return total


def potential_energy(state: State) -> Scalar:
    """Potential energy (J): bodies -g . (m p + R h), zero at the base's origin; springs k (q - q_0)^2 / 2."""
    robot, motion = state.robot, state.now.motion
    g = np.asarray(robot.gravity)
    total: Scalar = 0.0
    for body, pose in enumerate(motion.poses):
        if body and has_mass(robot, body):
            p = body_parameters(robot, body)
            total = total - dot(g, p[0] * pose.p + pose.R @ p[1:4])
    for index, joint in enumerate(robot.joints):
        for number, spring in enumerate(joint.springs):
            if spring is not None:
                stretch = state.now.coordinate(index, number) - spring.rest
                total = total + 0.5 * spring.stiffness * stretch * stretch
        for number, stop in enumerate(joint.stops):
            if stop is not None:
                total = total + stop_energy(joint, number, state.now.coordinate(index, number))
    for line in robot.springs:
        total = total + spring_energy(line, spring_line(line, motion))
    for coil, torsion in zip(robot.torsion_springs, torsion_spring_states(robot, motion), strict=True):
        total = total + coil.energy(torsion.stretch)
    return total


def dissipated_power(state: State, physics: Physics) -> Scalar:
    """Power (W) that friction takes from the motion: sum over all axes of friction(q') q'; 0 without it."""
    total: Scalar = 0.0
    if not physics.friction:
        return total
    rubbing = replace(physics, springs=False, inertia=False)
    for effort in joint_efforts(state, np.zeros(len(state.moving.u)), rubbing):
        total = total + dot(effort.rows @ state.moving.u, effort.values)
    for line in state.robot.springs:
        rate = spring_rate(line, spring_line(line, state.now.motion), state)
        total = total + line.damping * rate * rate
    for damper in state.robot.dampers:
        total = total + damper_power(damper, state)
    return total
