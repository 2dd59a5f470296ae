"""Input shaping of a timing law: impulses at half periods of a vibration whose frequency follows the pose.

A vibration of angular frequency w and damping ratio zeta that a law s(t) excites is excited again by its
copies, half a damped period later each, weighted so that all of them cancel:

    S(t) = sum over i of A_i s(t - i pi / w_d),      w_d = w sqrt(1 - zeta^2),      K = exp(-pi zeta w / w_d)

    zv   A ~ [1, K]                                no residual vibration at w
    zvd  A ~ [1, 2 K, K^2]                         nor, to first order, near w
    ei   A ~ [1 + V, 2 K (1 - V), K^2 (1 + V)]     at most V at w, and none at two frequencies about it

with sum A = 1 (Singer and Seering, *Preshaping command inputs to reduce system vibration*, 1990; Singhose,
Seering and Singer, *Residual vibration reduction using vector diagrams*, 1994).

Along a path w_d changes with the place s. In the phase Theta, dTheta = w_d dt, the vibration has one period
everywhere, so the copies are shifted there:

    S(Theta) = sum over i of A_i s(Theta - i pi),      t = integral of dTheta / w_d(S)
    S' = w_d dS/dTheta,      S'' = w_d^2 d2S/dTheta2 + w_d (dw_d/ds) (dS/dTheta)^2

exact where w_d is constant, and near it where w_d changes little in half a period. The way S of a path is
not left: only its timing changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline as Spline
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq

from nacelle.errors import did_you_mean
from nacelle.spatial.scalar import Array
from nacelle.trajectory.along_path import AlongPath, Path
from nacelle.trajectory.base import Sample, Trajectory, TrajectoryError
from nacelle.trajectory.timing import Progress, Timing

SHAPERS = ("zv", "zvd", "ei")
# What an EI shaper leaves at the frequency itself, over what it would be without a shaper.
_LEFT = 0.05
# Gauss-Legendre nodes of an interval of the phase, and steps of Newton's method that invert t(Theta).
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NEWTON = 6
# Intervals of the phase between two knots.
_INTERVALS = 16


def shaper_weights(shaper: str, damping: float = 0.0) -> Array:
    """Weights A (impulses,) of a shaper, half a damped period from one impulse to the next; their sum is 1.

    Args:
        shaper: "zv", "zvd" or "ei".
        damping: ratio of critical damping, at least 0 and below 1.
    """
    if shaper not in SHAPERS:
        raise TrajectoryError(f"no shaper is called {shaper!r}; {did_you_mean(shaper, SHAPERS)}")
    if not 0.0 <= damping < 1.0:
        raise TrajectoryError(f"the damping ratio {damping:g} is not between 0 and 1")
    weights = {"zv": [1.0, 1.0], "zvd": [1.0, 2.0, 1.0], "ei": [1.0 + _LEFT, 2.0 - 2.0 * _LEFT, 1.0 + _LEFT]}
    decay = math.exp(-math.pi * damping / math.sqrt(1.0 - damping**2))
    A = np.array(weights[shaper]) * decay ** np.arange(len(weights[shaper]))
    return np.asarray(A / A.sum())


class ShapedTiming(Timing):
    """A timing law after a shaper: sums of copies of it, half a period of a vibration apart.

    Attributes:
        law: the law that is shaped; only its form counts, its duration is what the shaper leaves.
        weights: A (impulses,).
    """

    def __init__(
        self, law: Timing, shaper: str, frequency: ArrayLike, duration: float, *, damping: float = 0.0
    ) -> None:
        """Shape a law.

        Args:
            law: the law.
            shaper: "zv", "zvd" or "ei".
            frequency: Hz, of the undamped vibration: one, or several equally spaced in s from 0 to 1.
            duration: of the whole motion, s.
            damping: ratio of critical damping.

        Raises:
            TrajectoryError: if the shaper alone takes longer than the duration.
        """
        values = np.atleast_1d(np.asarray(frequency, dtype=float))
        if values.ndim != 1 or not np.all(np.isfinite(values)) or not np.all(values > 0.0):
            raise TrajectoryError("the frequency is a number above zero, Hz, or several along the path")
        super().__init__(duration)
        self.law, self.weights = law, shaper_weights(shaper, damping)
        w = 2.0 * np.pi * math.sqrt(1.0 - damping**2) * (np.repeat(values, 2) if len(values) == 1 else values)
        # Of the logarithm: between positive frequencies all are positive.
        self._logarithm = CubicSpline(np.linspace(0.0, 1.0, len(w)), np.log(w))
        longest = 1.01 * duration * float(self._frequency(np.linspace(0.0, 1.0, 20 * len(w))).max())

        def excess(phase: float) -> float:
            self._set_phase(phase)
            return float(self._times[-1]) - duration

        shortest = 1e-9 * longest
        if excess(shortest) >= 0.0:
            raise TrajectoryError(
                f"the shaper {shaper!r} takes {self._times[-1]:.4g} s by itself, no less than the duration "
                f"of {duration:.4g} s (give a longer one, or a shaper with fewer impulses)"
            )
        self._set_phase(float(brentq(excess, shortest, longest, xtol=1e-15 * longest, rtol=1e-15)))

    def _set_phase(self, phase: float) -> None:
        """Take the phase that the law lasts; tabulate t(Theta) at the ends of intervals."""
        shifts = np.pi * np.arange(len(self.weights))
        knots = self.law.knots / self.law.duration * phase
        ends = np.unique(np.concatenate([knots + shift for shift in shifts]))
        grid = np.unique(np.linspace(ends[:-1], ends[1:], _INTERVALS + 1).ravel())
        self._phase, self._grid = phase, grid
        self._times = np.concatenate([[0.0], np.cumsum(self._interval_time(grid[:-1], grid[1:]))])
        self._knots = np.interp(ends, grid, self._times)

    def _frequency(self, s: Array) -> Array:
        """w_d (rad/s) at s."""
        return np.asarray(np.exp(self._logarithm(s)))

    def _sum(self, theta: Array) -> Progress:
        """S and its two derivatives by the phase."""
        T, phase = self.law.duration, self._phase
        total = np.zeros((3, *theta.shape))
        for k, weight in enumerate(self.weights):
            shifted = (theta - np.pi * k) / phase * T
            s, ds, dds = self.law(np.clip(shifted, 0.0, T))
            rests = (shifted < 0.0) | (shifted > T)
            total += weight * np.stack([s, np.where(rests, 0.0, ds), np.where(rests, 0.0, dds)])
        return Progress(total[0], total[1] * T / phase, total[2] * (T / phase) ** 2)

    def _interval_time(self, start: Array, end: Array) -> Array:
        """Time from one phase to another in the same interval."""
        half = 0.5 * (end - start)
        theta = (start + half)[..., None] + half[..., None] * _NODES
        return np.asarray(half * np.sum(_WEIGHTS / self._frequency(self._sum(theta).s), axis=-1))

    @property
    def knots(self) -> Array:
        """Times (knots,), s, between which the law is smooth, from 0 to `duration`."""
        return np.append(self._knots[:-1], self.duration)

    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""
        k = np.clip(np.searchsorted(self._times, t, side="right") - 1, 0, len(self._grid) - 2)
        start, end = self._grid[k], self._grid[k + 1]
        spans = self._times[k + 1] - self._times[k]
        theta = start + (end - start) * (t - self._times[k]) / spans
        for _ in range(_NEWTON):
            error = self._times[k] + self._interval_time(start, theta) - t
            theta = np.clip(theta - error * self._frequency(self._sum(theta).s), start, end)
        s, ds, dds = self._sum(theta)
        rate = ds * self._frequency(s)
        return Progress(s, rate, dds * self._frequency(s) ** 2 + self._logarithm(s, 1) * rate * rate)


@dataclass(frozen=True, eq=False)
class SplineTiming(Timing):
    """A timing law s(t) that is a B-spline of degree 5 with equal intervals, at rest, s'' = 0, at its ends.

    Attributes:
        coefficients: (intervals + 5,); the first three are 0, the last three 1.
    """

    coefficients: Array

    @property
    def knots(self) -> Array:
        """Times (knots,), s, between which the law is smooth, from 0 to `duration`."""
        return np.linspace(0.0, self.duration, len(self.coefficients) - DEGREE + 1)

    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""
        spline = Spline(clamped_knots(self.duration, len(self.coefficients)), self.coefficients, DEGREE)
        return Progress(*(np.asarray(spline(t, nu)) for nu in range(3)))


DEGREE = 5


def clamped_knots(duration: float, count: int) -> Array:
    """Knots of a spline of `count` coefficients over a duration, its ends `DEGREE` + 1 times."""
    inner = np.linspace(0.0, duration, count - DEGREE + 1)
    return np.concatenate([np.zeros(DEGREE), inner, np.full(DEGREE, duration)])


class TimedForm(Timing):
    """A law in another time: s(t T_law / T)."""

    def __init__(self, law: Timing, duration: float) -> None:
        """Take a law and the duration T, s."""
        super().__init__(duration)
        self.law = law

    @property
    def knots(self) -> Array:
        """Times (knots,), s, between which the law is smooth, from 0 to `duration`."""
        return self.law.knots * (self.duration / self.law.duration)

    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""
        k = self.law.duration / self.duration
        s, ds, dds = self.law.inside(np.clip(t * k, 0.0, self.law.duration))
        return Progress(s, ds * k, dds * k * k)


class PathTiming(Timing):
    """The timing of a motion along a path as a law from 0 to 1."""

    def __init__(self, motion: AlongPath) -> None:
        """Take the timing of a motion."""
        super().__init__(motion.duration)
        self.motion = motion

    @property
    def knots(self) -> Array:
        """Times (knots,), s, between which the law is smooth, from 0 to `duration`."""
        return self.motion.knots

    def inside(self, t: Array) -> Progress:
        """The law at times that lie in [0, duration]."""
        length = self.motion.path.length
        s, ds, dds = self.motion.progress(t)
        return Progress(s / length, ds / length, dds / length)


class Retimed(Trajectory):
    """A path with a timing law from 0 to 1.

    x(l s(t)), v = w l s', a = w l s'' + dw/ds (l s')^2, with l the parameter of the path at its end.
    """

    def __init__(self, path: Path, law: Timing) -> None:
        """Take a path and a law from 0 to 1."""
        self.path, self.law = path, law
        super().__init__(path.motion, law.duration, law.knots)

    def inside(self, t: Array) -> Sample:
        """The motion at times (m,) that lie in [0, duration]."""
        s, ds, dds = (self.path.length * part[:, None] for part in self.law.inside(t))
        x, w, dw = self.path(s[:, 0])
        return Sample(x, w * ds, w * dds + dw * ds * ds)
