"""Friction of the model as a force along the platform's twist."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics import smallest
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Rate over which friction that is compensated for changes its sign, rad/s or m/s.
SMOOTH = 1e-3


def friction_along_twist(robot: Robot, x: Array, y: Array, v: Array, smooth: float) -> Array:
    """Force (n,) that friction of all joints requires along the twist at a twist v (n,), N or N m."""
    with_it = smallest.bias(robot, x, y, v, outputs="h", friction=True, smooth=smooth)["h"]
    without = smallest.bias(robot, x, y, v, outputs="h", friction=False)["h"]
    return np.asarray(with_it - without)
