"""Shapes of the inputs that physics functions of a robot declare, and what twists and Jacobians count in."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.pose_input import is_angle
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import actuator_scales


def pose_shape(robot: Robot) -> tuple[int]:
    """Shape of the reduced pose x."""
    return (mechanism_of(robot).layout.nx,)


def unknowns_shape(robot: Robot) -> tuple[int]:
    """Shape of the passive coordinates y."""
    return (mechanism_of(robot).unknown_count,)


def twist_shape(robot: Robot) -> tuple[int]:
    """Shape of the reduced twist v and of its derivative."""
    return (robot.motion.n,)


def actuators_shape(robot: Robot) -> tuple[int]:
    """Shape of one number for each actuator."""
    return (len(robot.actuators),)


def jacobian_scales(robot: Robot) -> tuple[Array, Array]:
    """What the rows (actuators,) and columns (n,) of J_r^-1 count in: the robot's size for lengths."""
    return actuator_scales(robot), twist_scales(robot)


def twist_scales(robot: Robot) -> Array:
    """What the entries of the reduced twist (n,) count in: the robot's size for lengths, 1 for angles."""
    return np.where([is_angle(robot, name) for name in robot.motion.coordinates], 1.0, robot.size)
