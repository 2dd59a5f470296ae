"""What a trajectory is: reduced pose, twist and its derivative as exact functions of time.

    x(t) (nx,)      v(t) (n,)      a(t) = dv/dt (n,)

For plain coordinates v = dx/dt, m/s or rad/s; a quaternion q has the angular velocity w in base axes instead,
q' = [w; 0] o q / 2. Trajectories follow one another (`Chain`) and run backwards (`Reversed`). What they are
made of, motions, poses, limits and times, is checked here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nacelle.capacity import require_memory
from nacelle.errors import NacelleError
from nacelle.model.platform import Motion, MotionError, parse_motion
from nacelle.model.reduced import ReducedLayout, layout_of
from nacelle.results import Plottable, html
from nacelle.spatial.rotation import (
    RotationMotion,
    make_quat_continuous,
    quat_conjugate,
    quat_log,
    quat_multiply,
    rotation_vector_motion,
)
from nacelle.spatial.scalar import Array


class TrajectoryError(NacelleError):
    """A trajectory cannot be made as asked."""


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
        _check_pose(layout, values[k], f"point {k}")
    if layout.quaternion is not None:
        values[:, layout.quaternion] /= length[:, None]
    return nearest_signs(layout, values)


def nearest_signs(layout: ReducedLayout, points: Array) -> Array:
    """Choose the signs of the quaternions in poses (N, nx) such that each is the nearer to the one before."""
    linear, quats = layout.split_x(points)
    return points if quats is None else layout.join_x(linear, make_quat_continuous(quats))


def read_pose(layout: ReducedLayout, pose: ArrayLike, name: str) -> Array:
    """Check one pose (nx,); make its quaternion unit."""
    try:
        values = np.array(pose, dtype=float)
    except (TypeError, ValueError):
        raise TrajectoryError(f"{name} is not a row of {_row_names(layout)}") from None
    if values.shape != (layout.nx,):
        raise TrajectoryError(f"{name} has shape {values.shape}, not ({layout.nx},): {_row_names(layout)}")
    return _check_pose(layout, values, name)


def _check_pose(layout: ReducedLayout, values: Array, name: str) -> Array:
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
        distances = np.abs(displacements(layout, points)) / positive_limit(layout, speed, "the speed")
        steps = distances.max(axis=1)
        if not np.all(steps > 0.0):
            k = int(np.argmin(steps))
            raise TrajectoryError(
                f"points {k} and {k + 1} are the same: no speed leads from one to the other "
                "(leave one out, or give times)"
            )
        return np.concatenate([[0.0], np.cumsum(steps)])
    values = np.array(times, dtype=float)
    if values.shape != (count,):
        raise TrajectoryError(f"there are {count} points, but times of shape {values.shape}")
    for k, time in enumerate(values):
        if not math.isfinite(time):
            raise TrajectoryError(f"the time of point {k} is {time} (write a finite number)")
        if k and not time > values[k - 1]:
            raise TrajectoryError(
                f"the time of point {k}, {time:g} s, is not after that of point {k - 1}, {values[k - 1]:g} s"
            )
    return np.asarray(values - values[0])


class Sample(NamedTuple):
    """The platform at one time or at many.

    Attributes:
        x: reduced pose (..., nx): m, rad, unit quaternions quat_xyzw.
        v: reduced twist (..., n): m/s, rad/s; angular velocities in base axes.
        a: time derivative of v (..., n): m/s^2, rad/s^2.
    """

    x: Array
    v: Array
    a: Array

    def _repr_html_(self) -> str:
        """The table for notebooks."""
        return html(self)


class Trajectory(ABC, Plottable):
    """The motion of a platform over time: x(t), v(t) and a(t) = dv/dt, with exact derivatives.

    For plain coordinates v = dx/dt; where x holds a quaternion, v holds the angular velocity w in base axes
    and a its derivative (`nacelle.model.reduced` says where). Before 0 the platform rests at the start, after
    `duration` at the end. At a time where a jumps, it is the later value.
    """

    def __init__(self, motion: Motion, duration: float, knots: Array) -> None:
        self._motion = motion
        self._duration = duration
        self._knots = np.array(knots, dtype=float)
        self._knots.flags.writeable = False

    @property
    def motion(self) -> Motion:
        """The motion type of the platform."""
        return self._motion

    @property
    def duration(self) -> float:
        """Time from start to end, s."""
        return self._duration

    @property
    def knots(self) -> Array:
        """Rising times (s) from 0 to `duration` between which the motion is smooth and bends little."""
        return self._knots

    @property
    def layout(self) -> ReducedLayout:
        """Places of the coordinates in x, v and a."""
        return layout_of(self._motion)

    @abstractmethod
    def inside(self, t: Array) -> Sample:
        """Pose x (m, nx), reduced twist v and its derivative a (m, n) at times (m,), s, in [0, duration]."""

    def __call__(self, t: ArrayLike) -> Sample:
        """The motion at times t (...), in seconds; not-finite times give NaN."""
        times = np.asarray(t, dtype=float)
        flat, resting = clip_times(times.reshape(-1), self._duration)
        x, v, a = self.inside(flat)
        v = np.where(resting[:, None], 0.0, v)
        a = np.where(resting[:, None], 0.0, a)
        bad = ~np.isfinite(times.reshape(-1, 1))
        parts = (np.where(bad, np.nan, part).reshape(*times.shape, part.shape[-1]) for part in (x, v, a))
        return Sample(*parts)

    def sample(self, n: int | None = None, *, rate: float | None = None) -> tuple[Array, Sample]:
        """Times and the motion at them.

        Args:
            n: number of times, equally spaced from 0 to `duration`; or
            rate: times a second. The last time is the first of these at or after `duration`.
        """
        if (n is None) == (rate is None):
            raise TrajectoryError("sample takes a number of times n or a rate, one of the two")
        if rate is not None:
            if not (math.isfinite(rate) and rate > 0):
                raise TrajectoryError(f"the rate {rate} is not a positive number of samples a second")
            self.require_memory(self._duration * rate, 3 * self.layout.nx)
            times = np.arange(math.ceil(self._duration * rate - 1e-9) + 1) / rate
        else:
            if n is None or n < 2:
                raise TrajectoryError(f"n = {n} samples do not span a trajectory (write 2 or more)")
            self.require_memory(n, 3 * self.layout.nx)
            times = np.linspace(0.0, self._duration, n)
        return times, self(times)

    def require_memory(self, count: float, numbers: int) -> None:
        """Refuse `count` samples of `numbers` values each where they would not fit into memory.

        Raises:
            TooLargeError: if they would not.
        """
        require_memory(
            f"samples over {self._duration:g} s",
            count,
            8 * numbers,
            "take fewer samples a second, or a shorter time",
        )

    def to_csv(self, path: str | Path, *, n: int | None = None, rate: float | None = None) -> None:
        """Write t, x, v and a as CSV with units in the header; `read_waypoints` reads it back.

        Args:
            path: the file.
            n: number of rows, or
            rate: rows a second, as in `sample`.
        """
        from nacelle.tables.csv import write_table

        write_table(Path(path), *self.table_columns(*self.sample(n, rate=rate)))

    def table_columns(self, times: Array, sample: Sample) -> tuple[list[str], list[str], Array]:
        """Names, units and numbers (N, columns) of the columns t, x, v and a at times (N,)."""
        layout = self.layout
        units = ["s", *layout.units]
        for power in ("s", "s^2"):
            units += [f"{unit}/{power}" if unit else "" for unit in layout.v_units]
        names = ["t", *layout.x_names, *layout.v_names, *layout.a_names]
        return names, units, np.column_stack([times, *sample])

    def then(self, *others: Trajectory) -> Chain:
        """This trajectory, and the others after it; each begins at the pose where the one before ends."""
        return Chain(self, *others)

    def reverse(self) -> Reversed:
        """The same way backwards: x(T - t), -v(T - t), a(T - t), T the duration."""
        return Reversed(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._motion.name}, {self._duration:g} s)"


def clip_times(t: Array, duration: float) -> tuple[Array, Array]:
    """Times moved into [0, duration] (not-finite ones to 0), and which of them had to be."""
    inside = (t >= 0.0) & (t <= duration)
    return np.clip(np.where(np.isfinite(t), t, 0.0), 0.0, duration), ~inside


def join_sample(
    layout: ReducedLayout, z: Array, dz: Array, ddz: Array, rotation: RotationMotion | None = None
) -> Sample:
    """The sample of plain coordinates z with two derivatives, (m, count) each, and a rotation."""
    q, w, dw = rotation if rotation is not None else (None, None, None)
    return Sample(layout.join_x(z, q), layout.join_v(dz, w), layout.join_v(ddz, dw))


def sample_about_pose(layout: ReducedLayout, center: Array, y: Array, dy: Array, ddy: Array) -> Sample:
    """The sample of coordinates y about a pose (nx,), with two derivatives, (m, n) each.

    Three of them in the place of rx, ry, rz are a rotation vector r in base axes, q = exp(r) q_c.
    """
    plain, quat = layout.split_x(center)
    (z, r), (dz, dr), (ddz, ddr) = (layout.split_v(part) for part in (y, dy, ddy))
    rotation = None
    if quat is not None and r is not None and dr is not None and ddr is not None:
        rotated = rotation_vector_motion(r, dr, ddr)
        rotation = RotationMotion(quat_multiply(rotated.quat, quat), rotated.w, rotated.dw)
    return join_sample(layout, plain + z, dz, ddz, rotation)


# A part starts where the one before ends, within this (m, rad) and this part of the largest coordinate.
_CONTINUITY_TOLERANCE = 1e-9


class Chain(Trajectory):
    """Trajectories one after another, each starting where the one before ends.

    v and a are those of the parts; they are continuous where the parts are. A part may occur in it again.
    """

    def __init__(self, *parts: Trajectory) -> None:
        """Chain the parts.

        Raises:
            TrajectoryError: if a part has another motion type, or starts elsewhere.
        """
        if not parts:
            raise TrajectoryError("a chain has at least one part")
        self._parts = parts
        motion, layout = parts[0].motion, parts[0].layout
        signs = [1.0]
        end = parts[0](parts[0].duration).x
        for k, part in enumerate(parts[1:], start=1):
            if part.motion != motion:
                raise TrajectoryError(f"part {k} has the motion {part.motion.name}, not {motion.name}")
            start = part(0.0).x
            sign = 1.0
            if layout.quaternion is not None and start[layout.quaternion] @ end[layout.quaternion] < 0.0:
                sign = -1.0
            gap = np.abs(
                displacements(layout, np.stack([end, _with_quaternion_sign(layout.quaternion, start, sign)]))
            )[0]
            if gap.max() > _CONTINUITY_TOLERANCE * (1.0 + np.abs(end).max()):
                name = motion.coordinates[int(np.argmax(gap))]
                raise TrajectoryError(
                    f"part {k} does not start where part {k - 1} ends: {name} jumps by {gap.max():.3g}"
                )
            signs.append(sign)
            end = _with_quaternion_sign(layout.quaternion, part(part.duration).x, sign)
        self._signs = signs
        self._ends = np.cumsum([part.duration for part in parts])
        knots = [part.knots + start for part, start in zip(parts, self._starts(), strict=True)]
        super().__init__(motion, float(self._ends[-1]), np.unique(np.concatenate(knots)))

    @property
    def parts(self) -> tuple[Trajectory, ...]:
        """The trajectories in their order."""
        return self._parts

    def _starts(self) -> Array:
        return np.concatenate([[0.0], self._ends[:-1]])

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        layout = self.layout
        which = np.minimum(np.searchsorted(self._ends, t, side="right"), len(self._parts) - 1)
        starts = self._starts()
        result = Sample(*(np.empty((len(t), count)) for count in (layout.nx, layout.n, layout.n)))
        for k in np.unique(which):
            part, here = self._parts[k], which == k
            x, v, a = part.inside(np.clip(t[here] - starts[k], 0.0, part.duration))
            result.x[here], result.v[here], result.a[here] = (
                _with_quaternion_sign(layout.quaternion, x, self._signs[k]),
                v,
                a,
            )
        return result


class Reversed(Trajectory):
    """A trajectory backwards: x(T - t), -v(T - t), a(T - t)."""

    def __init__(self, trajectory: Trajectory) -> None:
        """Turn the trajectory round."""
        self._forward = trajectory
        end = trajectory.duration
        super().__init__(trajectory.motion, end, np.unique(np.clip(end - trajectory.knots, 0.0, end)))

    @property
    def forward(self) -> Trajectory:
        """The trajectory that runs backwards here."""
        return self._forward

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        x, v, a = self._forward.inside(self.duration - t)
        return Sample(x, -v, a)


def _with_quaternion_sign(quaternion: slice | None, x: Array, sign: float) -> Array:
    """Poses with the sign of their quaternion changed, if sign is -1."""
    if quaternion is None or sign > 0.0:
        return x
    result = x.copy()
    result[..., quaternion] *= sign
    return result


# How far the end of a trajectory may be from its start, m, rad and their rates.
_PERIODIC = 1e-9


def reason_not_periodic(trajectory: Trajectory) -> str:
    """Why a trajectory cannot be repeated: pose or twist at its end are not those at its start; else empty.

    Poses are compared in m, rad and entries of quaternions of the same sign, twists in m/s and rad/s.
    """
    start, end = trajectory(0.0), trajectory(trajectory.duration)
    quaternion = trajectory.layout.quaternion
    if quaternion is not None and start.x[quaternion] @ end.x[quaternion] < 0.0:
        end.x[quaternion] *= -1.0
    for what, a, b in (("pose", start.x, end.x), ("twist", start.v, end.v)):
        gap = float(np.max(np.abs(a - b)))
        if gap > _PERIODIC * (1.0 + float(np.max(np.abs(a)))):
            return f"the {what} is off by {gap:.3g} at {trajectory.duration:g} s"
    return ""
