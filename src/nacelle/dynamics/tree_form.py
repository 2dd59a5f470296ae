"""The tree formulation: Gamma = G^T Gamma_tr ([KI2007] (1)).

Cut at its closures, the robot is a tree with rates u (rates,). What its bodies require, wrenches w_b = [f; n]
(6,) about the base's origin in base axes, is summed up from the ends to the base, and each joint with the
column C_j (6,) of its rate (its twist at the base's origin) has to hold

    Gamma_tr,j = C_j . (sum of w_b over the bodies b beyond j)  +  friction, spring and rotor of the joint

(the recursion of Newton and Euler). With closed loops u = U v, U (rates, n), and equal power Gamma_tr . u = F
. v for every reduced twist v gives F = U^T Gamma_tr (n,), N or N m: closure forces do no work and drop out.
It holds for every mechanism, and is the reference of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.compliance import add_forces_between_bodies
from nacelle.dynamics.joint_effort import joint_efforts, rotors
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import body_wrenches
from nacelle.model.leg import BASE, PLATFORM
from nacelle.model.robot import body_parameters, has_mass
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar, minimum, pack
from nacelle.spatial.solve import spd_pivot_ratio
from nacelle.tree.actuation import rate_rows


def tree_forces(state: State, u_dot: Array, physics: Physics) -> Array:
    """Generalised forces of the tree Gamma_tr (rates,), N or N m, at accelerations u_dot (rates,)."""
    robot, motion = state.robot, state.now.motion
    state = add_forces_between_bodies(state, physics)
    # Wrenches [f; n] about the base's origin, so that they add up along the tree as they are.
    carried: dict[int, Array] = {}
    for body, wrench in body_wrenches(state, u_dot).items():
        f, n = wrench.about(motion.poses[body].p)
        carried[body] = pack([*f, *n])
    forces: list[Array | float] = [0.0] * motion.columns.shape[1]
    for j in reversed(range(robot.tree)):
        joint = robot.joints[j]
        if joint.successor not in carried:
            continue
        passed = carried.pop(joint.successor)
        part = robot.v_slices[j]
        for k in range(robot.platform_nv + part.start, robot.platform_nv + part.stop):
            forces[k] = motion.columns[:, k] @ passed
        before = carried.get(joint.predecessor)
        carried[joint.predecessor] = passed if before is None else before + passed
    if PLATFORM in carried:
        for k in range(robot.platform_nv):
            forces[k] = motion.columns[:, k] @ carried[PLATFORM]
    total = pack(forces)
    for effort in joint_efforts(state, u_dot, physics):
        total = total + effort.rows.T @ effort.values
    return np.asarray(total)


def generalised_force(state: State, a: Array, physics: Physics) -> Array:
    """Force (n,) along the reduced twist that the motion requires: U^T Gamma_tr."""
    u_dot = state.moving.U @ a + state.moving.bias
    return np.asarray(state.moving.U.T @ tree_forces(state, u_dot, physics))


# Pivots of a mass matrix below 1e-11 of its diagonal are weak: a hundredth of this figure.
_DIGITS = 1e9


class MassiveBody(NamedTuple):
    """A body with mass: rotation to the base (3, 3), ten parameters, Jacobian J_b (6, n)."""

    R: Array
    parameters: Array
    J: Array


def massive_bodies(state: State) -> Iterator[MassiveBody]:
    """The bodies with mass."""
    robot, motion = state.robot, state.now.motion
    for body, pose in enumerate(motion.poses):
        if body != BASE and has_mass(robot, body):
            yield MassiveBody(pose.R, body_parameters(robot, body), motion.jacobian(body) @ state.moving.U)


def mass_matrix(state: State) -> Array:
    """Mass matrix (n, n) along the reduced twist: sum of J_b^T I_b J_b, and rotors."""
    U = state.moving.U
    n = U.shape[1]
    total: Array = np.zeros((n, n))
    for R, p, J in massive_bodies(state):
        # In the body's axes, where the parameters are constant.
        V, W = R.T @ J[:3], R.T @ J[3:]
        h = skew(p[1:4])
        momentum, spin = p[0] * V - h @ W, h @ V + inertia_matrix(p) @ W
        total = total + V.T @ momentum + W.T @ spin
    for index, inertia in rotors(state.robot):
        for rates in rate_rows(state.robot, state.now.motion, index)[0]:
            row = rates @ U
            total = total + inertia * np.outer(row, row)
    return np.asarray(total)


def mass_pivot_ratio(M: Array) -> Scalar:
    """A mass matrix (n, n) among pivot figures: at most 1, weak where it may be singular up to rounding."""
    return minimum(1.0, _DIGITS * spd_pivot_ratio(M))


def gravity_force(state: State) -> Array:
    """Force (n,) along the reduced twist that balances gravity: - sum of J_b^T [m g; h x g]."""
    g = np.asarray(state.robot.gravity)
    total: Array = np.zeros(state.moving.U.shape[1])
    for R, p, J in massive_bodies(state):
        total = total - J[:3].T @ (p[0] * g) - J[3:].T @ (skew(R @ p[1:4]) @ g)
    return np.asarray(total)
