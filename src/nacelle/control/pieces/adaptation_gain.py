"""How fast parameters are adapted: one time constant for all of them.

While parameters p^ are wrong by p~ = p^ - p, the sliding variable s of a loop with the damping K, along the
reduced twist, settles at

    s = - K^-1 J^T Y p~

Y the linear form and J the actuators' Jacobian. Adapted by dp^/dt = P Y^T J s, the error decays as

    dp~/dt = - P G p~        G = mean over a motion of Y^T J K^-1 J^T Y

p~^T G p~ is the power, W, that wrong parameters put into the sliding variable. With P = G^-1 / t every
combination of parameters has the time constant t. What a motion hardly feels is left alone: with S the scales
of the parameters,

    P = S (S G S + r g I)^-1 S / t        g = the largest eigenvalue of S G S

so that a combination with less than the part r of the power of the one that is felt most adapts more slowly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.dynamics import smallest
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.base_parameters.choice import column_options
from nacelle.dynamics.base_parameters.sampling import generic_states
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.scalar import Array

# The part r of the largest power below which parameters adapt more slowly.
RIDGE = 1e-5
# Of a desired motion so many samples count, evenly.
_SAMPLES = 500


class Felt(NamedTuple):
    """How parameters are felt at N motions: Y (N, actuators, parameters) and J (N, actuators, n)."""

    Y: Array
    J: Array


def felt_anywhere(robot: Robot, base: BaseParameters, smooth: float) -> Felt:
    """At motions all over the workspace, at speeds with inertial forces of the order of weights."""
    return _felt(robot, base, generic_states(robot), smooth)


def felt_along(robot: Robot, base: BaseParameters, rows: Array, smooth: float) -> Felt:
    """Linear forms Y and Jacobians J_r^-1 at samples of a desired motion [x; v; a] (N, nx + 2 n)."""
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, _SAMPLES).astype(int))]
    nx, n = mechanism_of(robot).layout.nx, robot.motion.n
    x, v, a = chosen[:, :nx], chosen[:, nx : nx + n], chosen[:, nx + n :]
    return _felt(robot, base, (x, inverse_kinematics(robot, x, limits=False).y, v, a), smooth)


def _felt(robot: Robot, base: BaseParameters, states: tuple[Array, ...], smooth: float) -> Felt:
    batches = (from_samples(part, 1) for part in states)
    Y = smallest.regressor(robot, *batches, outputs="Y", smooth=smooth, **column_options(base))["Y"]
    J = native(inverse_jacobian, robot)(*states[:2])["J"]
    return Felt(np.broadcast_to(to_samples(Y), (len(J), *Y.shape)), J)


def gram(felt: Felt, K: Array) -> Array:
    """G (parameters, parameters) for a damping K (n, n)."""
    load = np.swapaxes(felt.J, -1, -2) @ felt.Y
    return np.asarray(np.mean(np.swapaxes(load, -1, -2) @ np.linalg.solve(K, load), axis=0))


def adaptation_gain(G: Array, scale: Array, time_constant: float) -> Array:
    """P = S (S G S + r g I)^-1 S / t (parameters, parameters), symmetric and positive definite.

    Args:
        G: mean over a motion of Y^T J K^-1 J^T Y (parameters, parameters).
        scale: S, scales of the parameters (parameters,), SI units.
        time_constant: t, s.
    """
    scaled = G * scale * scale[:, None]
    largest = float(np.linalg.eigvalsh(scaled)[-1])
    inverse = np.linalg.inv(scaled + RIDGE * largest * np.eye(len(scale)))
    P = inverse * scale * scale[:, None] / time_constant
    return np.asarray(0.5 * (P + P.T))
