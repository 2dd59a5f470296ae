"""The digital controller of a rehearsal: feedback of encoders, feedforward along a reference.

At every sample, with the readings q of the actuators and the reference q_r,

    error   e = q_r - q, for revolute joints within half a turn
    rate    e' = k (e - z),   z+ = z + T e'                  z follows e with the bandwidth k of the filter
    force   u = f + M_a (w^2 e + 2 zeta w e')

f the feedforward and M_a the mass matrix at the actuators, both from the model along the reference. Velocity
is nowhere measured: the derivative of the error is that of a filter of first order, as in industrial drives.
All that depends on the time comes in rows [q_r; f; M_a], the lower triangle of M_a row by row.
"""

from __future__ import annotations

import math

import numpy as np

from nacelle.kinematics.shapes import of_actuators
from nacelle.model.robot import Robot
from nacelle.simulation.driven_plant import force_limited
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, floor, pack, where


def _row(robot: Robot) -> tuple[int]:
    count = len(robot.actuators)
    return (2 * count + count * (count + 1) // 2,)


def servo_rows(q: Array, force: Array, inertia: Array) -> Array:
    """The controller's rows (N, k) from coordinates, forces (N, actuators) and matrices M_a."""
    lower = np.tril_indices(q.shape[1])
    return np.hstack([q, force, inertia[:, lower[0], lower[1]]])


@physics(z=of_actuators, q=of_actuators, r=_row, gains=(4,))
def servo(
    robot: Robot, z: Array, q: Array, r: Array, gains: Array, *, limits: tuple[float, ...]
) -> dict[str, Array]:
    """Commanded forces and the memory after a sample (actuators,), as `nacelle.simulation.sampled` has them.

    Args:
        robot: the robot.
        z: the filtered error, rad or m.
        q: readings of the encoders, rad or m.
        r: the row [q_r; f; M_a].
        gains: w^2, 1/s^2; 2 zeta w, 1/s; k, 1/s; T, s.
        limits: largest forces (actuators,), N or N m; infinite for none.
    """
    count = len(robot.actuators)
    stiffness, damping, filter_rate, period = gains
    off = r[:count] - q
    turn = 2.0 * math.pi * floor(off / (2.0 * math.pi) + 0.5)
    e = where(np.array(robot.revolute_actuators, dtype=float), off - turn, off)
    rate = filter_rate * (e - z)
    M = np.empty((count, count), dtype=object)
    M[np.tril_indices(count)] = r[2 * count :]
    M = np.where(np.tri(count, dtype=bool), M, M.T)
    force = r[count : 2 * count] + M @ (stiffness * e + damping * rate)
    return {
        "force": pack([force_limited(*pair) for pair in zip(force, limits, strict=True)]),
        "memory": z + period * rate,
    }
