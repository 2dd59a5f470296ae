"""Straight segments with parabolic blends around the corners."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from nacelle.model.platform import Motion
from nacelle.spatial.rotation import RotationMotion, compose_motions, fixed_axis_motion, quat_multiply
from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import (
    Sample,
    Trajectory,
    TrajectoryError,
    displacements,
    join_sample,
    positive_limit,
    read_layout,
    read_points,
    read_positive,
    read_times,
)

# A blend takes this part of the shortest time between points, if nothing is said of it.
_BLEND = 0.2


class Polyline(Trajectory):
    """Straight segments at constant velocity, joined by blends in time (LSPB), from rest to rest.

    Segment k leads from point k to point k + 1 with the velocity u_k; u is zero before the first point and
    after the last. Around the corner time of point k, at tau from -h to h,

        x = p_k + f u_(k-1) + g u_k,   f = -(h - tau)^2 / (4 h),   g = (h + tau)^2 / (4 h),

    so the velocity goes from u_(k-1) to u_k with the constant acceleration (u_k - u_(k-1)) / (2 h), and the
    corner is passed at the distance (u_k - u_(k-1)) h / 4. Orientations turn in the same way,

        q = exp(g u_k) exp(f u_(k-1)) q_k,

    which is the slerp of either segment beyond the blend; the acceleration in the blend is constant where
    the two axes are the same, and nearly so otherwise. First and last point are met exactly.
    """

    def __init__(
        self,
        points: ArrayLike,
        *,
        motion: Motion | str | list[str],
        times: ArrayLike | None = None,
        duration: float | None = None,
        speed: ArrayLike | None = None,
        blend: float | None = None,
        acceleration: ArrayLike | None = None,
    ) -> None:
        """Make the polyline.

        Args:
            points: reduced poses (N, nx).
            motion: motion type of the platform, or its text.
            times: times (N,) of the points, s, counted from the first; or
            duration: s, the points equally spaced in time; or
            speed: largest |u_i| on the segments, one number or (n,): m/s, rad/s.
            blend: duration 2 h of every blend, s; or
            acceleration: |a_i| in the blends, one number or (n,): m/s^2, rad/s^2 (not quite exact for
                orientations). With `speed`, all is slowed down evenly if blends would overlap otherwise.
        """
        layout = read_layout(motion)
        self._points = read_points(layout, points)
        nominal = read_times(layout, self._points, times, duration, speed)
        segments = displacements(layout, self._points)
        if blend is not None and acceleration is not None:
            raise TrajectoryError("give the duration of the blends or the acceleration in them, not both")
        if acceleration is not None:
            limits = positive_limit(layout, acceleration, "the acceleration")
            if speed is not None:
                half, nominal = _slow_to_fit_blends(segments, nominal, limits)
            else:
                half = _half_blends_for_acceleration(segments, nominal, limits)
        else:
            steps = np.diff(nominal)
            width = _BLEND * steps.min() if blend is None else read_positive(blend, "the blend")
            half = np.full(len(nominal), 0.5 * width)
        if speed is not None:
            # The segments keep their velocity: starting and stopping take time of their own.
            corners = nominal + half[0]
            end = float(corners[-1] + half[-1])
        else:
            corners = nominal.copy()
            corners[0] += half[0]
            corners[-1] -= half[-1]
            end = float(nominal[-1])
        _check_fit(corners, half)
        self._corners, self._half = corners, half
        rates = segments / np.diff(corners)[:, None]
        still = np.zeros((1, layout.n))
        self._rates = np.concatenate([still, rates, still])  # the velocity before each point, and after
        knots = np.concatenate([corners - half, corners + half])
        super().__init__(layout.motion, end, np.unique(np.clip(np.append(knots, [0.0, end]), 0.0, end)))

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        # The point in whose blend, or on the segment after which, the time lies.
        starts = self._corners - self._half
        k = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(starts) - 1)
        h = self._half[k]
        tau = t - self._corners[k]
        blending = tau < h
        before, after = np.where(blending, h - tau, 0.0), np.where(blending, h + tau, 0.0)
        f, df, ddf = -before * before / (4.0 * h), before / (2.0 * h), np.where(blending, -0.5 / h, 0.0)
        g = np.where(blending, after * after / (4.0 * h), tau)
        dg, ddg = np.where(blending, after / (2.0 * h), 1.0), np.where(blending, 0.5 / h, 0.0)
        layout = self.layout
        point, quat = layout.split_x(self._points[k])
        u, turn_in = layout.split_v(self._rates[k])
        v, turn_out = layout.split_v(self._rates[k + 1])
        linear = (
            point + f[:, None] * u + g[:, None] * v,
            df[:, None] * u + dg[:, None] * v,
            ddf[:, None] * u + ddg[:, None] * v,
        )
        rotation = None
        if quat is not None and turn_in is not None and turn_out is not None:
            rotated = compose_motions(
                fixed_axis_motion(turn_out, g, dg, ddg), fixed_axis_motion(turn_in, f, df, ddf)
            )
            rotation = RotationMotion(quat_multiply(rotated.quat, quat), rotated.w, rotated.dw)
        return join_sample(layout, *linear, rotation)


def _half_blends(segments: Array, steps: Array, limits: Array) -> Array:
    """Half durations of the blends at all points, for segments that take `steps` seconds each."""
    still = np.zeros((1, segments.shape[1]))
    rates = np.concatenate([still, segments / steps[:, None], still])
    half: Array = 0.5 * np.max(np.abs(np.diff(rates, axis=0)) / limits, axis=1)
    # Where the velocity stays the same the blend may be as short as one likes.
    return np.asarray(np.maximum(half, 1e-6 * steps.min()))


def _slow_to_fit_blends(segments: Array, nominal: Array, limits: Array) -> tuple[Array, Array]:
    """Half blends and times of points, slower by the factor at which the blends just fit.

    Slower by c, segments take c times as long and blends of the same acceleration 1 / c times.
    """
    steps = np.diff(nominal)
    half = _half_blends(segments, steps, limits)
    factor = max(1.0, math.sqrt(float(np.max((half[1:] + half[:-1]) / steps))) * (1.0 + 1e-14))
    return half / factor, nominal * factor


def _half_blends_for_acceleration(segments: Array, nominal: Array, limits: Array) -> Array:
    """Half blends for given times of the points.

    The first and the last blend shorten the time of their segments, which makes these faster and the blends
    longer: an iteration that rises to the shortest blends, if there are any.
    """
    steps = np.diff(nominal)
    half = _half_blends(segments, steps, limits)
    floor = float(1e-6 * steps.min())
    for _ in range(1000):
        shortened = steps.copy()
        shortened[0] -= half[0]
        shortened[-1] -= half[-1]
        if not np.all(shortened > 0.0):
            break
        new = np.maximum(_half_blends(segments, shortened, limits), floor)
        if np.allclose(new, half, rtol=1e-13, atol=0.0):
            return new
        half = new
    raise TrajectoryError(
        "the points cannot be reached in their times at this acceleration (give more time or acceleration)"
    )


def _check_fit(corners: Array, half: Array) -> None:
    """Blends of neighbouring points must not overlap."""
    room = np.diff(corners)
    need = half[1:] + half[:-1]
    over = need - room
    k = int(np.argmax(over))
    if over[k] > 1e-12 * float(corners[-1]):
        raise TrajectoryError(
            f"the blends at points {k} and {k + 1} take {need[k]:g} s of the {room[k]:g} s between them "
            "(give shorter blends, more acceleration or more time)"
        )
