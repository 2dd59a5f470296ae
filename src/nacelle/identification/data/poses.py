"""From the actuators to the motion of the platform.

The pose x follows from the actuators' coordinates by forward kinematics along the path; then

    v = J_r q',      a = J_r (q'' - b)           J_r (n, actuators), b = (J_r^-1)' v  (actuators,)

Encoders of redundant actuators never agree exactly: there the pose is that of least squares, by Gauss-Newton
steps e = J_r (q - q(x)) with the pseudo-inverse J_r in units in which all encoders count alike.

The path of the platform along coordinates that may be wrong, for the checks: poses, and which are sound.

With redundant actuation the poses are those of least squares, and what remains says how well encoders agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.kinematics import kinematic_model
from nacelle.kinematics.flags import Flag, has_failed
from nacelle.kinematics.forward import forward_kinematics
from nacelle.kinematics.motion import integrate_pose, solve_loops
from nacelle.kinematics.native import compile_native
from nacelle.kinematics.pose_input import reference_pose
from nacelle.kinematics.shapes import twist_scales
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.kinematics.solve.unknowns import SearchStart
from nacelle.model.reduced import layout_of
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.spatial.solve import solve_batch
from nacelle.tree.actuation import actuator_scales, unwind_angles

_STEPS = 20
# A step below this, in robot sizes and rad, ends the iteration of least squares.
_DONE = 1e-13
# A step longer than the shortest before by this factor shows that there is no solution.
_DIVERGING = 2.0
# Samples that start from the same pose.
_BLOCK = 32


@dataclass(frozen=True, eq=False)
class PlatformMotion:
    """A motion of the platform.

    Attributes:
        x: reduced poses (N, nx).
        v: reduced twists (N, n).
        a: their derivatives (N, n).
        ok: whether a sample has a pose (N,).
    """

    x: Array
    v: Array
    a: Array
    ok: Array

    def part(self, chosen: Array | slice) -> PlatformMotion:
        """Some of the samples."""
        return PlatformMotion(self.x[chosen], self.v[chosen], self.a[chosen], self.ok[chosen])


def motion_from_rates(robot: Robot, x: Array, q_rate: Array, q_acceleration: Array) -> PlatformMotion:
    """The motion of the platform at poses (N, nx) from rates and accelerations of the actuators.

    Args:
        robot: the robot.
        x: reduced poses; NaN where no pose was found.
        q_rate: rates of the actuators (N, actuators).
        q_acceleration: derivatives of the rates.
    """
    good = np.all(np.isfinite(x), axis=1)
    v = np.full((len(x), robot.motion.n), np.nan)
    a = np.full_like(v, np.nan)
    if np.any(good):
        # y is sought once: at the poses, each from the one before.
        at, y, flags = solve_loops(robot, x[good])
        J = compile_native(kinematic_model.inverse_jacobian, robot)(at, y)["J"]
        v[good] = least_squares_twists(robot, J, q_rate[good])
        zero = np.zeros_like(v[good])
        bias = compile_native(kinematic_model.joint_motions, robot)(at, y, v[good], zero)[
            "active_acceleration"
        ]
        a[good] = least_squares_twists(robot, J, q_acceleration[good] - bias)
        good[good] = ~has_failed(flags)
    ok = good & np.all(np.isfinite(v), axis=1) & np.all(np.isfinite(a), axis=1)
    return PlatformMotion(x, v, a, ok)


def path_poses(robot: Robot, q: Array) -> Array:
    """Reduced poses (N, nx) along a path of the actuators (N, actuators); NaN where no pose is found.

    The path is connected with the reference pose. Poses that fit redundant coordinates best are found block
    after block.
    """
    if len(robot.actuators) == robot.motion.n:
        forward = forward_kinematics(robot, q, follow=True)
        return np.asarray(np.where(has_failed(forward.flags)[:, None], np.nan, forward.x))
    first = reference_pose(robot)
    x = np.full((len(q), first.size), np.nan)
    for begin in range(0, len(q), _BLOCK):
        block = q[begin : begin + _BLOCK]
        solution = least_squares_poses(robot, block, np.broadcast_to(first, (len(block), first.size)))
        x[begin : begin + _BLOCK] = solution
        good = np.flatnonzero(np.all(np.isfinite(solution), axis=1))
        if good.size:
            first = solution[good[-1]]
    return x


def least_squares_poses(robot: Robot, q: Array, start: Array) -> Array:
    """Poses (N, nx) that fit coordinates (N, actuators) best, each near one of its own (N, nx).

    NaN where the iteration does not end.
    """
    x = np.full(np.shape(start), np.nan)
    left = np.flatnonzero(np.all(np.isfinite(q), axis=1))
    there = np.asarray(start, dtype=float)[left]
    shortest = np.full(len(left), np.inf)
    units, nearly = twist_scales(robot), 1e3 * _DONE
    # Passive coordinates are sought from the reference once, and then near the pose before.
    before: SearchStart | None = None
    for _ in range(_STEPS):
        at, y, _ = solve_loops(robot, there, guess=before)
        now = compile_native(kinematic_model.inverse_jacobian, robot)(at, y)
        good = np.all(np.isfinite(now["q"]), axis=1) & np.all(np.isfinite(now["J"]), axis=(1, 2))
        # A pose that is lost, or singular, takes no step, and would be lost for ever.
        step = np.full((len(left), robot.motion.n), np.nan)
        off = unwind_angles(robot, q[left[good]], now["q"][good]) - now["q"][good]
        step[good] = least_squares_twists(robot, now["J"][good], off)
        size = np.max(np.abs(step) / units, axis=1)
        # Steps that grow lead nowhere: these coordinates have no pose near by.
        good = (size <= np.maximum(_DIVERGING * shortest, nearly)) & np.isfinite(size)
        left, there, step, before = left[good], there[good], step[good], SearchStart(at[good], y[good])
        shortest, size = np.minimum(shortest, size)[good], size[good]
        if not left.size:
            break
        there = integrate_pose(robot, there, step, guess=before)
        x[left] = np.where((size < nearly)[:, None], there, np.nan)
        if np.all(size < _DONE):
            break
    return x


def least_squares_twists(robot: Robot, J: Array, rates: Array) -> Array:
    """Give v (..., n) with J v = rates (..., actuators) by least squares; NaN where J is singular."""
    weights = 1.0 / actuator_scales(robot)
    weighted = J * weights[:, None]
    if J.shape[-1] == J.shape[-2]:
        return np.asarray(solve_batch(weighted, (rates * weights)[..., None])[..., 0])
    return np.asarray(np.einsum("...ij,...j->...i", np.linalg.pinv(weighted), rates * weights))


# ---- the path of the platform along coordinates that may be wrong, for the checks: poses, and which are
# sound


# How far beyond its limits, as a part of their range, a coordinate may be measured.
_BEYOND = 0.02
# Redundant encoders agree within this, rad or robot sizes.
_AGREEMENT = 0.02
# Samples whose poses are sought at once.
_CHUNK = 50
_FAILURES = int(Flag.INVALID | Flag.UNREACHABLE | Flag.SINGULAR | Flag.OTHER_BRANCH)


@dataclass(frozen=True, eq=False)
class MeasuredPath:
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
        sound = ((self.flags & _FAILURES) == 0) & np.all(np.isfinite(self.x), axis=1)
        return np.asarray(sound & ~np.any(self.beyond, axis=1) & (self.gap <= _AGREEMENT))

    @property
    def lost_share(self) -> float:
        """Part of the samples that are not good."""
        return 1.0 - float(np.mean(self.good))


def measured_path(robot: Robot, q: Array, *, largest_lost_fraction: float = 1.0) -> MeasuredPath:
    """Poses along coordinates of the actuators (N, actuators), connected with the reference pose.

    Args:
        robot: the robot.
        q: the coordinates, in order of time.
        largest_lost_fraction: part of the samples that may have no pose; once more have none, the others are
            not sought:
            they have NaN, and no flag.
    """
    beyond = _is_beyond_limits(robot, q)
    lengths = actuator_scales(robot) != 1.0
    far = np.any(np.abs(q[:, lengths]) > 20.0 * robot.size, axis=1)
    if max(np.mean(np.any(beyond, axis=1)), np.mean(far)) > largest_lost_fraction:
        x = np.full((len(q), layout_of(robot.motion).nx), np.nan)
        return MeasuredPath(robot, q, x, np.full(len(q), int(Flag.UNREACHABLE)), beyond, np.zeros(len(q)))
    if q.shape[1] > robot.motion.n:
        x = path_poses(robot, q)
        good = np.all(np.isfinite(x), axis=1)
        flags = np.where(good, 0, int(Flag.UNREACHABLE))
        gap = np.full(len(q), np.inf)
        if np.any(good):
            gap[good] = np.sqrt(np.mean(encoder_gaps(robot, x[good], q[good]) ** 2, axis=1))
    else:
        x, flags = _poses_in_chunks(robot, q, largest_lost_fraction)
        gap = np.zeros(len(q))
    return MeasuredPath(robot, q, x, flags, beyond, gap)


def _is_beyond_limits(robot: Robot, q: Array) -> Array:
    """Which coordinates are beyond the limits by more than a little."""
    lower, upper = np.array([actuator.position for actuator in robot.actuators]).T
    with np.errstate(invalid="ignore"):
        margin = np.where(np.isfinite(upper - lower), _BEYOND * (upper - lower), 0.0)
    return np.asarray((q < lower - margin) | (q > upper + margin))


def _poses_in_chunks(robot: Robot, q: Array, most_lost: float) -> tuple[Array, Array]:
    """Poses by forward kinematics, piece by piece: samples without a pose take long to give up."""
    x = np.full((len(q), layout_of(robot.motion).nx), np.nan)
    flags = np.zeros(len(q), dtype=int)
    guess = None
    lost = 0
    begin = 0
    while begin < len(q):
        end = min(len(q), begin + (2 if begin == 0 else 10 if begin == 2 else _CHUNK))
        piece = forward_kinematics(robot, q[begin:end], guess, follow=True)
        x[begin:end], flags[begin:end] = piece.x, piece.flags
        lost += int(np.sum((piece.flags & _FAILURES) != 0))
        if lost > most_lost * len(q) or (lost and begin == 0 and most_lost < 1.0):
            break
        present = np.flatnonzero(np.all(np.isfinite(piece.x), axis=1))
        guess = piece.x[present[-1]] if present.size else guess
        begin = end
    return x, flags


def encoder_gaps(robot: Robot, x: Array, q: Array) -> Array:
    """How far coordinates q are from those of poses x (N, nx): (N, actuators), rad or robot sizes."""
    at_poses = inverse_kinematics(robot, x, limits=False).q
    return np.asarray((unwind_angles(robot, q, at_poses) - at_poses) / actuator_scales(robot))
