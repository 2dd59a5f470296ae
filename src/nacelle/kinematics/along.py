"""Along a trajectory: the reduced pose, twist and acceleration of a robot at given times.

A trajectory gives the coordinates of x and their derivatives. For most motions these are v and a
themselves. Not so for tilts beside parasitic motion, as in a 3-RPS: there the twist also holds what the
closures add, and it is found from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nacelle.errors import KinematicsError
from nacelle.kinematics import functions
from nacelle.kinematics.mechanism import mechanism
from nacelle.kinematics.motion import solved
from nacelle.kinematics.native import native
from nacelle.kinematics.trajectory import Sample, Trajectory
from nacelle.model.robot import Robot


def along(robot: Robot, trajectory: Trajectory, t: Any) -> Sample:
    """Reduced pose x, twist v and acceleration a of a robot on a trajectory at times t (...,).

    Raises:
        KinematicsError: if the trajectory is for another motion than the robot's.
    """
    if trajectory.motion.coordinates != robot.motion.coordinates:
        raise KinematicsError(
            f"the trajectory is for the motion {trajectory.motion.name}, {robot.name} has {robot.motion.name}"
        )
    sample = trajectory(t)
    known = mechanism(robot)
    if not (known.parasitic and 0 < len(known.chart.turns) < 3):
        return sample
    poses, y, _ = solved(robot, sample.x)
    found = native(functions.coordinate_motions, robot)(poses, y, sample.v, sample.a)
    return Sample(sample.x, np.asarray(found["v"]), np.asarray(found["a"]))
