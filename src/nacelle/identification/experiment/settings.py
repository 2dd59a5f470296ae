"""Options of a simulated experiment: the controller, effects outside the model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nacelle.errors import IdentificationError
from nacelle.model.robot import Robot
from nacelle.simulation.drives import Drives
from nacelle.simulation.sensors import Numbers, per_actuator

# Bandwidth of the filter of the derivative if nothing is said, over that of the loop.
_FILTER = 5.0


@dataclass(frozen=True)
class JointServo:
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
        """The rate of the derivative's filter, rad/s, at `rate` samples a second.

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

    def drives(self, robot: Robot) -> Drives:
        """Drives of the robot that moves, with cogging and lag; commands end where the controller has it.

        Raises:
            KinematicsError: if numbers do not fit the robot.
        """
        amplitudes = per_actuator(robot, "amplitude of cogging", self.cogging)
        cycles = np.where(robot.revolute_actuators, 40.0, 2.0 * math.pi / 0.024)
        if self.cycles is not None:
            cycles = per_actuator(robot, "number of cycles", self.cycles)
        phases = per_actuator(robot, "phase", self.phase, least=-math.inf)
        return Drives(lag=self.lag, limits=None, cogging=np.column_stack([amplitudes, cycles, phases]))
