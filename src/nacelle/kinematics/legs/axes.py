"""How the axes of two joints on one body lie to each other, and the one tolerance of recognition.

X = (R, p) is the frame of the second joint in that of the first, on the body between them; axes are z. The
second axis has the direction e = R z = (R_02, R_12, R_22), so that, within the tolerance,

    parallel        R_02 = R_12 = 0                          coaxial    and p_x = p_y = 0
    perpendicular   R_22 = 0                                 crossing   and (e x p)_z = 0: the lines meet
"""

from __future__ import annotations

import numpy as np

from nacelle.spatial.pose import Pose
from nacelle.spatial.scalar import Array

# Angles are right and axes parallel within this (rad); lengths are equal, points the same and axes meet
# within this part of the robot's size. The numbers of a description are right to about 1e-15 after the
# rotations of their placements, and what is solved as special must be so to rounding: a leg that is off by
# 1e-9 is not.
TOLERANCE = 1e-12


def parallel(X: Pose) -> bool:
    """Whether the axes have one direction, or opposite ones."""
    return float(np.hypot(X.R[0, 2], X.R[1, 2])) < TOLERANCE


def perpendicular(X: Pose) -> bool:
    """Whether the axes are at a right angle."""
    return abs(float(X.R[2, 2])) < TOLERANCE


def crossing(X: Pose, size: float) -> bool:
    """Whether the axes meet at a right angle: two revolutes act as a universal joint."""
    return perpendicular(X) and abs(float(X.R[0, 2] * X.p[1] - X.R[1, 2] * X.p[0])) < TOLERANCE * size


def on_axis(point: Array, size: float) -> bool:
    """Whether a point (3,), m, lies on the z axis of its frame, within `TOLERANCE` of the robot's size."""
    return float(np.hypot(point[0], point[1])) < TOLERANCE * size


def coaxial(X: Pose, size: float) -> bool:
    """Whether the two axes are one line."""
    return parallel(X) and on_axis(X.p, size)


def relation(X: Pose, size: float) -> str:
    """How the second axis lies to the first, in one word."""
    if parallel(X):
        return "coaxial" if on_axis(X.p, size) else "parallel"
    if perpendicular(X):
        return "crossing" if crossing(X, size) else "perpendicular"
    return "oblique"
