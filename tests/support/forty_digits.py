"""Robots whose frames are rotations to forty digits, and states to match.

The frames of a description are rotations to sixteen digits; evaluated at forty digits they are not quite, and
two formulations differ by 1e-16. With frames made orthonormal at forty digits what differs is a mistake.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot

Array = np.ndarray
DIGITS = 40
# What remains of forty digits where thousands of operations follow one another.
AGREE = mpmath.mpf("1e-35")


def precise(values: Any) -> Array:
    """Floats, taken as exact, as numbers of mpmath."""
    flat = [mpmath.mpf(float(value)) for value in np.ravel(values)]
    return np.array(flat, dtype=object).reshape(np.shape(values))


def orthonormal(R: Array) -> Array:
    """The rotation nearest to a matrix (3, 3) that is one to sixteen digits: X <- (X + X^-T) / 2."""
    X = R
    for _ in range(4):
        cofactors = np.stack([np.cross(X[1], X[2]), np.cross(X[2], X[0]), np.cross(X[0], X[1])])
        X = (X + cofactors / (X[0] @ cofactors[0])) / 2
    return X


def precise_robot(robot: Robot) -> Robot:
    """The robot with frames of joints that are rotations to the digits that are carried."""
    frames = precise(robot.parameter_vector("geometry")).reshape(-1, 12)
    for frame in frames:
        frame[:9] = orthonormal(frame[:9].reshape(3, 3)).ravel()
    return robot.with_symbols(frames.ravel(), "geometry")


def precise_pose(robot: Robot, x: Array) -> Array:
    """A reduced pose (nx,) with its quaternion of unit length to the digits that are carried."""
    found = precise(x)
    quat_slice = mechanism_of(robot).layout.quaternion
    if quat_slice is not None:
        found[quat_slice] = found[quat_slice] / mpmath.sqrt(sum(value * value for value in found[quat_slice]))
    return found


def largest_difference(found: Array, expected: Array) -> Any:
    """Largest difference of two vectors over the largest entry of the second; both of mpmath's numbers."""
    assert all(isinstance(value, mpmath.mpf) for value in (*found, *expected))
    differences = [abs(p - q) for p, q in zip(found, expected, strict=True)]
    return max(differences) / max(abs(value) for value in expected)
