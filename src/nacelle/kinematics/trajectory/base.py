"""What a trajectory is: reduced pose, twist and its derivative as exact functions of time.

    x(t) (nx,)      v(t) (n,)      a(t) = dv/dt (n,)

For plain coordinates v = dx/dt, m/s or rad/s; a quaternion q has the angular velocity w in base axes instead,
q' = [w; 0] o q / 2. Trajectories follow one another (`Chain`) and run backwards (`Reversed`): x(T - t),
-v(T - t), a(T - t), T the duration.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nacelle.capacity import require_memory
from nacelle.kinematics.trajectory.arguments import displacements
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.model.platform import Motion
from nacelle.model.reduced import ReducedLayout, layout_of
from nacelle.pictures import Drawn, html
from nacelle.spatial.rotation_path import RotationMotion, quat_multiply, vector_motion
from nacelle.spatial.scalar import Array


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


class Trajectory(ABC, Drawn):
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
        flat, resting = clipped(times.reshape(-1), self._duration)
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
        """Refuse so many samples of so many numbers each where they would not fit into memory.

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

        times, (x, v, a) = self.sample(n, rate=rate)
        layout = self.layout
        units = ["s", *layout.units]
        for power in ("s", "s^2"):
            units += [f"{unit}/{power}" if unit else "" for unit in layout.v_units]
        names = ["t", *layout.x_names, *layout.v_names, *layout.a_names]
        write_table(Path(path), names, units, np.column_stack([times, x, v, a]))

    def then(self, *others: Trajectory) -> Chain:
        """This trajectory, and the others after it; each begins at the pose where the one before ends."""
        return Chain(self, *others)

    def reversed(self) -> Reversed:
        """The same way backwards: x(T - t), -v(T - t), a(T - t), T the duration."""
        return Reversed(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._motion.name}, {self._duration:g} s)"


def clipped(t: Array, duration: float) -> tuple[Array, Array]:
    """Times moved into [0, duration] (not-finite ones to 0), and which of them had to be."""
    inside = (t >= 0.0) & (t <= duration)
    return np.clip(np.where(np.isfinite(t), t, 0.0), 0.0, duration), ~inside


def joined_sample(
    layout: ReducedLayout, linear: tuple[Array, Array, Array], rotation: RotationMotion | None = None
) -> Sample:
    """The sample of plain coordinates with two derivatives, (m, count) each, and a rotation."""
    q, w, dw = rotation if rotation is not None else (None, None, None)
    return Sample(layout.join_x(linear[0], q), layout.join_v(linear[1], w), layout.join_v(linear[2], dw))


def sample_about(layout: ReducedLayout, center: Array, coordinates: tuple[Array, Array, Array]) -> Sample:
    """The sample of coordinates about a pose (nx,), with two derivatives, (m, n) each.

    Three of them in the place of rx, ry, rz are a rotation vector r in base axes, q = exp(r) q_c.
    """
    plain, quat = layout.split_x(center)
    (z, r), (dz, dr), (ddz, ddr) = (layout.split_v(part) for part in coordinates)
    rotation = None
    if quat is not None and r is not None and dr is not None and ddr is not None:
        turned = vector_motion(r, dr, ddr)
        rotation = RotationMotion(quat_multiply(turned.quat, quat), turned.w, turned.dw)
    return joined_sample(layout, (plain + z, dz, ddz), rotation)


# A part starts where the one before ends, within this (m, rad) and this part of the largest coordinate.
_MET = 1e-9


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
            gap = np.abs(displacements(layout, np.stack([end, _turned(layout.quaternion, start, sign)])))[0]
            if gap.max() > _MET * (1.0 + np.abs(end).max()):
                name = motion.coordinates[int(np.argmax(gap))]
                raise TrajectoryError(
                    f"part {k} does not start where part {k - 1} ends: {name} jumps by {gap.max():.3g}"
                )
            signs.append(sign)
            end = _turned(layout.quaternion, part(part.duration).x, sign)
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
                _turned(layout.quaternion, x, self._signs[k]),
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

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        x, v, a = self._forward.inside(self.duration - t)
        return Sample(x, -v, a)


def _turned(quaternion: slice | None, x: Array, sign: float) -> Array:
    """Poses with the sign of their quaternion changed, if sign is -1."""
    if quaternion is None or sign > 0.0:
        return x
    result = x.copy()
    result[..., quaternion] *= sign
    return result
