"""The digital controller of a rehearsal: feedback of encoders, feedforward along a reference.

At every sample, with the coordinates q of the actuators, the reference q_r, noise n and the resolution d,

    read    q_m = d floor((q + n) / d + 1/2)
    error   e = q_r - q_m, for revolute joints within half a turn
    rate    e' = k (e - z),   z' = e'                        z follows e with the bandwidth k of the filter
    force   u = f + M_a (w^2 e + 2 zeta w e')

f the feedforward and M_a the mass matrix at the actuators, both from the model along the reference. Velocity
is nowhere measured: the derivative of the error is that of a filter of first order, as in industrial drives,
and its memory z is a state of the plant (`driven_robot`). All that depends on the time comes in rows [q_r; f;
n; M_a], the lower triangle of M_a row by row.
"""

from __future__ import annotations

import math

import numpy as np

from nacelle.identification.rehearsal.driven_robot import actuator_coordinates
from nacelle.identification.rehearsal.settings import revolute
from nacelle.model.robot import Robot
from nacelle.simulation.flow import state_samples, state_size
from nacelle.spatial.physics import checked_at, physics
from nacelle.spatial.scalar import Array, Scalar, floor, maximum, minimum, pack


def _state(robot: Robot) -> tuple[int]:
    return (state_size(robot)[0] + 2 * len(robot.actuators),)


def _row(robot: Robot) -> tuple[int]:
    count = len(robot.actuators)
    return (1 + 3 * count + count * (count + 1) // 2,)


def servo_rows(q: Array, force: Array, noise: Array, inertia: Array) -> Array:
    """The controller's rows (N, k) from coordinates, forces, noise (N, actuators) and matrices M_a."""
    lower = np.tril_indices(q.shape[1])
    return np.hstack([q, force, noise, inertia[:, lower[0], lower[1]]])


def encoder_readings(q: Array, resolution: Array) -> Array:
    """What encoders read (..., actuators) at coordinates, noise included: multiples of their resolution."""
    step = np.where(resolution > 0.0, resolution, 1.0)
    return np.where(resolution > 0.0, np.floor(q / step + 0.5) * step, q)


@checked_at(state_samples)
@physics(s=_state, w=_row, quat_0=(4,))
def servo(
    robot: Robot,
    s: Array,
    w: Array,
    quat_0: Array,
    *,
    resolution: tuple[float, ...],
    stiffness: float,
    damping: float,
    filter_rate: float,
    limits: tuple[float, ...] = (),
) -> Array:
    """Commanded forces and the rate of the memory, [u; z'] (2 actuators,).

    Args:
        robot: the robot.
        s: state [s; z; g] of the driven robot.
        w: time and row [t; q_r; f; n; M_a].
        quat_0: orientation from which rotations are counted.
        resolution: of the encoders, rad or m; 0 for none.
        stiffness: w^2, 1/s^2.
        damping: 2 zeta w, 1/s.
        filter_rate: k, 1/s.
        limits: largest forces, N or N m; none if empty.
    """
    count = len(robot.actuators)
    start = state_size(robot)[0]
    z, row = s[start : start + count], w[1:]
    reference, feedforward, noise = (row[i * count : (i + 1) * count] for i in range(3))
    q = actuator_coordinates(robot, s, quat_0) + noise
    error = []
    for i, is_revolute in enumerate(revolute(robot)):
        step = resolution[i]
        read = step * floor(q[i] / step + 0.5) if step else q[i]
        off = reference[i] - read
        error.append(off - 2.0 * math.pi * floor(off / (2.0 * math.pi) + 0.5) if is_revolute else off)
    e = pack(error)
    rate = filter_rate * (e - z)
    wanted = stiffness * e + damping * rate
    place = iter(row[3 * count :])
    M = np.empty((count, count), dtype=object)
    for i in range(count):
        for j in range(i + 1):
            M[i, j] = M[j, i] = next(place)
    force = feedforward + M @ wanted
    if limits:
        force = pack([_limited(f, most) for f, most in zip(force, limits, strict=True)])
    return pack([*force, *rate])


def _limited(force: Scalar, most: float) -> Scalar:
    return maximum(minimum(force, most), -most) if math.isfinite(most) else force
