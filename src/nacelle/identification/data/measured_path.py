"""The path of the nacelle along coordinates that may be wrong, for the checks: poses, and which are sound.

    q -> x                       forward kinematics, each sample continued from the one before
    v = J_r q',   a = J_r (q'' - bias(x, v))       J_r (n, actuators), bias: actuators' acceleration at a = 0

With redundant actuation the poses are those of least squares, and what remains says how well encoders agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.identification.data.poses import path_poses
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.forward.actuator_path import actuator_scales, unwound
from nacelle.kinematics.forward.forward import forward_kinematics
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.motion import joint_motion
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array

# How far beyond its limits, as a part of their range, a coordinate may be measured.
_BEYOND = 0.02
# Redundant encoders agree within this, rad or robot sizes.
_AGREE = 0.02
# Samples whose poses are sought at once.
_PIECE = 50
_BAD = int(Flag.INVALID | Flag.UNREACHABLE | Flag.SINGULAR | Flag.OTHER_BRANCH)


@dataclass(frozen=True, eq=False)
class PathMotion:
    """Motion of the nacelle: x (N, nx), v (N, n), a (N, n), and J_r^-1 (N, actuators, n)."""

    x: Array
    v: Array
    a: Array
    inverse: Array


@dataclass(frozen=True, eq=False)
class Path:
    """Poses along measured coordinates.

    Attributes:
        robot: the robot.
        q: coordinates of the actuators (N, actuators).
        x: reduced poses (N, nx); NaN where none was found.
        flags: what was found at each sample (`Flag`).
        beyond: which actuators are beyond their limits (N, actuators), by more than 2 % of their range.
        gap: how well redundant encoders agree (N,), rad or robot sizes; 0 where they are not redundant.
    """

    robot: Robot
    q: Array
    x: Array
    flags: Array
    beyond: Array
    gap: Array

    @property
    def good(self) -> Array:
        """Which samples have a pose on the reference's branch, their actuators within limits (N,)."""
        sound = ((self.flags & _BAD) == 0) & np.all(np.isfinite(self.x), axis=1)
        return np.asarray(sound & ~np.any(self.beyond, axis=1) & (self.gap <= _AGREE))

    @property
    def lost(self) -> float:
        """Part of the samples that are not good."""
        return 1.0 - float(np.mean(self.good))

    def at(self, q: Array, x: Array) -> Path:
        """A path of the same robot through other poses (N, nx), NaN where there is none, without limits."""
        flags = np.where(np.all(np.isfinite(x), axis=1), 0, int(Flag.UNREACHABLE))
        return Path(self.robot, q, x, flags, np.zeros(q.shape, dtype=bool), np.zeros(len(q)))

    def motion(self, rate: Array, acceleration: Array) -> PathMotion:
        """Motion of the nacelle from rates and accelerations of the actuators (N, actuators)."""
        count, n = len(self.x), self.robot.motion.n
        good = self.good
        v, a = np.full((count, n), np.nan), np.full((count, n), np.nan)
        inverse = np.full((count, len(self.robot.actuators), n), np.nan)
        if np.any(good):
            matrices = jacobian(self.robot, self.x[good])
            inverse[good] = matrices.inverse
            v[good] = np.einsum("kni,ki->kn", matrices.direct, rate[good])
            bias = joint_motion(self.robot, self.x[good], v[good]).actuators[2]
            a[good] = np.einsum("kni,ki->kn", matrices.direct, acceleration[good] - bias)
        return PathMotion(self.x, v, a, inverse)


def measured_path(robot: Robot, q: Array, *, most_lost: float = 1.0) -> Path:
    """Poses along coordinates of the actuators (N, actuators), connected with the reference pose.

    Args:
        robot: the robot.
        q: the coordinates, in order of time.
        most_lost: part of the samples that may have no pose; once more have none, the others are not sought:
            they have NaN, and no flag.
    """
    beyond = _beyond(robot, q)
    lengths = actuator_scales(robot) != 1.0
    far = np.any(np.abs(q[:, lengths]) > 20.0 * robot.size, axis=1)
    if max(np.mean(np.any(beyond, axis=1)), np.mean(far)) > most_lost:
        return _no_path(robot, q, beyond)
    if q.shape[1] > robot.motion.n:
        x = path_poses(robot, q)
        flags = np.where(np.all(np.isfinite(x), axis=1), 0, int(Flag.UNREACHABLE))
        gap = _disagreement(robot, x, q)
    else:
        x, flags = _exact(robot, q, most_lost)
        gap = np.zeros(len(q))
    return Path(robot, q, x, flags, beyond, gap)


def _no_path(robot: Robot, q: Array, beyond: Array) -> Path:
    x = np.full((len(q), layout_of(robot.motion).nx), np.nan)
    return Path(robot, q, x, np.full(len(q), int(Flag.UNREACHABLE)), beyond, np.zeros(len(q)))


def _beyond(robot: Robot, q: Array) -> Array:
    """Which coordinates are beyond the limits by more than a little."""
    lower, upper = np.array([actuator.position for actuator in robot.actuators]).T
    with np.errstate(invalid="ignore"):
        margin = np.where(np.isfinite(upper - lower), _BEYOND * (upper - lower), 0.0)
    return np.asarray((q < lower - margin) | (q > upper + margin))


def _exact(robot: Robot, q: Array, most_lost: float) -> tuple[Array, Array]:
    """Poses by forward kinematics, piece by piece: samples without a pose take long to give up."""
    x = np.full((len(q), layout_of(robot.motion).nx), np.nan)
    flags = np.zeros(len(q), dtype=int)
    guess = None
    lost = 0
    begin = 0
    while begin < len(q):
        end = min(len(q), begin + (2 if begin == 0 else 10 if begin == 2 else _PIECE))
        piece = forward_kinematics(robot, q[begin:end], guess, follow=True)
        x[begin:end], flags[begin:end] = piece.x, piece.flags
        lost += int(np.sum((piece.flags & _BAD) != 0))
        if lost > most_lost * len(q) or (lost and begin == 0 and most_lost < 1.0):
            break
        present = np.flatnonzero(np.all(np.isfinite(piece.x), axis=1))
        guess = piece.x[present[-1]] if present.size else guess
        begin = end
    return x, flags


def _disagreement(robot: Robot, x: Array, q: Array) -> Array:
    """How far measured coordinates are from those of the poses (N,), rms over the actuators."""
    gap = np.full(len(q), np.inf)
    good = np.all(np.isfinite(x), axis=1)
    if np.any(good):
        own = inverse_kinematics(robot, x[good], limits=False).actuators
        off = (unwound(robot, q[good], own) - own) / actuator_scales(robot)
        gap[good] = np.sqrt(np.mean(off**2, axis=1))
    return gap
