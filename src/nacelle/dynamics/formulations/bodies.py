"""The formulation body by body ([CB1997]): each body's wrench, projected with the body's own Jacobian.

sum over bodies of J_b^T w_b  +  sum over axes of C^T e  =  J_a^T Gamma              [CB1997] (23), (33)
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from nacelle.dynamics.demand import Settings, body_wrenches, joint_efforts
from nacelle.dynamics.joint_effort import rotors
from nacelle.dynamics.state import State
from nacelle.kinematics.actuation import joint_rate_row
from nacelle.model.loaded import body_parameters, has_mass
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, pack


def generalised_force(
    state: State, a: Array, settings: Settings, without: Collection[int] = (), idle: Collection[int] = ()
) -> Array:
    """Force (n,) along the reduced twist that the motion asks for.

    Args:
        state: where the robot is and how it moves.
        a: derivative of the reduced twist (n,).
        settings: what counts.
        without: bodies that are left out.
        idle: joints whose friction, springs and rotors are left out.
    """
    U = state.moving.U
    u_dot = U @ a + state.moving.bias
    total: Array = np.zeros(U.shape[1])
    for body, wrench in body_wrenches(state, u_dot, settings.external).items():
        if body in without:
            continue
        J = state.now.motion.jacobian(body) @ U
        total = total + J.T @ pack([*wrench.f, *wrench.n])
    for effort in joint_efforts(state, u_dot, settings):
        if effort.axis.joint in idle:
            continue
        total = total + (effort.rows @ U).T @ effort.values
    return np.asarray(total)


def mass_matrix(state: State, without: Collection[int] = ()) -> Array:
    """Mass matrix (n, n) along the reduced twist: sum of J_b^T I_b J_b, and rotors.

    Args:
        state: where the robot is.
        without: bodies that are left out, and with them the rotors of joints that carry them.
    """
    robot, motion, U = state.robot, state.now.motion, state.moving.U
    n = U.shape[1]
    total: Array = np.zeros((n, n))
    for body, pose in enumerate(motion.poses):
        if body == 0 or body in without or not has_mass(robot, body):
            continue
        # In the body's axes, where the parameters are constant.
        J = motion.jacobian(body) @ U
        V, W = pose.R.T @ J[:3], pose.R.T @ J[3:]
        p = body_parameters(robot, body)
        h = skew(p[1:4])
        momentum, spin = p[0] * V - h @ W, h @ V + inertia_matrix(p) @ W
        total = total + V.T @ momentum + W.T @ spin
    for index, inertia in rotors(robot):
        if robot.joints[index].successor in without:
            continue
        row = joint_rate_row(robot, motion, index) @ U
        total = total + inertia * np.outer(row, row)
    return np.asarray(total)


def gravity_force(state: State) -> Array:
    """Force (n,) along the reduced twist that holds the robot against gravity."""
    robot, motion, U = state.robot, state.now.motion, state.moving.U
    g = np.asarray(robot.gravity)
    total: Array = np.zeros(U.shape[1])
    for body, pose in enumerate(motion.poses):
        if body == 0 or not has_mass(robot, body):
            continue
        p = body_parameters(robot, body)
        h = pose.R @ p[1:4]
        J = motion.jacobian(body) @ U
        total = total - J[:3].T @ (p[0] * g) - J[3:].T @ (skew(h) @ g)
    return np.asarray(total)
