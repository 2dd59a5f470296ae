"""Timing: laws of how far along its way a motion is, s from 0 to 1, and faster and slower.

With u = t / T, T the duration (s), a law s = f(u) has ds/dt = f'(u) / T and d2s/dt2 = f''(u) / T^2. A path
x(s) then moves with x' = (dx/ds) ds/dt. With the largest f' = c_1 and |f''| = c_2 the shortest duration
within limits V on ds/dt (1/s) and A on d2s/dt2 (1/s^2) is

    T = max(c_1 / V, sqrt(c_2 / A))

Slowed down k times, y(t) = x(t / k) moves with y' = x' / k and y'' = x'' / k^2, and so do the joints, since
J v and J a + J' v scale alike. Limits V_i on |v_i| and A_i on |a_i| hold where

    k >= |v_i| / V_i      and      k >= sqrt(|a_i| / A_i)          for all t and i

and the least such k is the largest of these figures over time, m/s, rad/s, m/s^2 and rad/s^2.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from nacelle.spatial.scalar import Array
from nacelle.trajectory.base import (
    Sample,
    Trajectory,
    TrajectoryError,
    clip_times,
    positive_limit,
    read_positive,
)

# Rates of the joints and their derivatives, (..., m) each, of a motion of the platform.
Rates = Callable[[Sample], tuple[Array, Array]]

# Times looked at between two knots, and in each step of the search about a maximum.
_SAMPLES = 65
_ZOOM = 9
# Peaks lower than this part of the highest one seen are not searched.
_PEAK_PART = 0.9
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

    @property
    def unscaled(self) -> Trajectory:
        """The trajectory at its own speed."""
        return self._inner

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
    piece, sample, which = np.nonzero((values >= left) & (values >= right) & (values > _PEAK_PART * highest))
    low = t[piece, np.maximum(sample - 1, 0)]
    high = t[piece, np.minimum(sample + 1, _SAMPLES - 1)]
    rows = np.arange(len(low))
    while len(low) and float(np.max(high - low)) > 1e-9 * float(knots[-1] - knots[0]):
        times = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _ZOOM)
        near = function(times.reshape(-1)).reshape(*times.shape, -1)[rows, :, which]
        highest = max(highest, float(near.max()))
        best = np.argmax(near, axis=1)
        low, high = times[rows, np.maximum(best - 1, 0)], times[rows, np.minimum(best + 1, _ZOOM - 1)]
    return highest


# ---- timing laws: how far along its way, s from 0 to 1, a motion is at time t


class Progress(NamedTuple):
    """s, its rate ds (1/s) and the rate of that dds (1/s^2), arrays of one shape."""

    s: Array
    ds: Array
    dds: Array


@dataclass(frozen=True)
class Timing(ABC):
    """A timing law s(t) from 0 to 1 over `duration` seconds; at rest outside.

    Attributes:
        duration: time from s = 0 to s = 1, s.
    """

    duration: float

    # Largest ds and |dds| of the law over one second; they fall with the duration and its square.
    peak_speed: ClassVar[float]
    peak_acceleration: ClassVar[float]

    def __post_init__(self) -> None:
        read_positive(self.duration, "the duration")

    @classmethod
    def from_limits(cls, *, speed: float = math.inf, acceleration: float = math.inf) -> Self:
        """The fastest law of this kind with ds <= speed (1/s) and |dds| <= acceleration (1/s^2)."""
        duration = max(cls.peak_speed / speed, math.sqrt(cls.peak_acceleration / acceleration))
        if not 0.0 < duration < math.inf:
            raise TrajectoryError(f"{cls.__name__} needs a limit on the speed or the acceleration")
        return cls(duration)

    @property
    def knots(self) -> Array:
        """Times (knots,), s, between which the law is smooth, from 0 to `duration`."""
        return np.array([0.0, self.duration])

    @abstractmethod
    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""

    def __call__(self, t: ArrayLike) -> Progress:
        """The law at times t (...), in seconds; not-finite times give NaN."""
        times = np.asarray(t, dtype=float)
        clipped_times, resting = clip_times(times, self.duration)
        s, ds, dds = self.inside(clipped_times)
        bad = ~np.isfinite(times)
        still = np.where(bad, np.nan, 0.0)
        return Progress(np.where(bad, np.nan, s), np.where(resting, still, ds), np.where(resting, still, dds))


@dataclass(frozen=True)
class Uniform(Timing):
    """Constant speed, s = u with u = t / T: starts and stops at once."""

    peak_speed: ClassVar[float] = 1.0
    peak_acceleration: ClassVar[float] = 0.0

    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""
        return Progress(t / self.duration, np.full_like(t, 1.0 / self.duration), np.zeros_like(t))


@dataclass(frozen=True)
class Cubic(Timing):
    """s = 3 u^2 - 2 u^3, u = t / T: rest to rest, acceleration linear in time."""

    peak_speed: ClassVar[float] = 1.5
    peak_acceleration: ClassVar[float] = 6.0

    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""
        T = self.duration
        u = t / T
        return Progress(u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u) / T, (6.0 - 12.0 * u) / T**2)


@dataclass(frozen=True)
class Quintic(Timing):
    """s = 10 u^3 - 15 u^4 + 6 u^5, u = t / T: rest to rest, with acceleration zero at both ends."""

    peak_speed: ClassVar[float] = 1.875
    peak_acceleration: ClassVar[float] = 10.0 / math.sqrt(3.0)

    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""
        T = self.duration
        u = t / T
        remaining = 1.0 - u
        s = u**3 * (10.0 + u * (6.0 * u - 15.0))
        return Progress(s, 30.0 * (u * remaining) ** 2 / T, 60.0 * u * remaining * (remaining - u) / T**2)


@dataclass(frozen=True)
class Trapezoid(Timing):
    """Constant acceleration for `ramp` seconds, constant speed, constant deceleration.

    With the ramp r and the duration T the speed between is 1 / (T - r), the acceleration 1 / (r (T - r)).

    Attributes:
        ramp: time of acceleration and of deceleration, s, at most T / 2 (a triangle); T / 3 if left out.
    """

    ramp: float = math.nan

    def __post_init__(self) -> None:
        super().__post_init__()
        if math.isnan(self.ramp):
            object.__setattr__(self, "ramp", self.duration / 3.0)
        if not 0.0 < self.ramp <= 0.5 * self.duration:
            raise TrajectoryError(
                f"a ramp of {self.ramp:g} s does not fit into {self.duration:g} s (at most half of that)"
            )

    @classmethod
    def from_limits(cls, *, speed: float = math.inf, acceleration: float = math.inf) -> Self:
        """The fastest law with ds <= speed (1/s) and |dds| <= acceleration (1/s^2)."""
        if not 0.0 < acceleration < math.inf:
            raise TrajectoryError(f"{cls.__name__} needs a limit on the acceleration")
        ramp = min(speed / acceleration, 1.0 / math.sqrt(acceleration))
        cruise = acceleration * ramp
        return cls(max(1.0 / cruise + ramp, 2.0 * ramp), ramp)

    @property
    def knots(self) -> Array:
        """Times (knots,), s, between which the law is smooth, from 0 to `duration`."""
        return np.unique([0.0, self.ramp, self.duration - self.ramp, self.duration])

    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""
        T, ramp = self.duration, self.ramp
        speed = 1.0 / (T - ramp)
        acceleration = speed / ramp
        left = T - t
        rising, falling = t < ramp, left <= ramp
        s = np.where(rising, 0.5 * acceleration * t * t, speed * (t - 0.5 * ramp))
        ds = np.where(rising, acceleration * t, speed)
        return Progress(
            np.where(falling, 1.0 - 0.5 * acceleration * left * left, s),
            np.where(falling, acceleration * left, ds),
            np.where(falling, -acceleration, np.where(rising, acceleration, 0.0)),
        )


@dataclass(frozen=True)
class BangBang(Timing):
    """Constant acceleration 4 / T^2 over the first half of the time, constant deceleration over the other."""

    peak_speed: ClassVar[float] = 2.0
    peak_acceleration: ClassVar[float] = 4.0

    @property
    def knots(self) -> Array:
        """Times (knots,), s, between which the law is smooth, from 0 to `duration`."""
        return np.array([0.0, 0.5 * self.duration, self.duration])

    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""
        T = self.duration
        u = t / T
        first = u < 0.5
        return Progress(
            np.where(first, 2.0 * u * u, 1.0 - 2.0 * (1.0 - u) ** 2),
            4.0 * np.where(first, u, 1.0 - u) / T,
            np.where(first, 4.0, -4.0) / T**2,
        )


LAWS: dict[str, type[Timing]] = {
    "quintic": Quintic,
    "cubic": Cubic,
    "trapezoid": Trapezoid,
    "bang-bang": BangBang,
    "uniform": Uniform,
}


def read_timing(
    timing: str | Timing, duration: float | None, speed: float | None, acceleration: float | None
) -> Timing:
    """The law of a name and a duration, or of a name and limits on ds and dds; or a law as it is."""
    limited = speed is not None or acceleration is not None
    if isinstance(timing, Timing):
        if duration is not None or limited:
            raise TrajectoryError("the timing law has its own duration (give no other, and no limits)")
        return timing
    if timing not in LAWS:
        raise TrajectoryError(f"{timing!r} is not a timing law (known: {', '.join(LAWS)})")
    law = LAWS[timing]
    if (duration is not None) == limited:
        raise TrajectoryError("give the duration, or limits on the speed and the acceleration")
    if duration is not None:
        return law(duration)
    return law.from_limits(
        speed=math.inf if speed is None else speed,
        acceleration=math.inf if acceleration is None else acceleration,
    )
