"""Faster and slower: uniform scaling of time, and the fastest that limits allow.

Slowed down k times, y(t) = x(t / k) moves with y' = x' / k and y'' = x'' / k^2, and so do the joints, since
J v and J a + J' v scale alike. Limits V_i on |v_i| and A_i on |a_i| hold where

    k >= |v_i| / V_i      and      k >= sqrt(|a_i| / A_i)          for all t and i

and the least such k is the largest of these figures over time, m/s, rad/s, m/s^2 and rad/s^2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from nacelle.kinematics.trajectory.arguments import positive_limit, read_positive
from nacelle.kinematics.trajectory.base import Sample, Trajectory
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.spatial.scalar import Array

# Rates of the joints and their derivatives, (..., m) each, of a motion of the platform.
Rates = Callable[[Sample], tuple[Array, Array]]

# Times looked at between two knots, and in each step of the search about a maximum.
_SAMPLES = 65
_ZOOM = 9
# Peaks lower than this part of the highest one seen are not searched.
_LOW = 0.9
# What is added for the rounding of time and of the search.
_MARGIN = 1e-11


class TimeScaled(Trajectory):
    """A trajectory slowed down k times: x(t / k), v / k, a / k^2."""

    def __init__(self, trajectory: Trajectory, factor: float) -> None:
        """Slow a trajectory down.

        Args:
            trajectory: what to slow down.
            factor: k > 0; below 1 it becomes faster.
        """
        self._inner = trajectory
        self._factor = read_positive(factor, "the factor")
        super().__init__(trajectory.motion, trajectory.duration * factor, trajectory.knots * factor)

    @property
    def factor(self) -> float:
        """How many times slower it is."""
        return self._factor

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        k = self._factor
        x, v, a = self._inner.inside(np.clip(t / k, 0.0, self._inner.duration))
        return Sample(x, v / k, a / (k * k))


def time_scaled(trajectory: Trajectory, factor: float) -> TimeScaled:
    """The trajectory slowed down k times: x(t / k), v / k, a / k^2.

    Args:
        trajectory: the trajectory, of duration T, s.
        factor: k, above 0; below 1 it runs faster.

    Returns:
        A trajectory of duration k T with exact derivatives, m and rad per s and s^2.
    """
    return TimeScaled(trajectory, factor)


def scale_to_limits(
    trajectory: Trajectory,
    *,
    speed: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    rates: Rates | None = None,
    rate: ArrayLike | None = None,
    rate_change: ArrayLike | None = None,
) -> TimeScaled:
    """The fastest uniform time scaling of a trajectory within limits.

        k = max over t and i of { |v_i| / speed_i, sqrt(|a_i| / acceleration_i) }

    and the same over the joints. The maxima are searched between the knots of the trajectory, densely and
    then ever closer about the highest peaks. A trajectory at rest keeps its time.

    Args:
        trajectory: what to scale; it becomes slower or faster.
        speed: limits on |v_i|, one number or (n,): m/s, rad/s.
        acceleration: limits on |a_i|, one number or (n,): m/s^2, rad/s^2.
        rates: gives joint rates J v and their derivatives J a + J' v of a sample, (..., m) each.
        rate: limits on the joint rates, one number or (m,).
        rate_change: limits on the derivatives of the joint rates, one number or (m,).
    """
    if speed is None and acceleration is None and rate is None and rate_change is None:
        raise TrajectoryError("give a limit on the speed, the acceleration or the rates of the joints")
    if (rates is None) != (rate is None and rate_change is None):
        raise TrajectoryError(
            "limits on joints need `rates`, and `rates` needs limits `rate` or `rate_change`"
        )
    layout = trajectory.layout
    v_limit = None if speed is None else positive_limit(layout, speed, "the speed")
    a_limit = None if acceleration is None else positive_limit(layout, acceleration, "the acceleration")
    q_limit = None if rate is None else _joint_limit(rate, "the limit on rates")
    dq_limit = None if rate_change is None else _joint_limit(rate_change, "the limit on changes of rates")

    def factors(t: Array) -> Array:
        """What every limit alone requires at times (m,): (m, number of limits)."""
        sample = trajectory.inside(t)
        ratios = []
        if v_limit is not None:
            ratios.append(np.abs(sample.v) / v_limit)
        if a_limit is not None:
            ratios.append(np.sqrt(np.abs(sample.a) / a_limit))
        if rates is not None:
            q, dq = rates(sample)
            if q_limit is not None:
                ratios.append(np.abs(q) / q_limit)
            if dq_limit is not None:
                ratios.append(np.sqrt(np.abs(dq) / dq_limit))
        result = np.concatenate(ratios, axis=-1)
        if not np.all(np.isfinite(result)):
            at = t[int(np.argwhere(~np.isfinite(result))[0, 0])]
            raise TrajectoryError(f"the rates are not finite at {at:g} s")
        return result

    highest = _maximum(factors, trajectory.knots)
    return TimeScaled(trajectory, highest * (1.0 + _MARGIN) if highest > 0.0 else 1.0)


def _joint_limit(value: ArrayLike, name: str) -> Array:
    limits = np.atleast_1d(np.array(value, dtype=float))
    if limits.ndim != 1 or not np.all(limits > 0.0):
        raise TrajectoryError(f"{name} has entries that are not positive: {limits.tolist()}")
    return limits


def _maximum(function: Callable[[Array], Array], knots: Array) -> float:
    """The largest value of functions (m, count) of time that are smooth between knots."""
    starts, ends = knots[:-1], knots[1:]
    # A little inside, for functions that jump at the knots.
    inset = np.minimum(1e-12 * (ends - starts) + 4.0 * np.spacing(knots[-1]), 0.25 * (ends - starts))
    starts, ends = starts + inset, ends - inset
    t = starts[:, None] + (ends - starts)[:, None] * np.linspace(0.0, 1.0, _SAMPLES)
    values = function(t.reshape(-1)).reshape(*t.shape, -1)
    highest = float(values.max(initial=0.0))
    left = np.concatenate([values[:, :1], values[:, :-1]], axis=1)
    right = np.concatenate([values[:, 1:], values[:, -1:]], axis=1)
    piece, place, which = np.nonzero((values >= left) & (values >= right) & (values > _LOW * highest))
    low = t[piece, np.maximum(place - 1, 0)]
    high = t[piece, np.minimum(place + 1, _SAMPLES - 1)]
    rows = np.arange(len(low))
    while len(low) and float(np.max(high - low)) > 1e-9 * float(knots[-1] - knots[0]):
        times = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _ZOOM)
        near = function(times.reshape(-1)).reshape(*times.shape, -1)[rows, :, which]
        highest = max(highest, float(near.max()))
        best = np.argmax(near, axis=1)
        low, high = times[rows, np.maximum(best - 1, 0)], times[rows, np.minimum(best + 1, _ZOOM - 1)]
    return highest
