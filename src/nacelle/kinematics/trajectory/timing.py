"""Timing laws: how far along its way, s from 0 to 1, a motion is at time t.

With u = t / T, T the duration (s), a law s = f(u) has ds/dt = f'(u) / T and d2s/dt2 = f''(u) / T^2. A path
x(s) then moves with x' = (dx/ds) ds/dt. With the largest f' = c_1 and |f''| = c_2 the shortest duration
within limits V on ds/dt (1/s) and A on d2s/dt2 (1/s^2) is

    T = max(c_1 / V, sqrt(c_2 / A))

    uniform     u                             c_1 = 1       c_2 = 0: it starts and stops at once
    cubic       3u^2 - 2u^3                   c_1 = 3/2     c_2 = 6
    quintic     10u^3 - 15u^4 + 6u^5          c_1 = 15/8    c_2 = 10/sqrt(3)
    bang-bang   2u^2, then 1 - 2(1 - u)^2     c_1 = 2       c_2 = 4

A trapezoid with ramps r has the speed 1 / (T - r) between them and the acceleration 1 / (r (T - r)) in them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from nacelle.kinematics.trajectory.arguments import read_positive
from nacelle.kinematics.trajectory.base import clipped
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.spatial.scalar import Array


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
        moved, resting = clipped(times, self.duration)
        s, ds, dds = self.inside(moved)
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
