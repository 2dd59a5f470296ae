"""Inertia of bodies with the payload on them."""

from __future__ import annotations

import numpy as np

from nacelle.model.robot import Robot
from nacelle.spatial.linear_form import is_form
from nacelle.spatial.scalar import Array


def body_parameters(robot: Robot, body: int) -> Array:
    """Ten parameters [m, m c (3), I (6)] of a body with its payload, about its frame: kg, kg m, kg m^2."""
    total = np.asarray(robot.bodies[body].inertia)
    for load in robot.payload:
        if load.body == body:
            total = total + np.asarray(load.inertia)
    return total


def has_mass(robot: Robot, body: int) -> bool:
    """Whether a body, with the payload on it, has any inertia; decided by the robot's own numbers.

    A body whose inertia are parameters (linear forms) has.
    """
    if is_form(robot.bodies[body].inertia[0]):
        return True
    return bool(np.any(body_parameters(robot.numeric, body) != 0.0))
