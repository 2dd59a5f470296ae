"""Paths that fit a robot: where the middle of its workspace is, how large and how fast a path may be.

A pose can be used if it is within reach and all limits, without any flag, and if the drives hold the robot
there against gravity with part of their forces. Sizes are parts of the largest one for which all poses of the
path can be used; the time is the shortest one for which forces and speeds stay within parts of the limits.

Round and round in any two coordinates, or back and forth in one.

    c = e_1 cos phi + e_2 sin phi,      phi = 2 pi turns s(t)

about a pose, e_1 and e_2 (n,) in the coordinates of the motion, m and rad (rotations as rotation vectors in
base axes), s a timing law. For robots whose platform has no two translations; others take `Circle`.

A path that fits any robot: once round in the first two coordinates about the reference pose.

Translations are taken before rotations. The radius is a part of the robot's size, or an angle, halved until
all poses are within reach and limits; the timing is that of a polynomial of the fifth degree, rest to rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nacelle.dynamics.equilibrium import equilibrium
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.errors import KinematicsError
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import is_angle, reference_pose
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.model.platform import Motion
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Sample, Trajectory, sample_about_pose
from nacelle.trajectory.sampling import sample_trajectory
from nacelle.trajectory.timing import Quintic, Timing


class Ellipse(Trajectory):
    """An ellipse in two coordinates about a pose; with e_2 = 0 a swing in one.

    Args:
        center: reduced pose (nx,).
        axes: e_1 and e_2 (2, n), m and rad.
        motion: motion type of the platform.
        turns: how often.
        timing: the law s(t).
    """

    def __init__(self, center: Array, axes: Array, *, motion: Motion, turns: float, timing: Timing) -> None:
        self._center, self._axes, self._law = np.asarray(center), np.asarray(axes), timing
        self._angle = 2.0 * math.pi * turns
        turning = np.linspace(0.0, timing.duration, max(2, math.ceil(4 * turns) + 1))
        super().__init__(motion, timing.duration, np.unique(np.concatenate([timing.knots, turning])))

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        s, ds, dds = (part[:, None] for part in self._law.inside(t))
        angle, rate, change = self._angle * s, self._angle * ds, self._angle * dds
        first, second = self._axes
        outward = np.cos(angle) * first + np.sin(angle) * second
        along = np.cos(angle) * second - np.sin(angle) * first
        return sample_about_pose(
            self.layout, self._center, outward, rate * along, change * along - rate * rate * outward
        )


# ---- paths that fit a robot


# Parts of the largest size, and of the limits of force and speed, that a path takes.
_SIZE_FRACTION, _FORCE_FRACTION, _SPEED_FRACTION = 0.5, 0.5, 0.6
# Part of a limit that holding the robot may take.
_HOLDING_FRACTION = 0.7
# The largest acceleration of the tool, m/s^2, and of angles, rad/s^2.
_ACCELERATION = 10.0
_STEPS = 24
# Times of one turn or one way that are tried, s.
_TIMES = np.geomspace(0.25, 60.0, 56)


def usable_pose_mask(robot: Robot, x: Array) -> Array:
    """Which poses (N, nx) can be used."""
    joints = inverse_kinematics(robot, x)
    good = np.asarray(joints.ok & (joints.flags == 0))
    if np.any(good):
        limits = np.array([actuator.force for actuator in robot.actuators])
        force = np.abs(equilibrium(robot, x[good]))
        good[good] = np.all(force <= _HOLDING_FRACTION * limits, axis=-1)
    return good


def offset_poses(robot: Robot, x: Array, steps: Array) -> Array:
    """Poses (N, nx) at steps (N, n) of the coordinates from a pose (nx,), m and rad, rotations as vectors."""
    still = np.zeros_like(steps)
    return sample_about_pose(layout_of(robot.motion), x, steps, still, still).x


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
                good = usable_pose_mask(robot, offset_poses(robot, x, steps))
                ways.append(float(np.argmin(good)) - 1.0 if not good.all() else np.inf)
            if np.isfinite(ways).all():
                shift = np.zeros((1, layout.n))
                shift[0, k] = 0.5 * (ways[0] - ways[1]) * robot.size / 50.0
                x = offset_poses(robot, x, shift)[0]
    return np.asarray(x)


def fitting_size(robot: Robot, poses: Callable[[float], Array], most: float, what: str) -> float:
    """A size of a path that fits: half of the largest for which all its poses can be used.

    Args:
        robot: the robot.
        poses: of the path (N, nx), by its size.
        most: a size that is large enough.
        what: label of the path for the message.

    Raises:
        KinematicsError: if no size fits.
    """
    best = 0.0
    top = most
    for _ in range(4):
        sizes = top * np.arange(1, _STEPS + 1) / _STEPS
        for size in sizes:
            if not np.all(usable_pose_mask(robot, poses(float(size)))):
                break
            best = float(size)
        if best:
            return _SIZE_FRACTION * best
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
        what: label of the path for the message.

    Raises:
        KinematicsError: if no time fits.
    """
    limits = np.array([actuator.force for actuator in robot.actuators])
    speeds = np.array([actuator.speed for actuator in robot.actuators])
    for time in _TIMES:
        trajectory = path(float(time))
        # A little inside, where accelerations jump at the ends.
        t = np.linspace(0.0, trajectory.duration, 202)[1:-1]
        x, v, a = sample_trajectory(robot, trajectory, t)
        joints = inverse_kinematics(robot, x)
        J = compile_native(inverse_jacobian, robot)(x, joints.y)["J"]
        rate = np.abs(np.einsum("kij,kj->ki", J, v))
        force = np.abs(inverse_dynamics(robot, x, v, a, guess=joints).tau)
        hold = np.abs(equilibrium(robot, x))
        # Of what is left after holding the robot.
        within = np.all(force - hold <= _FORCE_FRACTION * (limits - hold)) and np.all(
            rate <= _SPEED_FRACTION * speeds
        )
        if within and np.max(np.abs(a)) <= _ACCELERATION:
            return float(time)
    raise KinematicsError(
        f"{robot.name} cannot run this {what} within its limits, however slowly: give size and speed"
    )


# ---- A path that fits any robot


# Radius over the robot's size, and of angles, rad.
_RADIUS, _ANGLE = 0.04, 0.06
_TRIES = 6


def round_path(robot: Robot, duration: float = 0.5) -> Trajectory:
    """Once round about the reference pose.

    Args:
        robot: the robot.
        duration: s.

    Raises:
        KinematicsError: if not even a small circle is within reach.
    """
    coordinates = list(robot.motion.coordinates)
    axes = np.zeros((2, robot.motion.n))
    for axis, name in zip(axes, sorted(coordinates, key=lambda name: is_angle(robot, name)), strict=False):
        axis[coordinates.index(name)] = _ANGLE if is_angle(robot, name) else _RADIUS * robot.size
    for _ in range(_TRIES):
        path = Ellipse(reference_pose(robot), axes, motion=robot.motion, turns=1.0, timing=Quintic(duration))
        if np.all(usable_pose_mask(robot, sample_trajectory(robot, path, np.linspace(0.0, duration, 41)).x)):
            return path
        axes = 0.5 * axes
    raise KinematicsError(
        f"no circle about the reference pose of {robot.name} is within its reach and limits"
    )
