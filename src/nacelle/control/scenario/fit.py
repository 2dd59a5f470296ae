"""Paths that fit a robot: where the middle of its workspace is, how large and how fast a path may be.

A pose can be used if it is within reach and all limits, without any flag, and if the drives hold the robot
there against gravity with part of their forces. Sizes are parts of the largest one for which all poses of the
path can be used; the time is the shortest one for which forces and speeds stay within parts of the limits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nacelle.dynamics.equilibrium import equilibrium
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.errors import KinematicsError
from nacelle.kinematics.along import along
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.native import native
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.trajectory.base import Trajectory, sample_about
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# Parts of the largest size, and of the limits of force and speed, that a path takes.
_SIZE, _FORCE, _SPEED = 0.5, 0.5, 0.6
# Part of a limit that holding the robot may take.
_HOLD = 0.7
# The largest acceleration of the tool, m/s^2, and of angles, rad/s^2.
_ACCELERATION = 10.0
_STEPS = 24
# Times of one turn or one way that are tried, s.
_TIMES = np.geomspace(0.25, 60.0, 56)


def usable_poses(robot: Robot, x: Array) -> Array:
    """Which poses (N, nx) can be used."""
    joints = inverse_kinematics(robot, x)
    good = np.asarray(joints.ok & (joints.flags == 0))
    if np.any(good):
        limits = np.array([actuator.force for actuator in robot.actuators])
        force = np.abs(equilibrium(robot, x[good]))
        good[good] = np.all(force <= _HOLD * limits, axis=-1)
    return good


def offset(robot: Robot, x: Array, steps: Array) -> Array:
    """Poses (N, nx) at steps (N, n) of the coordinates from a pose (nx,), m and rad, rotations as vectors."""
    still = np.zeros_like(steps)
    return sample_about(layout_of(robot.motion), x, (steps, still, still)).x


def workspace_middle(robot: Robot) -> Array:
    """The middle of the workspace (nx,): of the chords along all translations through the reference pose.

    In directions without an end it is that of the reference pose.
    """
    x, layout = reference_pose(robot), layout_of(robot.motion)
    for _ in range(3):
        for k, name in enumerate(robot.motion.coordinates):
            if name not in ("x", "y", "z"):
                continue
            ways = []
            for sign in (1.0, -1.0):
                steps = np.zeros((101, layout.n))
                steps[:, k] = sign * robot.size / 50.0 * np.arange(101)
                good = usable_poses(robot, offset(robot, x, steps))
                ways.append(float(np.argmin(good)) - 1.0 if not good.all() else np.inf)
            if np.isfinite(ways).all():
                shift = np.zeros((1, layout.n))
                shift[0, k] = 0.5 * (ways[0] - ways[1]) * robot.size / 50.0
                x = offset(robot, x, shift)[0]
    return np.asarray(x)


def fitting_size(robot: Robot, poses: Callable[[float], Array], most: float, what: str) -> float:
    """A size of a path that fits: half of the largest for which all its poses can be used.

    Args:
        robot: the robot.
        poses: of the path (N, nx), by its size.
        most: a size that is large enough.
        what: the path in words.

    Raises:
        KinematicsError: if no size fits.
    """
    best = 0.0
    top = most
    for _ in range(4):
        sizes = top * np.arange(1, _STEPS + 1) / _STEPS
        for size in sizes:
            if not np.all(usable_poses(robot, poses(float(size)))):
                break
            best = float(size)
        if best:
            return _SIZE * best
        # Smaller than the first step: look closer.
        top = float(sizes[0])
    raise KinematicsError(
        f"no {what} about this pose fits {robot.name}: the pose is out of reach, at a limit, near a "
        "singularity, or cannot be held by the drives; give another centre"
    )


def fitting_time(robot: Robot, path: Callable[[float], Trajectory], what: str) -> float:
    """The shortest time (s) of a path, among some, in which forces and speeds are parts of their limits.

    Args:
        robot: the robot.
        path: the trajectory, by the time of one turn or one way.
        what: the path in words.

    Raises:
        KinematicsError: if there is none.
    """
    limits = np.array([actuator.force for actuator in robot.actuators])
    speeds = np.array([actuator.speed for actuator in robot.actuators])
    for time in _TIMES:
        trajectory = path(float(time))
        # A little inside, where accelerations jump at the ends.
        t = np.linspace(0.0, trajectory.duration, 202)[1:-1]
        x, v, a = along(robot, trajectory, t)
        joints = inverse_kinematics(robot, x)
        J = native(inverse_jacobian, robot)(x, joints.y)["J"]
        rate = np.abs(np.einsum("kij,kj->ki", J, v))
        force = np.abs(inverse_dynamics(robot, x, v, a, guess=joints).force)
        hold = np.abs(equilibrium(robot, x))
        # Of what is left beside holding the robot.
        within = np.all(force - hold <= _FORCE * (limits - hold)) and np.all(rate <= _SPEED * speeds)
        if within and np.max(np.abs(a)) <= _ACCELERATION:
            return float(time)
    raise KinematicsError(
        f"{robot.name} cannot run this {what} within its limits, however slowly: give size and speed"
    )
