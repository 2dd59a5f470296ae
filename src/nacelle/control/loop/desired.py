"""The desired motion of a closed loop at its samples, after settling, once or over and over.

Samples are at t_k = t_0 + k T, t_0 = -settle. Before t = 0 a trajectory that starts at rest rests at its
start; another one is run through backwards in time, which takes one that ends as it starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.capacity import require_memory
from nacelle.errors import KinematicsError
from nacelle.kinematics.along import along
from nacelle.kinematics.trajectory.base import Sample, Trajectory
from nacelle.kinematics.trajectory.periodic import reason_not_periodic
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Twists below this are rest, m/s and rad/s.
_REST = 1e-9
# How long a loop settles at rest before a path if nothing is said, s, and in samples, whichever is longer:
# integrals of controllers at their usual bandwidth decay within 100 samples.
_SETTLE, _SETTLE_SAMPLES = 0.5, 600


@dataclass(frozen=True)
class Course:
    """How a trajectory is run through.

    Attributes:
        settle: how long before it, s; if None 0.5 s, or 600 samples if they are longer, for a trajectory that
            starts at rest, and 0 for another.
        repeat: how often.
        duration: when the run ends, s, at rest at the end of the path if that is over; with the path if None.
    """

    settle: float | None = None
    repeat: int = 1
    duration: float | None = None


@dataclass(frozen=True, eq=False)
class Desired:
    """The desired motion at N samples.

    Attributes:
        trajectory: the path in time.
        time: (N,), s; the path begins at 0.
        x: poses (N, nx).
        v: twists (N, n).
        a: their derivatives (N, n).
    """

    trajectory: Trajectory
    time: Array
    x: Array
    v: Array
    a: Array

    @property
    def rows(self) -> Array:
        """[x; v; a] (N, nx + 2 n)."""
        return np.hstack([self.x, self.v, self.a])

    @property
    def first(self) -> int:
        """The first sample of the path, after settling."""
        return int(np.searchsorted(self.time, -1e-12))


def desired_motion(robot: Robot, trajectory: Trajectory, period: float, course: Course) -> Desired:
    """The desired motion of a robot along a trajectory, at samples.

    Args:
        robot: the model.
        trajectory: of its motion.
        period: sample time, s.
        course: how long it settles, how often it is repeated, when it ends.

    Raises:
        KinematicsError: if the trajectory is for another motion, or cannot be repeated.
    """
    still = bool(np.max(np.abs(trajectory(0.0).v)) < _REST)
    usual = max(_SETTLE, _SETTLE_SAMPLES * period) if still else 0.0
    settle = usual if course.settle is None else course.settle
    if course.repeat < 1 or not (np.isfinite(settle) and settle >= 0.0):
        raise KinematicsError(
            f"a path is run through once or more often after a time that is not negative, got repeat="
            f"{course.repeat} and settle={settle:g} s"
        )
    if course.repeat > 1 or (settle > 0.0 and not still):
        reason = reason_not_periodic(trajectory)
        if reason:
            raise KinematicsError(
                f"a path that is repeated, or settled on in motion, ends as it starts; {reason}"
            )
    over = course.repeat * trajectory.duration
    length = over if course.duration is None else course.duration
    if not (np.isfinite(length) and length >= period):
        raise KinematicsError(f"a run lasts for a sample of {period:g} s or longer, got {length:g} s")
    require_memory(
        f"samples of {period:g} s",
        (length + settle) / period,
        8 * 12 * (robot.motion.n + len(robot.actuators)),
        "take a longer sample time or a shorter path",
    )
    time = period * np.arange(-round(settle / period), round(length / period))
    within = np.mod(time, trajectory.duration)
    if still:
        # At rest before the start and after the end, however often it is repeated.
        within = np.where(time < 0.0, time, np.where(time < over, within, trajectory.duration + time - over))
    at: Sample = along(robot, trajectory, within)
    return Desired(trajectory, time, at.x, at.v, at.a)
