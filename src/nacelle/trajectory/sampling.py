"""Along a trajectory: the reduced pose, twist and acceleration of a robot at given times.

A trajectory gives the coordinates c of x (nx,), their rates c' (n,) and c'' (n,), angular velocities in base
axes for a quaternion. For most motions v = c' and dv/dt = c''. Not so for tilts with parasitic motion, as
in a 3-RPS: there the closures add rotation that no coordinate has, so

    v = T(x) c',      dv/dt = T c'' + T' c'          T (n, n) from the rates of the closed loops

m/s, rad/s, m/s^2 and rad/s^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics.flags import has_failed
from nacelle.kinematics.mechanism.mechanism import mechanism_of, with_turn_counting
from nacelle.kinematics.motion import twist_from_rates
from nacelle.kinematics.solve.inverse import InverseKinematics, inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.results import Plottable
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Sample, Trajectory


def sample_trajectory(robot: Robot, trajectory: Trajectory, t: Any) -> Sample:
    """Reduced pose, twist and acceleration of a robot on a trajectory: x(t), v(t), a = dv/dt.

    Where the platform's orientation follows from other coordinates (parasitic motion) its twist is not the
    rate of the coordinates, and is found here.

    Args:
        robot: the robot.
        trajectory: of its motion.
        t: times (...), s; before the start and after the end the trajectory rests.

    Returns:
        A `Sample`: x (..., nx) in m and rad, v (..., n) in m/s and rad/s, a (..., n) in m/s^2 and rad/s^2,
        base axes.

    Raises:
        KinematicsError: if the trajectory is for another motion than the robot's.
    """
    if trajectory.motion.coordinates != robot.motion.coordinates:
        raise KinematicsError(
            f"the trajectory is for the motion {trajectory.motion.name}, {robot.name} has {robot.motion.name}"
        )
    sample = trajectory(t)
    return Sample(sample.x, *twist_from_rates(robot, sample.x, sample.v, sample.a))


@dataclass(frozen=True, eq=False, repr=False)
class SampledMotion(Plottable):
    """A motion of a robot at times, both ends among them; results along it are its subclasses.

    Attributes:
        robot: the robot.
        times: (N,), s.
        sample: poses, twists and accelerations of the platform.
    """

    robot: Robot
    times: Array
    sample: Sample


def motion_samples(robot: Robot, trajectory: Trajectory, rate: float) -> tuple[Array, Sample]:
    """Times (N,) over a whole trajectory, both ends among them, and the robot's motion at them.

    Args:
        robot: the robot.
        trajectory: of its motion.
        rate: samples a second, or a little more.

    Raises:
        KinematicsError: if the rate is not above zero, or the trajectory is for another motion.
    """
    if not (np.isfinite(rate) and rate > 0.0):
        raise KinematicsError(f"the rate must be above zero samples a second, got {rate:g}")
    # Poses, rates and accelerations of all joints come with the motion.
    trajectory.require_memory(trajectory.duration * rate, 3 * trajectory.layout.nx + 12 * len(robot.joints))
    count = max(2, int(np.ceil(trajectory.duration * rate)) + 1)
    times = np.linspace(0.0, trajectory.duration, count)
    return times, sample_trajectory(robot, trajectory, times)


def counting_start(robot: Robot, x: Array) -> tuple[Robot, InverseKinematics | None]:
    """The robot along poses (N, nx), and its joints where forces depend on how often they have turned.

    Args:
        robot: the robot.
        x: poses of a motion, in order.

    Returns:
        the robot as it counts turns (`counting`), and what to begin with at these poses: its joints along
        them, or None where no force depends on turns, with the robot itself.
    """
    counting_robot = with_turn_counting(robot)
    mechanism, joints = mechanism_of(counting_robot), counting_robot.joints_within_drive_limits
    loaded = [(joint, number) for joint in joints for number in range(len(joint.primitives))]
    if mechanism.unknown_count and any(joint.counts_turns(number) for joint, number in loaded):
        return counting_robot, inverse_kinematics(counting_robot, x, follow=True, limits=False)
    return robot, None


def solved_mask(robot: Robot, flags: Array) -> Array:
    """Which samples of a trajectory were solved, from their flags.

    Raises:
        UnreachableError: if none was.
    """
    good = ~has_failed(flags)
    if not np.any(good):
        raise UnreachableError(
            f"{robot.name} reaches no pose of this trajectory, or all of them are singular"
        )
    return np.asarray(good)
