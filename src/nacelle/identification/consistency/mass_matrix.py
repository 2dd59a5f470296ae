"""The mass matrix that base parameters give, against that of the description.

At rest, Gamma = Y_base(x, 0, a) beta, so along the reduced twist v, with dq_a/dt = A v the actuators' rates,

    M(x) e_i = A^T (Y_base(x, 0, e_i) - Y_base(x, 0, 0)) beta

which needs no parameters of single bodies. M is positive definite for all that can be built. The eigenvalues
of M v = lambda M_c v, M_c of the description, have no units: they are all one where beta is that of the
description.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import BaseParameters
from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.regressor import regressor
from nacelle.spatial.scalar import Array


def mass_matrices(base: BaseParameters, beta: Any, x: Any) -> Array:
    """Mass matrices M (..., n, n) of base parameters at poses; SI units.

    Args:
        base: the base parameters.
        beta: their values (base parameters,).
        x: reduced poses (..., nx).
    """
    robot = base.robot
    # At every pose at rest, without acceleration and with a unit of each.
    poses = np.asarray(x, dtype=float)[..., None, :]
    a = np.vstack([np.zeros(robot.motion.n), np.eye(robot.motion.n)])
    Y = regressor(robot, np.repeat(poses, len(a), -2), 0.0 * a, a, friction=False, parameters=base).Y
    force = (Y[..., 1:, :, :] - Y[..., :1, :, :]) @ np.asarray(beta, dtype=float)
    M = force @ jacobian(robot, poses).inverse[..., 0, :, :]
    return np.asarray(0.5 * (M + np.swapaxes(M, -1, -2)))


def smallest_inertia_ratio(base: BaseParameters, beta: Any, x: Any) -> Array:
    """The smallest eigenvalue of M against M of the description at each pose (...); negative if impossible.

    Args:
        base: the base parameters.
        beta: their values (base parameters,).
        x: reduced poses (..., nx).
    """
    import scipy.linalg

    M, M_nominal = mass_matrices(base, beta, x), mass_matrices(base, base.values, x)
    flat = [
        scipy.linalg.eigh(M_k, M_c, eigvals_only=True)[0] if np.all(np.isfinite(M_k)) else np.nan
        for M_k, M_c in zip(M.reshape(-1, *M.shape[-2:]), M_nominal.reshape(-1, *M.shape[-2:]), strict=True)
    ]
    return np.array(flat).reshape(M.shape[:-2])
