"""The split and the direct model of [KI2007], from the parts of the formulation by legs and platform."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nacelle.dynamics.physics import WITHOUT_FRICTION, Physics
from nacelle.dynamics.state import State
from nacelle.papers.legs import (
    LegState,
    closure_forces,
    leg_axes,
    leg_dynamics,
    leg_states,
    platform_dynamics,
    platform_map,
)
from nacelle.spatial.scalar import Array, Scalar, pack


def split_force(state: State, a: Array, physics: Physics) -> tuple[Array, Array]:
    """H^a (actuators,) and the rest (n,) along the reduced twist: Gamma = H^a + J_r^T rest ([KI2007] (22)).

    H^a is what the legs' own dynamics require of the actuators in them, which needs no projection (21); the
    rest is platform, passive joints, and actuators that close loops.
    """
    actuators = state.robot.actuators
    S, bias_ = platform_map(state)
    dV = S @ a + bias_
    legs = leg_states(state)
    F = platform_dynamics(state, dV) + closure_forces(state, legs, dV, physics)
    own: list[Scalar] = [0.0] * len(actuators)
    for leg in legs:
        H = list(leg_dynamics(state, leg.leg, leg.dq, leg.accelerations(dV), physics))
        axes = leg_axes(state, leg.leg)
        for k, actuator in enumerate(actuators):
            if actuator.joint in axes:
                start = axes[actuator.joint][0][1].start
                own[k], H[start] = H[start], 0.0
        F = F + leg.Jv.T @ (leg.inverse.T @ pack(H))
    return pack(own), S.T @ F


def _slope(force: Callable[[Array], Array], count: int) -> Array:
    """The matrix of a force that is linear in accelerations (count,), and a constant."""
    still = force(np.zeros(count))
    return np.stack([force(unit) - still for unit in np.eye(count)], axis=1)


def end_inertia(state: State, leg: LegState) -> Array:
    """A_Xi (equations, equations) = J_i^-T A_i J_i^-1: a leg's inertia, seen from its end."""
    none = WITHOUT_FRICTION
    count = len(leg.dq)
    A = _slope(lambda ddq: leg_dynamics(state, leg.leg, np.zeros(count), ddq, none), count)
    return np.asarray(leg.inverse.T @ A @ leg.inverse)


def _total_inertia(state: State, legs: list[LegState]) -> Array:
    """I_s, rotors that close loops, and the sum of J_vi^T A_Xi J_vi: along V_p."""
    none = WITHOUT_FRICTION

    def beside(dV: Array) -> Array:
        return platform_dynamics(state, dV) + closure_forces(state, legs, dV, none)

    total = _slope(beside, state.robot.platform_nv)
    for leg in legs:
        total = total + leg.Jv.T @ end_inertia(state, leg) @ leg.Jv
    return np.asarray(total)


def mass_matrix(state: State) -> Array:
    """A_robot (n, n) = S^T (I_s + sum of J_vi^T A_Xi J_vi) S ([KI2007] (29))."""
    S, _ = platform_map(state)
    return np.asarray(S.T @ _total_inertia(state, leg_states(state)) @ S)


def bias(state: State, physics: Physics) -> Array:
    """h_robot (n,): the force along the reduced twist where its derivative is zero ([KI2007] (30))."""
    S, bias_ = platform_map(state)
    legs = leg_states(state)
    still = np.zeros(len(bias_))
    h = platform_dynamics(state, still) + closure_forces(state, legs, still, physics)
    h = h + _total_inertia(state, legs) @ bias_
    for leg in legs:
        # What `closure_forces` has at dV_p/dt = 0 holds the legs' own bias already.
        own = leg_dynamics(state, leg.leg, leg.dq, np.zeros(len(leg.dq)), physics)
        h = h + leg.Jv.T @ (end_inertia(state, leg) @ leg.bias + leg.inverse.T @ own)
    return np.asarray(S.T @ h)
