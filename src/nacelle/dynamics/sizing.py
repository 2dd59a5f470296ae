"""Motor sizing: what a motion requires of each actuator, against its limits.

A trajectory x(t), v(t), dv/dt is sampled at t_1 .. t_N. Inverse dynamics gives the forces Gamma (N,
actuators), N or N m, and the kinematics the actuators' coordinates q and rates q' = J_r^-1 v (N, actuators).
Of each actuator follow, over the samples that could be solved,

    peak force   max |Gamma|                   peak speed   max |q'|
    rms force    sqrt(mean of Gamma^2)         power        P = Gamma q', W: max P drives, min P brakes

The rms force is what heats the windings, in proportion to Gamma^2. Forces are at the joint: inertia of the
rotor and friction of the joint are in them (`joint_effort`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nacelle.dynamics.inverse import inverse_dynamics
from nacelle.kinematics.motion import joint_motion
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.trajectory import Trajectory
from nacelle.trajectory.sampling import SampledMotion, counting_start, motion_samples, solved_mask


@dataclass(frozen=True)
class ActuatorLoad:
    """What one actuator has to do along a motion.

    Attributes:
        name: of the actuator.
        revolute: whether it is revolute (N m, rad, rad/s) or prismatic (N, m, m/s).
        peak_force: largest force or torque, absolute, max |Gamma|.
        rms_force: root of the mean of its square over time, sqrt(mean Gamma^2).
        peak_speed: largest speed, absolute, max |q'|.
        peak_power: largest mechanical power Gamma q', W; positive drives.
        lowest_power: smallest one, W; negative brakes.
        range: lowest and highest coordinate q.
        force_limit: limit of the drive, infinite if there is no limit.
        speed_limit: limit of the drive, infinite if there is no limit.
        position_limit: limits of the drive.
    """

    name: str
    revolute: bool
    peak_force: float
    rms_force: float
    peak_speed: float
    peak_power: float
    lowest_power: float
    range: tuple[float, float]
    force_limit: float
    speed_limit: float
    position_limit: tuple[float, float]

    @property
    def beyond(self) -> tuple[str, ...]:
        """Which of force, speed and position go beyond the limits."""
        low, high = self.position_limit
        checks = {
            "force": self.peak_force <= self.force_limit,
            "speed": self.peak_speed <= self.speed_limit,
            "position": low <= self.range[0] and self.range[1] <= high,
        }
        return tuple(name for name, fine in checks.items() if not fine)

    @property
    def within(self) -> bool:
        """Whether force, speed and position stay within the limits."""
        return not self.beyond


@dataclass(frozen=True, eq=False)
class Sizing(SampledMotion):
    """A motion and what it requires of the actuators.

    Attributes:
        q: coordinates of the actuators (N, actuators), rad or m.
        rate: their rates (N, actuators), rad/s or m/s.
        tau: their forces (N, actuators), N m or N.
        flags: for every sample what was found (`Flag`).
        loads: the figures of each actuator, over the samples that could be solved.
    """

    q: Array
    rate: Array
    tau: Array
    flags: Array
    loads: tuple[ActuatorLoad, ...]

    def __repr__(self) -> str:
        """Give robot, duration and the peak force of each actuator."""
        peaks = ", ".join(f"{load.name} {load.peak_force:.4g}" for load in self.loads)
        return f"<Sizing {self.robot.name}: {self.times[-1]:g} s, peak forces {peaks}>"


def size_motors(
    robot: Robot,
    trajectory: Trajectory,
    *,
    rate: float = 1000.0,
    friction: bool = True,
    external: Mapping[str, Any] | None = None,
    free: Sequence[str] | str = (),
) -> Sizing:
    """Find forces Gamma, speeds q' and powers Gamma q' of the actuators along a trajectory.

    Args:
        robot: the robot.
        trajectory: of its motion.
        rate: samples a second, Hz.
        friction: whether friction counts.
        external: wrenches on bodies or tools, (6,) or, one a sample, (N, 6), as in `inverse_dynamics`.
        free: coordinates whose accelerations are left to the dynamics, as in `inverse_dynamics`.

    Raises:
        KinematicsError: if the rate is not above zero, or names or shapes of wrenches are wrong.
        UnreachableError: if no pose of the trajectory is reached.
    """
    times, sample = motion_samples(robot, trajectory, rate)
    options: dict[str, Any] = {"external": external, "friction": friction, "free": free}
    counting_robot, guess = counting_start(robot, sample.x)
    dynamics = inverse_dynamics(counting_robot, sample.x, sample.v, sample.a, guess=guess, **options)
    motion = joint_motion(counting_robot, sample.x, sample.v, sample.a, guess=guess).as_path()
    q, speed, _ = motion.actuators
    good = solved_mask(robot, dynamics.flags)
    loads = []
    for k, actuator in enumerate(robot.actuators):
        f, s, p = dynamics.tau[good, k], speed[good, k], q[good, k]
        power = f * s
        loads.append(
            ActuatorLoad(
                actuator.name,
                robot.revolute_actuators[k],
                float(np.max(np.abs(f))),
                float(np.sqrt(np.mean(f**2))),
                float(np.max(np.abs(s))),
                # Adding 0 makes a negative zero, of a drive at rest, positive.
                float(np.max(power)) + 0.0,
                float(np.min(power)) + 0.0,
                (float(np.min(p)), float(np.max(p))),
                actuator.force,
                actuator.speed,
                actuator.position,
            )
        )
    return Sizing(robot, times, sample, q, speed, dynamics.tau, dynamics.flags, tuple(loads))
