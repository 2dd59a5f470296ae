"""Signals of a sample: readings that are missing, errors of angles, rates of errors, limits of forces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array, Scalar, absolute, floor, maximum, minimum, pack, where

# No coordinate of an actuator is beyond this, rad or m: NaN and infinities are not below it.
_FINITE = 1e9
# The largest force where there is no limit, N or N m.
UNLIMITED = 1e30
# Samples in a row without readings after which a controller stops.
PATIENCE = 10.0


FINE, BRIDGED, STOPPED, DESIRED_REFUSED, MEASURED_REFUSED = 0, 1, 2, 3, 4
"""Status of a sample: all is well; readings are missing and bridged; stopped, now as they were missing for
too long, or before; stopped now, by a desired motion or by a measured state that is not admissible."""


class StopReason(IntEnum):
    """Why a controller has stopped: the part "stopped" of its memory."""

    RUNNING = 0
    NOT_STARTED = 1
    READINGS_MISSING = 2
    DESIRED_NOT_FINITE = 3
    DESIRED_OUT_OF_REACH = 4
    DESIRED_SINGULAR = 5
    DESIRED_BEYOND_LIMITS = 6
    DESIRED_TOO_FAST = 7
    FORCE_NOT_FINITE = 8
    MEASURED_OUT_OF_REACH = 9
    MEASURED_SINGULAR = 10
    MEASURED_BEYOND_LIMITS = 11
    MEASURED_TOO_FAST = 12
    MEASURED_TOO_FAR = 13

    @property
    def status(self) -> int:
        """What the sample that stops returns."""
        if self <= StopReason.READINGS_MISSING:
            return STOPPED if self else FINE
        return DESIRED_REFUSED if self <= StopReason.FORCE_NOT_FINITE else MEASURED_REFUSED

    @property
    def text(self) -> str:
        """A phrase that says why."""
        return _REASON_TEXTS[self]


_REASON_TEXTS = (
    "not stopped",
    "not started: the pose of the reset is not reached",
    "readings were missing for too many samples in a row",
    "the desired motion is not finite, or its quaternion not of unit length",
    "the desired pose is out of reach, or its loops are open or on another branch",
    "the desired pose is at, or beyond, a parallel singularity",
    "the desired pose is beyond limits of joints",
    "the desired motion is faster than the drives, or jumps",
    "a force along the desired motion is not finite",
    "the measured pose is out of reach, or its loops are open or on another branch",
    "the measured pose is at, or beyond, a parallel singularity",
    "the measured pose is beyond limits of joints",
    "the readings are faster than the drives, or jump",
    "the readings are too far from the desired motion",
)


def presence_sign(value: Scalar) -> Scalar:
    """1 where a reading is a number that can be, -1 where it is NaN, infinite or out of all measure."""
    return where(_FINITE - absolute(value), 1.0, -1.0)


def coordinate_difference(robot: Robot, a: Array, b: Array) -> Array:
    """Differences a - b of the actuators' coordinates (actuators,), of angles within half a turn."""
    pairs = zip(a, b, robot.revolute_actuators, strict=True)
    return pack([wrap_angle(first - second) if angle else first - second for first, second, angle in pairs])


def wrap_angle(angle: Scalar) -> Scalar:
    """An angle within half a turn, rad."""
    full_turn = 2.0 * math.pi
    return angle - full_turn * floor(angle / full_turn + 0.5)


def bridge_missing_readings(
    error: Array, q: Array, z: dict[str, Array], k: dict[str, Array]
) -> tuple[Array, Array, Array]:
    """Errors of a sample: where a reading is missing the last error goes on at its last rate.

    After `patience` samples in a row without all readings the controller stops, and stays so.

    Args:
        error: desired less measured coordinates (actuators,).
        q: the readings (actuators,).
        z: memory with parts error, rate, missed and stopped.
        k: gains with parts period and patience.

    Returns:
        The errors (actuators,), rad or m, and what `waited` gives.
    """
    arrived = [presence_sign(value) for value in q]
    T = k["period"][0]
    guessed = [last + T * rate for last, rate in zip(z["error"], z["rate"], strict=True)]
    used = [where(ok, measured, guess) for ok, measured, guess in zip(arrived, error, guessed, strict=True)]
    return pack(used), *count_missed(arrived, z, k)


def smallest_sign(signs: Sequence[Scalar]) -> Scalar:
    """The smallest of some signs of `present`: 1 if all are."""
    worst = signs[0]
    for sign in signs[1:]:
        worst = minimum(worst, sign)
    return worst


def count_missed(arrived: Sequence[Scalar], z: dict[str, Array], k: dict[str, Array]) -> tuple[Array, Array]:
    """Samples in a row without all readings (1,), and whether there were too many, now or before (1,)."""
    missed = where(smallest_sign(arrived), 0.0, z["missed"][0] + 1.0)
    too_many = where(missed - k["patience"][0], float(StopReason.READINGS_MISSING), 0.0)
    stopped = maximum(z["stopped"][0], too_many)
    return pack([missed]), pack([stopped])


def error_rate(error: Array, z: dict[str, Array], k: dict[str, Array]) -> Array:
    """Rates of errors (actuators,), by differences through a filter of first order; zero at the first sample.

    rate+ = rate + smoothing ((e - e_last) / T - rate), smoothing = 1 - exp(-T w) at the filter's w rad/s.

    Args:
        error: of this sample (actuators,).
        z: memory with parts error, rate and started.
        k: gains with parts period and smoothing.
    """
    share, T = k["smoothing"][0], k["period"][0]
    rates = [
        rate + share * ((value - last) / T - rate)
        for value, last, rate in zip(error, z["error"], z["rate"], strict=True)
    ]
    return pack([where(z["started"][0], rate, 0.0) for rate in rates])


def limit_forces(force: Array, most: Array) -> Array:
    """Forces (actuators,) within the limits of the drives."""
    return pack([maximum(minimum(f, m), -m) for f, m in zip(force, most, strict=True)])


def halt_forces(stopped: Scalar, force: Array) -> Array:
    """Forces (actuators,), N or N m, zero once the controller has stopped: drives off, brakes hold."""
    return pack([where(stopped, 0.0, f) for f in force])


def finite_force(force: Array) -> Scalar:
    """1 where all forces (actuators,) are numbers within the limits of drives, else -1."""
    good: Scalar = 1.0
    for f in force:
        good = where(2.0 * UNLIMITED - absolute(f), good, -1.0)
    return good


def select(condition: Scalar, a: Array, b: Array) -> Array:
    """Vector a (k,) where the condition is above zero, else b (k,), without a branch."""
    chosen = [where(condition, first, second) for first, second in zip(a, b, strict=True)]
    return pack(chosen) if chosen else np.zeros(0)


def replace_infinite_limits(limits: Array) -> Array:
    """Limits as numbers that programs can take: large ones for none."""
    return np.where(np.isfinite(limits), limits, UNLIMITED)
