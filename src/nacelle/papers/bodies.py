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

import numpy as np

from nacelle.dynamics.compliance import add_forces_between_bodies
from nacelle.dynamics.joint_effort import joint_efforts
from nacelle.dynamics.physics import Physics
from nacelle.dynamics.state import State
from nacelle.dynamics.wrench import body_wrenches
from nacelle.spatial.scalar import Array, pack


def generalised_force(state: State, a: Array, physics: Physics) -> Array:
    """Force (n,) along the reduced twist that the motion requires.

    Args:
        state: where the robot is and how it moves.
        a: derivative of the reduced twist (n,).
        physics: what is included.
    """
    U = state.moving.U
    u_dot = U @ a + state.moving.bias
    total: Array = np.zeros(U.shape[1])
    state = add_forces_between_bodies(state, physics)
    for body, wrench in body_wrenches(state, u_dot).items():
        total = total + (state.now.motion.jacobian(body) @ U).T @ pack([*wrench.f, *wrench.n])
    for effort in joint_efforts(state, u_dot, physics):
        total = total + (effort.rows @ U).T @ effort.values
    return np.asarray(total)
