"""A path that fits any robot: once round in the first two coordinates about the reference pose.

Translations are taken before rotations. The radius is a part of the robot's size, or an angle, halved until
all poses are within reach and limits; the timing is that of a polynomial of the fifth degree, rest to rest.
"""

from __future__ import annotations

import numpy as np

from nacelle.control.scenario.fit import usable_poses
from nacelle.control.scenario.round import Round
from nacelle.errors import KinematicsError
from nacelle.kinematics.along import along
from nacelle.kinematics.pose_input import is_angle, reference_pose
from nacelle.kinematics.trajectory.base import Trajectory
from nacelle.kinematics.trajectory.timing import Quintic
from nacelle.model.robot import Robot

# Radius over the robot's size, and of angles, rad.
RADIUS, ANGLE = 0.04, 0.06
_TRIES = 6


def round_path(robot: Robot, duration: float = 0.5, *, radius: float = RADIUS) -> Trajectory:
    """Once round about the reference pose.

    Args:
        robot: the robot.
        duration: s.
        radius: over the robot's size.

    Raises:
        KinematicsError: if not even a small circle is within reach.
    """
    names = sorted(robot.motion.coordinates, key=lambda name: is_angle(robot, name))[:2]
    places = [list(robot.motion.coordinates).index(name) for name in names]
    axes = np.zeros((2, robot.motion.n))
    for k, (place, name) in enumerate(zip(places, names, strict=True)):
        axes[k, place] = ANGLE * radius / RADIUS if is_angle(robot, name) else radius * robot.size
    for _ in range(_TRIES):
        path = Round(reference_pose(robot), axes, motion=robot.motion, turns=1.0, timing=Quintic(duration))
        if np.all(usable_poses(robot, along(robot, path, np.linspace(0.0, duration, 41)).x)):
            return path
        axes = 0.5 * axes
    raise KinematicsError(
        f"no circle about the reference pose of {robot.name} is within its reach and limits"
    )
