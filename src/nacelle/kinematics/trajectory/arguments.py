"""What trajectories are made of: motions, poses, limits and times, checked."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.model.platform import Motion, MotionError, parse_motion
from nacelle.model.reduced import ReducedLayout, layout_of
from nacelle.spatial.rotation_path import quat_conjugate, quat_continuous, quat_log, quat_multiply
from nacelle.spatial.scalar import Array

# A quaternion shorter than this tells no orientation.
_SHORTEST = 1e-9


def read_layout(motion: Motion | str | list[str]) -> ReducedLayout:
    """The layout of a motion, or of the text of one ("xyz", "se3")."""
    if not isinstance(motion, Motion):
        try:
            motion = parse_motion(motion)
        except MotionError as fault:
            raise TrajectoryError(f"{fault} ({fault.hint})") from fault
    try:
        return layout_of(motion)
    except ValueError as fault:
        raise TrajectoryError(str(fault)) from fault


def read_points(layout: ReducedLayout, points: ArrayLike, name: str = "points") -> Array:
    """Check poses (N, nx), N >= 2; make quaternions unit and continuous in sign."""
    try:
        values = np.array(points, dtype=float)
    except (TypeError, ValueError):
        raise TrajectoryError(f"the {name} are not rows of {_row_names(layout)}") from None
    if values.ndim != 2 or values.shape[1] != layout.nx:
        raise TrajectoryError(
            f"the {name} have shape {values.shape}, not (N, {layout.nx}): {_row_names(layout)}"
        )
    if len(values) < 2:
        raise TrajectoryError(f"{len(values)} point(s) make no way (give 2 or more)")
    with np.errstate(over="ignore", invalid="ignore"):
        good = np.all(np.isfinite(values), axis=1)
        if layout.quaternion is not None:
            length = np.linalg.norm(values[:, layout.quaternion], axis=1)
            good &= (length >= _SHORTEST) & (length < math.inf)
    if not np.all(good):
        k = int(np.argmin(good))
        _checked(layout, values[k], f"point {k}")
    if layout.quaternion is not None:
        values[:, layout.quaternion] /= length[:, None]
    return nearest_signs(layout, values)


def nearest_signs(layout: ReducedLayout, points: Array) -> Array:
    """Choose the signs of the quaternions in poses (N, nx) such that each is the nearer to the one before."""
    linear, quats = layout.split_x(points)
    return points if quats is None else layout.join_x(linear, quat_continuous(quats))


def read_pose(layout: ReducedLayout, pose: ArrayLike, name: str) -> Array:
    """Check one pose (nx,); make its quaternion unit."""
    try:
        values = np.array(pose, dtype=float)
    except (TypeError, ValueError):
        raise TrajectoryError(f"{name} is not a row of {_row_names(layout)}") from None
    if values.shape != (layout.nx,):
        raise TrajectoryError(f"{name} has shape {values.shape}, not ({layout.nx},): {_row_names(layout)}")
    return _checked(layout, values, name)


def _checked(layout: ReducedLayout, values: Array, name: str) -> Array:
    for entry, value in zip(layout.x_names, values, strict=True):
        if not math.isfinite(value):
            raise TrajectoryError(f"{name}: {entry} is {value} (write a finite number)")
    if layout.quaternion is not None:
        quat = values[layout.quaternion]
        length = float(np.linalg.norm(quat))
        if not _SHORTEST <= length < math.inf:
            raise TrajectoryError(
                f"{name}: the quaternion (qx, qy, qz, qw) has length {length:g} (no rotation is 0, 0, 0, 1)"
            )
        values = values.copy()
        values[layout.quaternion] = quat / length
    return values


def _row_names(layout: ReducedLayout) -> str:
    return f"{layout.nx} numbers ({', '.join(layout.x_names)})"


def positive_limit(layout: ReducedLayout, value: ArrayLike, name: str) -> Array:
    """Check a positive limit: a number for all coordinates, or (n,) numbers."""
    try:
        values = np.array(value, dtype=float)
        limits = np.broadcast_to(values, (layout.n,))
    except (TypeError, ValueError):
        raise TrajectoryError(
            f"{name} is neither a number nor {layout.n} of them ({', '.join(layout.motion.coordinates)})"
        ) from None
    if not np.all(limits > 0.0):
        raise TrajectoryError(f"{name} has entries that are not positive: {limits.tolist()}")
    return limits


def read_positive(value: float, name: str) -> float:
    """Check a positive finite number."""
    number = float(value)
    if not (math.isfinite(number) and number > 0.0):
        raise TrajectoryError(f"{name} is {number} (write a positive number)")
    return number


def displacements(layout: ReducedLayout, points: Array) -> Array:
    """The ways between neighbouring poses (N, nx), as (N - 1, n): differences and rotation vectors.

    The rotation vector, in base axes, is q_next = exp(r) q; with quaternions of continuous sign it is that
    of the shorter turn.
    """
    linear, quats = layout.split_x(points)
    rotations = None
    if quats is not None:
        rotations = quat_log(quat_multiply(quats[1:], quat_conjugate(quats[:-1])), shorter=False)
    return layout.join_v(np.diff(linear, axis=0), rotations)


def read_times(
    layout: ReducedLayout,
    points: Array,
    times: ArrayLike | None,
    duration: float | None,
    speed: ArrayLike | None,
) -> Array:
    """Times (N,) of the points, from 0: as given, or equally spaced, or at a speed.

    At a speed the time from one point to the next is the largest of |displacement_i| / speed_i.
    """
    if sum(option is not None for option in (times, duration, speed)) != 1:
        raise TrajectoryError("give the times of the points, the duration or the speed: one of the three")
    count = len(points)
    if duration is not None:
        return np.linspace(0.0, read_positive(duration, "the duration"), count)
    if speed is not None:
        ways = np.abs(displacements(layout, points)) / positive_limit(layout, speed, "the speed")
        steps = ways.max(axis=1)
        if not np.all(steps > 0.0):
            k = int(np.argmin(steps))
            raise TrajectoryError(
                f"points {k} and {k + 1} are the same: no speed leads from one to the other "
                "(leave one out, or give times)"
            )
        return np.concatenate([[0.0], np.cumsum(steps)])
    given = np.array(times, dtype=float)
    if given.shape != (count,):
        raise TrajectoryError(f"there are {count} points, but times of shape {given.shape}")
    for k, time in enumerate(given):
        if not math.isfinite(time):
            raise TrajectoryError(f"the time of point {k} is {time} (write a finite number)")
        if k and not time > given[k - 1]:
            raise TrajectoryError(
                f"the time of point {k}, {time:g} s, is not after that of point {k - 1}, {given[k - 1]:g} s"
            )
    return np.asarray(given - given[0])
