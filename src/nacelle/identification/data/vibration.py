"""Vibration: rates beyond the filter of the encoders, from the forces.

A controller that answers to noisy encoders shakes the robot. The encoders' filter takes that away with their
noise, and in a closed loop their spectrum does not even show it: what shakes is what the loop has done about
the noise. Dry friction of a slow joint changes its sign with the true rate all the same, is less on average
than the filtered rate says, and would be estimated too small. Forces show the vibration, since they make it.
With H the filter, M v' = J_a^T Gamma + what is slow, and M, J_a nearly constant over a period of the cutoff,

    v - H v = M^-1 J_a^T (1 - H) p,     p = integral of Gamma dt       J_a = J_r^-1 (actuators, n)

M is that of the description: good to 20 %, it leaves a fifth of the effect. Noise of the measured forces is
integrated and hardly counts. Accelerations are left alone: from forces they would say what one believes.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.jacobian import jacobian
from nacelle.identification.data.filters import low_pass
from nacelle.identification.data.poses import Motion
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def beyond_filter(force: Array, cutoff: float, rate: float) -> Array:
    """(1 - H) p of forces (N, actuators), N s or N m s, by the trapezoidal rule.

    The filter passes straight lines, so p is taken from the line between its ends.
    """
    steps = np.zeros_like(force)
    steps[1:] = 0.5 * (force[1:] + force[:-1]) / rate
    p = np.cumsum(steps, axis=0)
    p = p - np.linspace(0.0, 1.0, len(p))[:, None] * p[-1]
    return np.asarray(p - low_pass(p, cutoff, rate))


def vibration(robot: Robot, motion: Motion, impulse: Array) -> tuple[Array, Array]:
    """Reduced twists v - H v (N, n) and the rates of the actuators that they are (N, actuators).

    Args:
        robot: the robot, with the inertia that is described.
        motion: H applied, (N, ...); zero where it has no pose, or no inertia.
        impulse: (1 - H) p of the actuators (N, actuators), N s or N m s.
    """
    v = np.zeros((len(impulse), robot.motion.n))
    rates = np.zeros(impulse.shape)
    places = np.flatnonzero(motion.ok)
    if places.size:
        J_a = jacobian(robot, motion.x[places]).inverse
        M = mass_matrix(robot, motion.x[places])
        sound = np.all(np.isfinite(M), axis=(1, 2)) & np.all(np.isfinite(J_a), axis=(1, 2))
        sound[sound] = np.linalg.eigvalsh(M[sound])[:, 0] > 0.0
        places, J_a, M = places[sound], J_a[sound], M[sound]
        along = np.einsum("tan,ta->tn", J_a, impulse[places])
        v[places] = np.linalg.solve(M, along[..., None])[..., 0]
        rates[places] = np.einsum("tan,tn->ta", J_a, v[places])
    return v, rates
