"""The platform from the encoders: pose and twist, followed from sample to sample.

A sample predicts the pose and the twist from those of the sample before and from the acceleration a that was
asked for since,

    x- = x + T v + T^2 a / 2        v- = v + T a

and finds the pose at the readings by Newton's steps from there, e = J^+ (q - q(x)), J^+ the left inverse of
the actuators' Jacobian. Their sum e is what the prediction missed, and corrects the twist, v = v- + b e / T.
With b = 1 the twist is that of a difference over the sample, but without its lag of half a sample; below 1
noise is filtered. Where a reading is missing the prediction takes its place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nacelle.control.pieces.desired import closed
from nacelle.control.pieces.signals import difference, present, waited
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.tree.least_squares import least_squares
from nacelle.model.robot import Robot
from nacelle.simulation.flow import half_turn
from nacelle.spatial.rotation import quat_product
from nacelle.spatial.scalar import Array, pack, where
from nacelle.spatial.solve import solve

# Newton's steps in a sample: what a prediction misses is small, and each step squares it.
_STEPS = 2


class Platform(NamedTuple):
    """The platform at a sample.

    Attributes:
        x: reduced pose (nx,).
        y: what iteration finds at it (ny,).
        v: reduced twist (n,).
        J: actuators' Jacobian there (actuators, n): their rates from the twist.
        missed: samples in a row without all readings, (1,).
        stopped: above zero once there were too many, (1,).
    """

    x: Array
    y: Array
    v: Array
    J: Array
    missed: Array
    stopped: Array


def displaced(robot: Robot, x: Array, w: Array) -> Array:
    """The pose (nx,) that is a small displacement w (n,) from x, rotations in base axes."""
    layout = mechanism_of(robot).layout
    if layout.quaternion is None or layout.angular is None:
        return np.asarray(x + w)
    quat = quat_product(half_turn(w[layout.angular]), x[layout.quaternion])
    first = layout.angular.start
    return pack([*(x[:first] + w[:first]), *quat, *(x[layout.quaternion.stop :] + w[layout.angular.stop :])])


def apart(robot: Robot, a: Array, b: Array) -> Array:
    """The displacement (n,) from a pose b to a pose a; of a rotation by t about an axis, 2 sin(t/2) of it."""
    layout = mechanism_of(robot).layout
    if layout.quaternion is None or layout.angular is None:
        return np.asarray(a - b)
    back = b[layout.quaternion] * np.array([-1.0, -1.0, -1.0, 1.0])
    turn = quat_product(a[layout.quaternion], back)
    side = where(turn[3], 2.0, -2.0)
    first = layout.angular.start
    return pack(
        [
            *(a[:first] - b[:first]),
            *(side * turn[:3]),
            *(a[layout.quaternion.stop :] - b[layout.quaternion.stop :]),
        ]
    )


def by_twist(J: Array, rates: Array) -> Array:
    """The twist (n,) at rates of the actuators (actuators,): J v = rates, in the mean square if redundant."""
    right = rates.reshape(-1, 1)
    return np.asarray((solve(J, right) if J.shape[0] == J.shape[1] else least_squares(J, right).X)[:, 0])


def spread(J: Array, load: Array) -> Array:
    """The smallest forces (actuators,) that do the work of a force along the twist (n,): J^T force = load."""
    if J.shape[0] == J.shape[1]:
        return np.asarray(solve(J.T, load.reshape(-1, 1))[:, 0])
    return np.asarray(J @ solve(J.T @ J, load.reshape(-1, 1))[:, 0])


def estimated(robot: Robot, z: dict[str, Array], q: Array, k: dict[str, Array]) -> Platform:
    """The platform at a sample, from readings q (actuators,).

    Args:
        robot: the model.
        z: memory with parts x, y, v, acceleration, started, missed and stopped.
        q: readings (actuators,), rad or m; NaN where there is none.
        k: gains with parts period, correction (b above) and patience.
    """
    T = k["period"][0]
    ahead = T * z["v"] + (0.5 * T * T) * z["acceleration"]
    there = [present(value) for value in q]
    x = displaced(robot, z["x"], ahead)
    y = closed(robot, z["y"], x)
    missed_by = np.zeros(robot.motion.n)
    J = np.zeros((len(q), robot.motion.n))
    for _ in range(_STEPS):
        at = inverse_jacobian(robot, x, y)
        J = np.asarray(at["J"])
        off = difference(robot, q, np.asarray(at["q"]))
        gap = pack([where(ok, own, 0.0) for ok, own in zip(there, off, strict=True)])
        step = by_twist(J, gap)
        x, missed_by = displaced(robot, x, step), missed_by + step
        y = closed(robot, y, x)
    corrected = z["v"] + T * z["acceleration"] + (k["correction"][0] / T) * missed_by
    v = pack([where(z["started"][0], own, 0.0) for own in corrected])
    return Platform(x, y, v, J, *waited(there, z, k))
