"""Shapes of the inputs that physics functions of a robot declare."""

from __future__ import annotations

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot


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
