"""Coordinates of actuators along paths: angles without jumps by whole turns, straight lines between two.

An angle q (rad) and q + 2 pi are one position, but not one place on a path of the actuators:

    between     q(t) = (1 - t) q_first + t q_last                     0 <= t <= 1, (actuators,), rad or m
    unwound     q - 2 pi round((q - q_start) / (2 pi))                within half a turn of q_start
    path        the same with the steps from sample to sample, their whole turns summed up
"""

from __future__ import annotations

import numpy as np

from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def between(first: Array, last: Array, t: Array) -> Array:
    """Coordinates of actuators at the parts t (M,) of the ways between two; the last ones exactly."""
    t = t[:, None]
    return np.ascontiguousarray(np.where(t == 1.0, last, (1.0 - t) * first + t * last))


def _are_revolute(robot: Robot) -> Array:
    """Which actuators are revolute (actuators,)."""
    return np.array(robot.revolute_actuators)


def unwound(robot: Robot, q: Array, start: Array) -> Array:
    """Coordinates (..., actuators), angles by whole turns within half a turn of those where a path begins.

    Inverse kinematics gives angles within half a turn of zero: without this a path across the seam would go
    the long way round.
    """
    whole = 2.0 * np.pi * np.round((q - start) / (2.0 * np.pi))
    return np.asarray(np.where(_are_revolute(robot) & (whole != 0.0), q - whole, q))


def unwound_path(robot: Robot, q: Array, start: Array) -> Array:
    """Coordinates of actuators (N, actuators) along a path, angles without jumps by whole turns."""
    steps = np.diff(q, axis=0, prepend=start[None])
    whole = 2.0 * np.pi * np.cumsum(np.round(steps / (2.0 * np.pi)), axis=0)
    return np.asarray(np.where(_are_revolute(robot) & (whole != 0.0), q - whole, q))


def actuator_scales(robot: Robot) -> Array:
    """What the coordinates of actuators count in (actuators,): the robot's size for lengths, 1 for angles."""
    return np.where(_are_revolute(robot), 1.0, robot.size)


def within_half_turn(angles: Array) -> Array:
    """Angles (...) within half a turn of zero, rad: -pi <= angle < pi."""
    return np.asarray((angles + np.pi) % (2.0 * np.pi) - np.pi)
