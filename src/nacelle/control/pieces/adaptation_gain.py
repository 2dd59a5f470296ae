"""How fast parameters are adapted: one time constant for all of them.

While parameters p^ are wrong by p~ = p^ - p, the sliding variable s of a loop with the damping K, along the
reduced twist, settles at

    s = - K^-1 J^T Y p~

Y the linear form and J the actuators' Jacobian. Adapted by dp^/dt = P Y^T J s, the error decays as

    dp~/dt = - P G p~        G = mean over a motion of Y^T J K^-1 J^T Y

p~^T G p~ is the power, W, that wrong parameters put into the sliding variable. With P = G^-1 / t every combination of
parameters has the time constant t. What a motion hardly feels is left alone: with S the scales of parameters,

    P = S (S G S + r g I)^-1 S / t        g = the largest eigenvalue of S G S

so that a combination with less than the part r of the power of the one that is felt most adapts more slowly.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.base_parameters.sampling import generic_states, sampled_regressor, units
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.native import native
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# The part r of the largest power below which parameters adapt more slowly.
RIDGE = 1e-4


def generic_form(robot: Robot, base: BaseParameters) -> tuple[Array, Array]:
    """Y (N, actuators, base parameters) and J (N, actuators, n) at motions all over the workspace."""
    x, y, _, _ = generic_states(robot)
    W = (sampled_regressor(robot) / units(robot)) @ base.choice.E
    Y = W[:, list(base.kept)].reshape(len(x), len(robot.actuators), len(base))
    return Y, native(inverse_jacobian, robot)(x, y)["J"]


def gram(Y: Array, J: Array, K: Array) -> Array:
    """G (parameters, parameters) of Y (N, actuators, parameters) and J (N, actuators, n), K (n, n)."""
    load = np.swapaxes(J, -1, -2) @ Y
    return np.asarray(np.mean(np.swapaxes(load, -1, -2) @ np.linalg.solve(K, load), axis=0))


def adaptation_gain(G: Array, scale: Array, time_constant: float) -> Array:
    """P (parameters, parameters), symmetric and positive definite."""
    scaled = G * scale * scale[:, None]
    largest = float(np.linalg.eigvalsh(scaled)[-1])
    inverse = np.linalg.inv(scaled + RIDGE * largest * np.eye(len(scale)))
    P = inverse * scale * scale[:, None] / time_constant
    return np.asarray(0.5 * (P + P.T))
