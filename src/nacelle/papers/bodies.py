"""The formulation body by body ([CB1997]): each body's wrench, projected with the body's own Jacobian.

    sum over bodies of J_b^T w_b  +  sum over axes of C^T e  =  J_r^-T Gamma             [CB1997] (18), (33)

J_b (6, n) takes the reduced twist v to the twist [v; w] of a body at its origin, base axes; w_b (6,) is the
wrench that its inertia and weight require (N, N m), C (k, n) the rates of a joint's axis and e its friction,
spring and rotor; J_r^-1 (actuators, n) the actuators' rates from v. Each term is a force along v by equal
power, w_b . (J_b v). With the accelerations J_b dv/dt + ... put in, the factor of dv/dt is the mass matrix,

    M = sum over bodies of J_b^T I_b J_b  +  sum over rotors of i^2 J C^T C              (n, n)

I_b (6, 6) the body's spatial inertia ([KI2007] (14)), J inertia of a rotor behind a gear of ratio i.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nacelle.dynamics.compliance import with_forces_between
from nacelle.dynamics.joint_effort import joint_efforts, rotor_rows, rotors
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import body_wrenches
from nacelle.model.leg import BASE
from nacelle.model.robot import body_parameters, has_mass
from nacelle.spatial.inertia import inertia_matrix
from nacelle.spatial.rotation import skew
from nacelle.spatial.scalar import Array, Scalar, minimum, pack
from nacelle.spatial.solve import spd_figure

# Pivots of a mass matrix below 1e-11 of its diagonal are weak: a hundredth of this figure.
_DIGITS = 1e9


def generalised_force(state: State, a: Array, settings: Settings) -> Array:
    """Force (n,) along the reduced twist that the motion requires.

    Args:
        state: where the robot is and how it moves.
        a: derivative of the reduced twist (n,).
        settings: what is included.
    """
    U = state.moving.U
    u_dot = U @ a + state.moving.bias
    total: Array = np.zeros(U.shape[1])
    settings = with_forces_between(state, settings)
    for body, wrench in body_wrenches(state, u_dot, settings.external).items():
        total = total + (state.now.motion.jacobian(body) @ U).T @ pack([*wrench.f, *wrench.n])
    for effort in joint_efforts(state, u_dot, settings):
        total = total + (effort.rows @ U).T @ effort.values
    return np.asarray(total)


class Massive(NamedTuple):
    """A body with mass: rotation to the base (3, 3), ten parameters, Jacobian J_b (6, n)."""

    R: Array
    parameters: Array
    J: Array


def massive_bodies(state: State) -> Iterator[Massive]:
    """The bodies with mass."""
    robot, motion = state.robot, state.now.motion
    for body, pose in enumerate(motion.poses):
        if body != BASE and has_mass(robot, body):
            yield Massive(pose.R, body_parameters(robot, body), motion.jacobian(body) @ state.moving.U)


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
        for rates in rotor_rows(state.robot, state.now.motion, index):
            row = rates @ U
            total = total + inertia * np.outer(row, row)
    return np.asarray(total)


def mass_figure(M: Array) -> Scalar:
    """A mass matrix (n, n) among pivot figures: at most 1, weak where it may be singular up to rounding."""
    return minimum(1.0, _DIGITS * spd_figure(M))


def gravity_force(state: State) -> Array:
    """Force (n,) along the reduced twist that balances gravity: - sum of J_b^T [m g; h x g]."""
    g = np.asarray(state.robot.gravity)
    total: Array = np.zeros(state.moving.U.shape[1])
    for R, p, J in massive_bodies(state):
        total = total - J[:3].T @ (p[0] * g) - J[3:].T @ (skew(R @ p[1:4]) @ g)
    return np.asarray(total)
