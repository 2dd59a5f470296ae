"""Trajectories in closed form: straight lines, circles, and finite Fourier series.

A timing law s(t) from 0 to 1 (`timing`) says how far along its way a line or a circle is; m, rad, base axes.
"""

from __future__ import annotations

import copy
import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from nacelle.model.platform import Motion
from nacelle.model.reduced import ReducedLayout
from nacelle.spatial.rotation import RotationMotion, fixed_axis_motion, frame_with_z, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import (
    Sample,
    Trajectory,
    TrajectoryError,
    displacements,
    join_sample,
    nearest_signs,
    positive_limit,
    read_layout,
    read_pose,
    read_positive,
    sample_about_pose,
)
from nacelle.trajectory.timing import Timing, read_timing


class Line(Trajectory):
    """A straight line with a timing law s(t).

        x = x_0 + s d,   v = s' d,   a = s'' d

    for plain coordinates, and q = exp(s r) q_0, w = s' r, w' = s'' r for the orientation: the shorter turn,
    about an axis that stands still. d and r, a rotation vector, are the differences from start to end, in m
    and rad, base axes. Limits on |v_i| and |a_i| are limits on s' and s'': |d_i| s' <= V_i.
    """

    def __init__(
        self,
        start: ArrayLike,
        end: ArrayLike,
        *,
        motion: Motion | str | list[str],
        duration: float | None = None,
        speed: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        timing: str | Timing = "quintic",
    ) -> None:
        """Make the line.

        Args:
            start: reduced pose (nx,) at time 0.
            end: reduced pose (nx,) at the end.
            motion: motion type of the platform, or its text.
            duration: time from start to end, s; or
            speed: limits on |v_i|, one number or (n,): m/s, rad/s;
            acceleration: limits on |a_i|, one number or (n,): m/s^2, rad/s^2.
            timing: "quintic", "cubic", "trapezoid", "bang-bang", "uniform", or a law with its own duration.
        """
        layout = read_layout(motion)
        ends = np.stack([read_pose(layout, start, "the start"), read_pose(layout, end, "the end")])
        poses = nearest_signs(layout, ends)
        self._start = poses[0]
        self._way = displacements(layout, poses)[0]
        limits = (
            _progress_limit(layout, self._way, limit, name)
            for limit, name in ((speed, "the speed"), (acceleration, "the acceleration"))
        )
        self._law = read_timing(timing, duration, *limits)
        super().__init__(layout.motion, self._law.duration, self._law.knots)

    def with_timing(self, law: Timing) -> Self:
        """The same line with another timing law."""
        line = copy.copy(self)
        line._law = law
        Trajectory.__init__(line, self.motion, law.duration, law.knots)
        return line

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        s, ds, dds = self._law.inside(t)
        linear, quat = self.layout.split_x(self._start)
        shift, rotation_vector = self.layout.split_v(self._way)
        rotation = None
        if quat is not None and rotation_vector is not None:
            rotated = fixed_axis_motion(rotation_vector, s, ds, dds)
            rotation = RotationMotion(quat_multiply(rotated.quat, quat), rotated.w, rotated.dw)
        return join_sample(
            self.layout, linear + s[:, None] * shift, ds[:, None] * shift, dds[:, None] * shift, rotation
        )


def _progress_limit(
    layout: ReducedLayout, displacement: Array, limit: ArrayLike | None, name: str
) -> float | None:
    """The limit on s' (or s'') that keeps |way_i s'| <= limit_i."""
    if limit is None:
        return None
    limits = positive_limit(layout, limit, name)
    if not np.any(displacement):
        raise TrajectoryError("start and end are the same: no limit gives the duration (give it)")
    largest = float(np.max(np.abs(displacement) / limits))
    return 1.0 / largest if largest > 0.0 else math.inf


_TRANSLATIONS = ("x", "y", "z")


class Circle(Trajectory):
    """A circle with a timing law s(t) in a plane of the platform's translations, all other coordinates held.

        p = c + r (e_1 cos phi + e_2 sin phi),   phi = phi_0 + 2 pi turns s(t)
        v = phi' t,   a = phi'' t - phi'^2 (p - c),   t = r (e_2 cos phi - e_1 sin phi)

    The law "uniform" gives constant speed; after whole turns the circle ends where and as it began, so that
    it can be repeated (`Chain`).
    """

    def __init__(
        self,
        center: ArrayLike,
        radius: float,
        *,
        motion: Motion | str | list[str],
        plane: str | ArrayLike | None = None,
        start_angle: float = 0.0,
        turns: float = 1.0,
        duration: float | None = None,
        speed: float | None = None,
        acceleration: float | None = None,
        timing: str | Timing = "quintic",
    ) -> None:
        """Make the circle.

        Args:
            center: reduced pose (nx,) at the centre; its orientation and other coordinates are held.
            radius: m.
            motion: motion type of the platform, or its text; it has two translations or three.
            plane: the two translations e_1, e_2, such as "xy" or "zx"; or, for motions with three
                translations, the vector (3,) perpendicular to the plane, which e_1 and e_2 follow
                right-handed; the first two translations of the motion if None.
            start_angle: phi_0, rad.
            turns: number of turns; negative ones run backwards.
            duration: s; or
            speed: limit on the speed along the circle, m/s;
            acceleration: limit on the tangential acceleration, m/s^2.
            timing: "quintic", "cubic", "trapezoid", "bang-bang", "uniform", or a law with its own duration.
        """
        layout = read_layout(motion)
        self._center = read_pose(layout, center, "the centre")
        radius = read_positive(radius, "the radius")
        self._angle = 2.0 * math.pi * float(turns)
        self._start_angle = float(start_angle)
        if not (math.isfinite(self._angle) and self._angle != 0.0 and math.isfinite(self._start_angle)):
            raise TrajectoryError(f"a circle of {turns} turns from {start_angle} rad is no way")
        axes = _plane_axes(layout, plane)
        self._cosine, self._sine = radius * axes[0], radius * axes[1]
        length = radius * abs(self._angle)
        self._law = read_timing(
            timing,
            duration,
            None if speed is None else read_positive(speed, "the speed") / length,
            None if acceleration is None else read_positive(acceleration, "the acceleration") / length,
        )
        super().__init__(layout.motion, self._law.duration, self._knots_of(self._law))

    def _knots_of(self, law: Timing) -> Array:
        count = max(2, math.ceil(4 * abs(self._angle) / (2.0 * math.pi)) + 1)
        return np.unique(np.concatenate([law.knots, np.linspace(0.0, law.duration, count)]))

    def with_timing(self, law: Timing) -> Self:
        """The same circle with another timing law."""
        circle = copy.copy(self)
        circle._law = law
        Trajectory.__init__(circle, self.motion, law.duration, self._knots_of(law))
        return circle

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        s, ds, dds = (part[:, None] for part in self._law.inside(t))
        angle = self._start_angle + self._angle * s
        rate, change = self._angle * ds, self._angle * dds
        outward = np.cos(angle) * self._cosine + np.sin(angle) * self._sine
        along = np.cos(angle) * self._sine - np.sin(angle) * self._cosine
        layout = self.layout
        linear, quat = layout.split_x(np.broadcast_to(self._center, (len(t), layout.nx)))
        still = None if quat is None else np.zeros(3)
        return Sample(
            layout.join_x(linear + outward, quat),
            layout.join_v(rate * along, still),
            layout.join_v(change * along - rate * rate * outward, still),
        )


def _plane_axes(layout: ReducedLayout, plane: str | ArrayLike | None) -> Array:
    """The unit vectors e_1, e_2 of the plane among the plain coordinates, (2, count)."""
    names = [layout.x_names[k] for k in layout.linear_x]
    translations = [name for name in names if name in _TRANSLATIONS]
    result = np.zeros((2, len(names)))
    if plane is not None and not isinstance(plane, str):
        vector = np.array(plane, dtype=float)
        if vector.shape != (3,) or not np.all(np.isfinite(vector)) or not np.any(vector):
            raise TrajectoryError(
                f"the normal {vector.tolist()} is not a vector of 3 numbers with a direction"
            )
        if len(translations) < 3:
            raise TrajectoryError(
                f"the motion {layout.motion.name} has not all of x, y, z (name two of its translations)"
            )
        frame = frame_with_z(vector / np.abs(vector).max())
        for k, name in enumerate(_TRANSLATIONS):
            result[:, names.index(name)] = frame[k, :2]
        return result
    if plane is None:
        if len(translations) < 2:
            raise TrajectoryError(
                f"the motion {layout.motion.name} has no two translations for a circle (take a line)"
            )
        plane = "".join(translations[:2])
    if len(plane) != 2 or plane[0] == plane[1] or not set(plane) <= set(translations):
        raise TrajectoryError(
            f"{plane!r} is not a plane of the motion {layout.motion.name} "
            f"(two of {', '.join(translations) or 'no translations'})"
        )
    for row, name in enumerate(plane):
        result[row, names.index(name)] = 1.0
    return result


class Fourier(Trajectory):
    """A finite Fourier series in every coordinate about a centre, as for the excitation of identification.

        y(t) = sum over k = 1 .. H of a_k sin(k W t) + b_k cos(k W t),   W = 2 pi frequency

    Plain coordinates are x = c + y. The three entries of y in the place of rx, ry, rz are a rotation vector
    r in base axes about the orientation of the centre, q = exp(r) q_c, with w = J(r) r' and w' by the exact
    derivative of the exponential. Its spectrum is bounded and it is periodic, so that measurements can be
    averaged over periods.
    """

    def __init__(
        self,
        center: ArrayLike,
        a: ArrayLike,
        b: ArrayLike,
        *,
        motion: Motion | str | list[str],
        frequency: float,
        duration: float | None = None,
    ) -> None:
        """Make the series.

        Args:
            center: reduced pose (nx,) about which the platform moves.
            a: amplitudes of the sines (H, n): m, rad.
            b: amplitudes of the cosines (H, n): m, rad.
            motion: motion type of the platform, or its text.
            frequency: of the first harmonic, Hz.
            duration: s; one period if left out.
        """
        layout = read_layout(motion)
        self._center = read_pose(layout, center, "the centre")
        self._a, self._b = _check_amplitudes(a, layout.n, "a"), _check_amplitudes(b, layout.n, "b")
        if self._a.shape != self._b.shape:
            raise TrajectoryError(f"a has {len(self._a)} harmonics, b has {len(self._b)}")
        frequency = read_positive(frequency, "the frequency")
        duration = 1.0 / frequency if duration is None else read_positive(duration, "the duration")
        count = len(self._a)
        self._frequencies = 2.0 * math.pi * frequency * np.arange(1, count + 1)
        pieces = max(1, math.ceil(4 * count * frequency * duration))
        super().__init__(layout.motion, duration, np.linspace(0.0, duration, pieces + 1))

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        W = self._frequencies
        sine, cosine = np.sin(t[:, None] * W), np.cos(t[:, None] * W)
        y = sine @ self._a + cosine @ self._b
        dy = (W * cosine) @ self._a - (W * sine) @ self._b
        ddy = -(W * W * sine) @ self._a - (W * W * cosine) @ self._b
        return sample_about_pose(self.layout, self._center, y, dy, ddy)


def _check_amplitudes(value: ArrayLike, n: int, name: str) -> Array:
    amplitudes = np.array(value, dtype=float)
    if amplitudes.ndim != 2 or amplitudes.shape[1] != n or not len(amplitudes):
        raise TrajectoryError(f"{name} has shape {amplitudes.shape}, not (harmonics, {n})")
    if not np.all(np.isfinite(amplitudes)):
        harmonic = int(np.argwhere(~np.isfinite(amplitudes))[0, 0]) + 1
        raise TrajectoryError(f"{name} of harmonic {harmonic} is not finite")
    return amplitudes
