"""Options of a rehearsal: the controller, what its sensors read, effects outside the model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# What an encoder counts if nothing is said: a part of a turn of the motor, rad; at linear motors, m.
_COUNT, _LINEAR_COUNT = 2.0 * math.pi / 2**17, 1e-6
# Noise of the measured force if nothing is said, over the root of the mean square of the feedforward.
FORCE_NOISE = 0.01
# Bandwidth of the filter of the derivative if nothing is said, over that of the loop.
_FILTER = 5.0

Numbers = float | Sequence[float]


@dataclass(frozen=True)
class Controller:
    """Feedback of the actuators' errors at a fixed rate, and feedforward of the model along the reference.

    With e the error of the actuators' coordinates, w = 2 pi bandwidth and M_a the mass matrix of the model as
    the actuators feel it, J^+T M J^+ (J^+ the left inverse of the actuators' Jacobian), the forces are

        u = feedforward + M_a (w^2 e + 2 damping w e')

    so that errors of all directions decay alike, and the drives of a redundant robot do not work against
    one another.

    Attributes:
        bandwidth: of the loop, Hz.
        damping: ratio of its poles.
        filter: bandwidth of the derivative e' of the error, Hz; five times that of the loop if None.
        feedforward: whether forces of the model along the reference are added.
        limits: whether commands end at the force limits of the actuators.
    """

    bandwidth: float = 10.0
    damping: float = 1.0
    filter: float | None = None
    feedforward: bool = True
    limits: bool = True

    def filter_rate(self, rate: float) -> float:
        """The rate of the derivative's filter, rad/s, at so many samples a second.

        Raises:
            IdentificationError: if the controller cannot be realised at that rate.
        """
        if not (self.bandwidth > 0.0 and self.damping > 0.0):
            raise IdentificationError(
                f"bandwidth and damping of the controller are above zero, got {self.bandwidth:g} Hz and "
                f"{self.damping:g}"
            )
        # The loop has the delay of half a sample and of its filter: an eighth of a turn at ten samples.
        if self.bandwidth > rate / 20.0:
            raise IdentificationError(
                f"a bandwidth of {self.bandwidth:g} Hz is too high for {rate:g} samples a second: at most "
                f"{rate / 20.0:g} Hz"
            )
        if self.filter is None:
            return min(2.0 * math.pi * _FILTER * self.bandwidth, 0.8 * rate)
        if not 0.0 < 2.0 * math.pi * self.filter <= rate:
            raise IdentificationError(
                f"the filter of the derivative is above 0 Hz and at most {rate / (2 * math.pi):g} Hz at "
                f"{rate:g} samples a second, got {self.filter:g} Hz"
            )
        return 2.0 * math.pi * self.filter


@dataclass(frozen=True)
class Sensors:
    """What encoders and current sensors read; one number for all actuators, or one for each.

    Attributes:
        resolution: of the encoders at the joint, rad or m, 0 for none; that of 17 bits a turn of the motor
            behind its gear, and 1 um at a prismatic joint without a gear, if None. Readings are multiples of
            it.
        position_noise: standard deviation before that, rad or m.
        force_noise: standard deviation of the measured force, N or N m; 1 % of the root of the mean square of
            the model's forces if None.
    """

    resolution: Numbers | None = None
    position_noise: Numbers = 0.0
    force_noise: Numbers | None = None

    @staticmethod
    def ideal() -> Sensors:
        """Sensors without noise and steps."""
        return Sensors(resolution=0.0, position_noise=0.0, force_noise=0.0)

    def resolutions(self, robot: Robot) -> Array:
        """Resolution of each encoder (actuators,), rad or m."""
        if self.resolution is None:
            joints = [robot.joints[actuator.joint] for actuator in robot.actuators]
            return np.array(
                [
                    _LINEAR_COUNT
                    if joint.gear_ratio == 1.0 and not is_revolute
                    else _COUNT / abs(joint.gear_ratio)
                    for joint, is_revolute in zip(joints, revolute(robot), strict=True)
                ]
            )
        return per_actuator(robot, "resolution", self.resolution)


@dataclass(frozen=True)
class Effects:
    """What the robot does and its model does not know; nothing if not given.

    Attributes:
        cogging: amplitude A of the force A sin(cycles q + phase) of each drive, N or N m at the joint.
        cycles: its cycles, rad per rad or rad per m of the joint's coordinate; 40 and 2 pi / 24 mm if None.
        phase: rad.
        stribeck: part of each Coulomb friction that is added at rest, exp(-(rate / stribeck_rate)^2) times.
        stribeck_rate: rad/s or m/s.
        lag: time constant of the current loops, s: the motor's force follows the command with it.
    """

    cogging: Numbers = 0.0
    cycles: Numbers | None = None
    phase: Numbers = 0.0
    stribeck: float = 0.0
    stribeck_rate: float = 0.02
    lag: float = 0.0

    def cogging_terms(self, robot: Robot) -> tuple[tuple[float, float, float], ...]:
        """Amplitude, cycles and phase of each actuator; none if there is no cogging."""
        amplitudes = per_actuator(robot, "cogging", self.cogging)
        if not np.any(amplitudes):
            return ()
        cycles = [40.0 if is_revolute else 2.0 * math.pi / 0.024 for is_revolute in revolute(robot)]
        if self.cycles is not None:
            cycles = per_actuator(robot, "cycles", self.cycles).tolist()
        phases = _numbers(robot, "phase", self.phase).tolist()
        return tuple(zip(amplitudes.tolist(), cycles, phases, strict=True))


def revolute(robot: Robot) -> list[bool]:
    """For each actuator whether its joint is revolute; else it is prismatic."""
    return [robot.joints[actuator.joint].primitives[0].is_rotation for actuator in robot.actuators]


def per_actuator(robot: Robot, what: str, given: Numbers) -> Array:
    """One number that is not negative for each actuator (actuators,).

    Raises:
        IdentificationError: if there are not as many, or one cannot be used.
    """
    values = _numbers(robot, what, given)
    if not np.all(values >= 0.0):
        name = robot.actuators[int(np.argmin(values >= 0.0))].name
        raise IdentificationError(
            f"{what} of {name} is a number that is not negative, got {np.min(values):g}"
        )
    return values


def _numbers(robot: Robot, what: str, given: Numbers) -> Array:
    count = len(robot.actuators)
    values = np.asarray(given, dtype=float)
    if values.shape not in ((), (count,)):
        names = ", ".join(actuator.name for actuator in robot.actuators)
        raise IdentificationError(
            f"{what} is one number, or one for each of the {count} actuators ({names}), got {given!r}"
        )
    return np.broadcast_to(values, (count,)).copy()
