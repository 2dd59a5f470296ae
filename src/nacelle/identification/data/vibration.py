"""Vibration: rates beyond the filter of the encoders, from the forces.

A controller that answers to noisy encoders shakes the robot. The encoders' filter takes that away with their
noise, and in a closed loop their spectrum does not even show it: what shakes is what the loop has done about
the noise. Dry friction of a slow joint changes its sign with the true rate all the same, is less on average
than the filtered rate says, and would be estimated too small. Forces show the vibration, since they make it.
With H the filter, Gamma_0 the forces that the description requires along the filtered motion without its
accelerations (they jump where joints with dry friction reverse), and M, J_a nearly constant over a period of
the cutoff,

    v - H v = M^-1 J_a^T (1 - H) p,    p = integral of (Gamma - Gamma_0) dt     J_a = J_r^-1 (actuators, n)

M is that of the description: good to 20 %, it leaves a fifth of the effect. Noise of the measured forces is
integrated and hardly counts. Accelerations are left alone: from forces they would say what one believes.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.forward import mass_matrix
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.dynamics.jacobian import jacobian
from nacelle.identification.data.filters import low_pass
from nacelle.identification.data.poses import NacelleMotion
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def filtered_out(
    robot: Robot, motion: NacelleMotion, force: Array, cutoff: float, rate: float
) -> tuple[Array, Array]:
    """Reduced twists v - H v (N, n) and the rates of the actuators that they are (N, actuators).

    Both are zero where there is no pose, or no inertia.

    Args:
        robot: the robot as it is described.
        motion: H applied, (N, ...).
        force: of the actuators (N, actuators), N or N m.
        cutoff: of the filter, Hz.
        rate: samples a second.
    """
    v, rates = np.zeros((len(force), robot.motion.n)), np.zeros(force.shape)
    off = np.zeros(force.shape)
    places = np.flatnonzero(motion.ok)
    if not places.size:
        return v, rates
    x = motion.x[places]
    off[places] = force[places] - inverse_dynamics(robot, x, motion.v[places]).force
    impulse = beyond_filter(np.nan_to_num(off), cutoff, rate)[places]
    M, J_a = mass_matrix(robot, x), jacobian(robot, x).inverse
    sound = np.all(np.isfinite(M), axis=(1, 2)) & np.all(np.isfinite(J_a), axis=(1, 2))
    sound[sound] = np.linalg.eigvalsh(M[sound])[:, 0] > 0.0
    along = np.einsum("tan,ta->tn", J_a[sound], impulse[sound])
    v[places[sound]] = np.linalg.solve(M[sound], along[..., None])[..., 0]
    rates[places[sound]] = np.einsum("tan,tn->ta", J_a[sound], v[places[sound]])
    return v, rates


def beyond_filter(force: Array, cutoff: float, rate: float) -> Array:
    """(1 - H) p of forces (N, actuators), N s or N m s, p by the trapezoidal rule.

    The filter passes straight lines, so p is taken from the line between its ends.
    """
    steps = np.zeros_like(force)
    steps[1:] = 0.5 * (force[1:] + force[:-1]) / rate
    p = np.cumsum(steps, axis=0)
    p = p - np.linspace(0.0, 1.0, len(p))[:, None] * p[-1]
    return np.asarray(p - low_pass(p, cutoff, rate))
