"""What a measurement has that encoder zeros do not change: forces, rates, and friction of the drives.

Friction of an actuator is a sum of functions of its own rate w, in parts of its rms: constant, viscous, dry,
of the powers two and three, even, and dry friction that falls with the rate over 0.1 and 0.3 (Stribeck):

    1,  w,  sign w,  |w|,  w |w|,  w^3,  sign w exp(-(w / 0.1)^2),  sign w exp(-(w / 0.3)^2)

Cogging is a sine and a cosine of the coordinate; a shift of the coordinate leaves what both span. All pass
the filter that the forces have passed.
"""

from __future__ import annotations

import numpy as np

from nacelle.identification.data.checks.correction import Correction
from nacelle.identification.data.checks.judge import SLOW, Judge, rms_of
from nacelle.identification.data.checks.smoothing import Smoothed
from nacelle.identification.data.checks.zero_friction import JointFriction
from nacelle.kinematics.forward.actuator_path import actuator_scales
from nacelle.spatial.scalar import Array

# Cycles of cogging over the range of a coordinate.
CYCLES = np.arange(3.0, 60.0, 0.25)


class ZeroRecord:
    """Signals of a measurement at its instants, and columns of friction.

    Attributes:
        robot: the robot.
        base: its base parameters.
        q: coordinates of the actuators as read (M, actuators), rad or m.
        rate: their rates.
        acceleration: derivatives of the rates.
        force: of the actuators (M, actuators), N or N m.
        rms: of the forces (actuators,).
        fast: where an actuator moves fast enough for its friction to be determined (M, actuators).
        friction: of each actuator the columns of its friction (M, 8).
        waves: of each actuator sines of its coordinate, then cosines (M, 2 cycles).
        units: what a shift of 1 is (actuators,): rad, or the robot's size.
        joints: friction of the joints.
    """

    def __init__(self, judge: Judge, signals: Smoothed, correction: Correction) -> None:
        """Take the corrected signals."""
        self.robot, self.base = judge.robot, judge.base
        m = len(self.robot.actuators)
        value = correction.apply(signals.value)
        self.q, self.force = value[:, :m], value[:, m:]
        self.rate = correction.apply(signals.rate, 1)[:, :m]
        self.acceleration = correction.apply(signals.acceleration, 2)[:, :m]
        self.rms = rms_of(self.force)
        self.fast = np.abs(self.rate) >= SLOW * np.sqrt(np.mean(self.rate**2, axis=0))
        rates = correction.apply(signals.all_rates, 1)[:, :m]
        coordinates = correction.apply(signals.all_values)[:, :m]
        self.friction = [signals.passed(_friction_columns(rate)) for rate in rates.T]
        self.waves = [signals.passed(_waves(q)) for q in coordinates.T]
        self.units = actuator_scales(self.robot)
        self.joints = JointFriction(judge, signals, correction)


def _friction_columns(rate: Array) -> Array:
    """Friction's functions (N, 8) from the rates of an actuator (N,)."""
    w = rate / (np.sqrt(np.mean(rate**2)) + 1e-300)
    dry, even = np.sign(w), np.abs(w)
    falling = [dry * np.exp(-((w / scale) ** 2)) for scale in (0.1, 0.3)]
    return np.stack([np.ones_like(w), w, dry, even, w * even, w**3, *falling], axis=1)


def _waves(q: Array) -> Array:
    """Sines and cosines (N, 2 cycles) of a coordinate (N,)."""
    angle = np.outer(q / (np.ptp(q) + 1e-300), 2.0 * np.pi * CYCLES)
    return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
