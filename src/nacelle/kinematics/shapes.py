"""Shapes of the inputs that physics functions of a robot declare, and what twists and Jacobians count in."""

from __future__ import annotations

import numpy as np

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.platform import AXES
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array


def of_pose(robot: Robot) -> tuple[int]:
    """Shape of the reduced pose x."""
    return (mechanism_of(robot).layout.nx,)


def of_unknowns(robot: Robot) -> tuple[int]:
    """Shape of what iteration finds, y."""
    return (mechanism_of(robot).ny,)


def of_twist(robot: Robot) -> tuple[int]:
    """Shape of the reduced twist v and of its derivative."""
    return (robot.motion.n,)


def of_actuators(robot: Robot) -> tuple[int]:
    """Shape of one number for each actuator."""
    return (len(robot.actuators),)


def scales(robot: Robot) -> tuple[Array, Array]:
    """What the rows (actuators,) and columns (n,) of J_r^-1 count in: the robot's size for lengths."""
    rows = [1.0 if revolute else robot.size for revolute in robot.revolute_actuators]
    return np.array(rows), twist_units(robot)


def twist_units(robot: Robot) -> Array:
    """What the entries of the reduced twist (n,) count in: the robot's size for lengths, 1 for angles."""
    return np.array([robot.size if _is_length(robot, name) else 1.0 for name in robot.motion.coordinates])


def _is_length(robot: Robot, coordinate: str) -> bool:
    if coordinate in AXES:
        return coordinate in AXES[:3]
    return not robot.joints[robot.joint(coordinate)].primitives[0].is_rotation
