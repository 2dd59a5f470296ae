"""The desired motion of a closed loop at its samples, and whether it can be followed.

Samples are at t_k = t_0 + k T, t_0 = -settle. Before t = 0 a trajectory that starts at rest rests at its
start; another one is run through backwards in time, which takes one that ends as it starts.

What is looked at before a closed loop runs. Errors: poses out of reach, beyond limits, singular; gravity that
the drives cannot hold. Notes: where forces and speeds that the path requires are beyond the drives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nacelle.capacity import require_memory
from nacelle.dynamics.equilibrium import equilibrium
from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.errors import KinematicsError, SingularError, UnreachableError
from nacelle.kinematics.flags import Flag, describe_flags, has_failed
from nacelle.kinematics.kinematic_model import inverse_jacobian
from nacelle.kinematics.limits import has_limit, is_beyond_limits
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.solve.inverse import InverseKinematics, inverse_kinematics
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import Sample, Trajectory, reason_not_periodic
from nacelle.trajectory.sampling import counting_start, sample_trajectory

# Twists below this are rest, m/s and rad/s.
_REST_TWIST = 1e-9
# How long a loop settles at rest before a path if nothing is said, s, and in samples, whichever is longer:
# integrals of controllers at their usual bandwidth decay within 100 samples.
_SETTLE_TIME, _SETTLE_SAMPLES = 0.5, 600


@dataclass(frozen=True)
class Schedule:
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
class DesiredSamples:
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


def desired_motion(robot: Robot, trajectory: Trajectory, period: float, schedule: Schedule) -> DesiredSamples:
    """The desired motion of a robot along a trajectory, at samples.

    Args:
        robot: the model.
        trajectory: of its motion.
        period: sample time, s.
        schedule: how long it settles, how often it is repeated, when it ends.

    Raises:
        KinematicsError: if the trajectory is for another motion, or cannot be repeated.
    """
    still = bool(np.max(np.abs(trajectory(0.0).v)) < _REST_TWIST)
    usual = max(_SETTLE_TIME, _SETTLE_SAMPLES * period) if still else 0.0
    settle = usual if schedule.settle is None else schedule.settle
    if schedule.repeat < 1 or not (np.isfinite(settle) and settle >= 0.0):
        raise KinematicsError(
            f"a path is run through once or more often after a time that is not negative, got repeat="
            f"{schedule.repeat} and settle={settle:g} s"
        )
    if schedule.repeat > 1 or (settle > 0.0 and not still):
        reason = reason_not_periodic(trajectory)
        if reason:
            raise KinematicsError(
                f"a path that is repeated, or settled on in motion, ends as it starts; {reason}"
            )
    over = schedule.repeat * trajectory.duration
    length = over if schedule.duration is None else schedule.duration
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
    at: Sample = sample_trajectory(robot, trajectory, within)
    return DesiredSamples(trajectory, time, at.x, at.v, at.a)


# ---- what is looked at before a closed loop runs: whether the path can be followed at all


# Poses of the path at which gravity is held against the limits.
_POSES = 200


class PathRequirement(NamedTuple):
    """What a path requires of the actuators, by a model.

    Attributes:
        q: their coordinates (N, actuators), rad or m; angles without jumps.
        rate: their rates (N, actuators), rad/s or m/s.
        tau: their forces (N, actuators), N or N m.
    """

    q: Array
    rate: Array
    tau: Array


def actuator_requirements(robot: Robot, desired: DesiredSamples, smooth: float | None) -> PathRequirement:
    """What the desired motion requires of the actuators of a robot.

    Args:
        robot: the robot.
        desired: the motion.
        smooth: rate over which friction changes its sign, rad/s or m/s.

    Raises:
        UnreachableError: if a pose is out of reach or beyond limits; time, leg or joint are in its words.
        SingularError: if a pose is singular.
    """
    robot, guess = counting_start(robot, desired.x)
    joints = joints_along_path(robot, desired, guess)
    dynamics = inverse_dynamics(robot, desired.x, desired.v, desired.a, smooth=smooth, guess=joints)
    bad = has_failed(dynamics.flags)
    if np.any(bad):
        k = int(np.argmax(bad))
        message = f"at {desired.time[k]:.4g} s the path is at a singularity of {robot.name}"
        raise SingularError(message, "parallel")
    J = compile_native(inverse_jacobian, robot)(desired.x, joints.y)["J"]
    rate = np.einsum("kij,kj->ki", J, desired.v)
    return PathRequirement(joints.q, rate, dynamics.tau)


def joints_along_path(robot: Robot, desired: DesiredSamples, guess: Any = None) -> InverseKinematics:
    """All joints of a robot along the desired motion, from solutions near by if they are given.

    Raises:
        UnreachableError: if a pose is out of reach or beyond limits; time, leg or joint are in its words.
    """
    joints = inverse_kinematics(robot, desired.x, guess=guess).as_path()
    if not np.all(joints.ok):
        k = int(np.argmin(joints.ok))
        raise UnreachableError(
            f"at {desired.time[k]:.4g} s {robot.name} cannot follow the path: "
            f"{_unreachable_message(joints, k)}"
        )
    return joints


def _unreachable_message(joints: InverseKinematics, k: int) -> str:
    """A message that says why the pose of a sample cannot be taken."""
    robot, flags = joints.robot, int(joints.flags[k])
    message = describe_flags(flags)
    if flags & int(Flag.UNREACHABLE):
        short = [
            leg.name for leg, margin in zip(robot.legs, joints.margins[k], strict=False) if not margin >= 0.0
        ]
        return message + (f" ({', '.join(short)})" if short else "")
    if flags & int(Flag.OUT_OF_LIMITS):
        return f"{message} ({'; '.join(_limit_messages(joints, k))})"
    return message


def _limit_messages(joints: InverseKinematics, k: int) -> list[str]:
    """A message for each actuator and joint beyond its limits at a sample."""
    robot = joints.robot
    lines = []
    for i, actuator in enumerate(robot.actuators):
        low, high = actuator.position
        value, unit = joints.q[k, i], _coordinate_unit(robot, i)
        if not low <= value <= high:
            lines.append(f"{actuator.name} is at {value:.4g} {unit}, its limits are {low:.4g} and {high:.4g}")
    driven = {actuator.joint for actuator in robot.actuators}
    for j, joint in enumerate(robot.joints):
        if (
            j not in driven
            and has_limit(joint)
            and bool(is_beyond_limits(joint, joints.joint(joint.name)[k]))
        ):
            lines.append(f"joint {joint.name} is beyond its limits")
    return lines


def _coordinate_unit(robot: Robot, i: int) -> str:
    return "rad" if robot.revolute_actuators[i] else "m"


def _force_unit(robot: Robot, i: int) -> str:
    return "N m" if robot.revolute_actuators[i] else "N"


def check_gravity(
    robot: Robot, desired: DesiredSamples, limits: Array, external: Mapping[str, Any] | None
) -> None:
    """Refuse a path on which the drives cannot hold the robot at rest.

    Args:
        robot: the robot that moves, with its payload.
        desired: the motion.
        limits: largest forces (actuators,), N or N m.
        external: wrenches on it, as in `inverse_dynamics`, or None.

    Raises:
        KinematicsError: with actuator, force, limit and time.
    """
    picked = np.unique(np.linspace(0, len(desired.x) - 1, min(_POSES, len(desired.x))).round().astype(int))
    force = np.abs(equilibrium(robot, desired.x[picked], external=external))
    over = np.where(np.isfinite(force), force / limits, 0.0)
    k, i = np.unravel_index(int(np.argmax(over)), over.shape)
    if over[k, i] > 1.0:
        unit = _force_unit(robot, int(i))
        raise KinematicsError(
            f"{robot.actuators[i].name} of {robot.name} cannot hold the robot at rest on the path: at "
            f"{desired.time[picked[k]]:.4g} s that takes {force[k, i]:.4g} {unit}, and its limit is "
            f"{limits[i]:.4g} {unit}; take a lighter payload, another path or stronger drives"
        )


def drive_limit_notes(robot: Robot, time: Array, required: PathRequirement, limits: Array) -> list[str]:
    """A line for each actuator that says where the path requires more force or speed than the drive has.

    Args:
        robot: the robot.
        time: of the samples (N,), s.
        required: what the path requires there.
        limits: largest forces (actuators,).
    """
    lines = []
    rate = np.abs(required.rate)
    for i, actuator in enumerate(robot.actuators):
        size, unit = np.abs(required.tau[:, i]), _force_unit(robot, i)
        k = int(np.argmax(size))
        if size[k] > limits[i]:
            share = float(np.mean(size > limits[i]))
            lines.append(
                f"the path requires {size[k]:.4g} {unit} of {actuator.name} at {time[k]:.4g} s, its "
                f"limit is {limits[i]:.4g} {unit}: its drive saturates, for about {100.0 * share:.3g} % of "
                "the time"
            )
        k = int(np.argmax(rate[:, i]))
        if rate[k, i] > actuator.speed:
            lines.append(
                f"the path requires {rate[k, i]:.4g} {_coordinate_unit(robot, i)}/s of {actuator.name} at "
                f"{time[k]:.4g} s, its limit is {actuator.speed:.4g} {_coordinate_unit(robot, i)}/s: "
                "the controller "
                "stops there"
            )
    return lines
