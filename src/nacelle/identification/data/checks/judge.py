"""The judge of hypotheses: how well physics explains a measurement, were its columns meant otherwise.

Along the motion that the encoders show, forces are linear in the base parameters b (`nacelle.regressor`), in
offsets and in friction of each actuator, c, which a description need not have. With forces scaled by their
rms, each hypothesis is a least-squares problem with a prior, the description's parameters b_0:

    C = w |f - Y b - Z c|^2 + |(b - b_0) / s_b|^2 + |c / s_c|^2 + sum_i (log(F_i / F_i0) / log 3)^2 ...

s_b: 40 % of each parameter, and what makes 5 % of the forces, since parameters from CAD are that wrong; s_c:
half the rms for offsets, the rms for friction, which is never negative. w counts samples as if 60 of each
actuator were independent, each known to 10 %: what the model lacks is correlated over time. F_i are rms
values of forces, F_i0 those of the description; ranges of coordinates are compared likewise. The cost of the
right hypothesis is a few tens; that of a wrong one is greater by tens to thousands. Samples where an actuator
nearly stands are left out: there friction is hardly determined. With redundant actuation forces are judged as
they act on the platform, J_r^-T f.

Corrections: what a measurement would be if some of its columns were meant otherwise.

With S (N, 2 m) the columns q_1 .. q_m, f_1 .. f_m as they were read, a correction takes

    column k = factor_k S[:, place_k] + offset_k          time = pace * time as read

It is linear, so that it acts on smoothed columns and their derivatives alike: those of order d are divided by
pace^d. Corrections are applied one after the other: `then`.

Smoothed signals and their derivatives at a few hundred instants, for the checks alone.

They pass the filters that samples for an estimate pass (`filters`), at five times the band of the motion.
All of this is linear and acts on each column alone: swapped columns, signs, factors and offsets can be tried
on the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nacelle.dynamics.base_parameters.base_parameters import base_parameters
from nacelle.dynamics.jacobian import jacobian
from nacelle.dynamics.regressor import regressor
from nacelle.identification.data.filters import derivatives, low_pass, motion_band, settling_samples
from nacelle.identification.data.measurement import IDENTITY_CONVERSION, Conversion
from nacelle.identification.data.poses import MeasuredPath, measured_path, motion_from_rates
from nacelle.kinematics.flags import has_failed
from nacelle.model.robot import Robot
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import actuator_scales


@dataclass(frozen=True)
class Correction:
    """How columns are meant.

    Attributes:
        sources: for each column the one that holds it (2 m).
        factors: what it is multiplied with (2 m).
        offsets: what is added to it (2 m).
        time_scale: what time is multiplied with.
        kind: kind of the fault that it corrects, as in `findings`.
        columns: places of the columns that it is about.
        message: what is wrong.
        hint: what would be right.
    """

    sources: tuple[int, ...]
    factors: tuple[float, ...]
    offsets: tuple[float, ...]
    time_scale: float = 1.0
    kind: str = ""
    columns: tuple[int, ...] = ()
    message: str = ""
    hint: str = ""

    @property
    def motion_key(self) -> tuple[object, ...]:
        """What the corrected coordinates depend on."""
        m = len(self.sources) // 2
        return self.sources[:m], self.factors[:m], self.offsets[:m], self.time_scale

    def apply(self, columns: Array, order: int = 0) -> Array:
        """The corrected columns (N, 2 m), or derivatives of them of an order."""
        corrected = columns[:, self.sources] * np.array(self.factors)
        return np.asarray(
            corrected + np.array(self.offsets) if order == 0 else corrected / self.time_scale**order
        )

    def then(self, following: Correction) -> Correction:
        """This correction, then another one; kind, columns and words are the other's."""
        sources = tuple(self.sources[p] for p in following.sources)
        factors = tuple(
            f * self.factors[p] for f, p in zip(following.factors, following.sources, strict=True)
        )
        offsets = tuple(
            f * self.offsets[p] + o
            for f, p, o in zip(following.factors, following.sources, following.offsets, strict=True)
        )
        pace = self.time_scale * following.time_scale
        return replace(following, sources=sources, factors=factors, offsets=offsets, time_scale=pace)


def identity_correction(m: int) -> Correction:
    """Columns as they were read, for m actuators."""
    return Correction(tuple(range(2 * m)), (1.0,) * 2 * m, (0.0,) * 2 * m)


def swap_columns(
    m: int, i: int, j: int, first: Conversion = IDENTITY_CONVERSION, second: Conversion = IDENTITY_CONVERSION
) -> Correction:
    """Columns i and j in each other's place.

    Args:
        m: number of actuators.
        i: the first column.
        j: the second one.
        first: how the signal of i was made of the numbers of the file.
        second: how that of j was.
    """
    start = identity_correction(m)
    sources, factors, offsets = list(start.sources), list(start.factors), list(start.offsets)
    sources[i], sources[j] = j, i
    (a, b), (c, d) = first, second
    # numbers (S_j - d) / c are converted as those of i, and the other way round
    factors[i], offsets[i] = a / c, b - d * a / c
    factors[j], offsets[j] = c / a, d - b * c / a
    return replace(
        start, sources=tuple(sources), factors=tuple(factors), offsets=tuple(offsets), columns=(i, j)
    )


def scale_columns(m: int, columns: tuple[int, ...], factor: float) -> Correction:
    """Some columns times a factor."""
    start = identity_correction(m)
    factors = tuple(factor if k in columns else 1.0 for k in range(2 * m))
    return replace(start, factors=factors, columns=columns)


def offset_columns(m: int, offsets: Array) -> Correction:
    """Coordinates with offsets (m,) added."""
    return replace(identity_correction(m), offsets=(*(float(o) for o in offsets), *(0.0,) * m))


# ---- smoothed signals and their derivatives at a few hundred instants, for the checks alone


# Instants that are looked at, and the least number of samples from which they are taken.
_INSTANTS = 120
FEWEST = 40
# Cutoff of the filter over the band of the motion.
_CUTOFF = 5.0


@dataclass(frozen=True, eq=False)
class SmoothedSignals:
    """Signals at some instants.

    Attributes:
        samples: places of the instants among the samples (M,).
        value: of all columns (M, columns).
        rate: their derivatives (M, columns).
        acceleration: their second derivatives (M, columns).
    """

    samples: Array
    value: Array
    rate: Array
    acceleration: Array


def smooth_signals(time: Array, columns: Array, encoders: int) -> SmoothedSignals:
    """Smooth signals that may lack samples and may be sampled unequally.

    Args:
        time: s (N,), ascending.
        columns: signals (N, columns); NaN is interpolated.
        encoders: how many of the first columns are coordinates, whose spectrum gives the band.
    """
    count = len(time)
    even = np.linspace(time[0], time[-1], count)
    signals = np.stack([_interpolate(even, time, column) for column in columns.T], axis=-1)
    rate = (count - 1) / float(time[-1] - time[0])
    # The lower median: one of the columns may not be a coordinate.
    width = sorted(motion_band(signals[:, [k]], rate) for k in range(encoders))[(encoders - 1) // 2]
    value = low_pass(signals, _CUTOFF * width, rate)
    first, second = derivatives(value, rate)
    margin = min(settling_samples(_CUTOFF * width, rate), count // 4)
    instants = np.unique(np.linspace(margin, count - 1 - margin, _INSTANTS).round().astype(int))
    samples = np.clip(np.searchsorted(time, even[instants] - 0.5 / rate), 0, count - 1)
    return SmoothedSignals(samples, value[instants], first[instants], second[instants])


def _interpolate(even: Array, time: Array, column: Array) -> Array:
    present = np.isfinite(column)
    if not np.any(present):
        return np.zeros_like(even)
    return np.interp(even, time[present], column[present])


# ---- the judge of hypotheses: how well physics explains a measurement, were its columns meant in some way


# Independent samples of an actuator, and how well the model explains each, in parts of the rms.
_INDEPENDENT, MODEL_ACCURACY = 60.0, 0.1
# What parameters of the description are wrong by: a part of each, and of the forces.
_PART, _WIDE = 0.4, 0.05
# Prior of offset, viscous and Coulomb friction, in parts of the forces' rms.
_FRICTION = (0.5, 1.0, 1.0)
# Weights of what the rms of forces and the ranges of coordinates say.
_FORCE_SCALE, _RANGE_SCALE = 3.0, 1.0
# Rates below this part of their rms are left out.
SLOW_FRACTION = 0.15
# What each percent of samples without a pose costs, and how many of them make a hypothesis impossible.
_LOST, _MOST_LOST = 10.0, 0.05


@dataclass(frozen=True)
class HypothesisFit:
    """How well a hypothesis explains a measurement.

    Attributes:
        cost: C above; infinite if the coordinates belong to no poses.
        residual: rms of what remains of the forces over their own.
    """

    cost: float
    residual: float = np.inf


@dataclass(frozen=True, eq=False)
class _RegressorAlongPath:
    """Y (M, actuators, parameters) along a path, rates of the actuators, J_r^-1, which samples are good."""

    Y: Array
    rates: Array
    inverse: Array
    good: Array


class HypothesisTest:
    """Judges corrections of a measurement's columns.

    Attributes:
        robot: the robot.
        signals: columns q, f (M, 2 m) at some instants, smoothed.
    """

    def __init__(self, robot: Robot, signals: SmoothedSignals) -> None:
        """Keep the robot and the smoothed columns."""
        self.robot = robot
        self.signals = signals
        self.base = base_parameters(robot)
        self._motions: dict[object, _RegressorAlongPath | None] = {}
        self._paths: dict[object, MeasuredPath] = {}

    def verdict(self, correction: Correction) -> HypothesisFit:
        """Judge a correction."""
        along = self._cached_regressor(correction)
        if along is None:
            return HypothesisFit(np.inf)
        m = len(self.robot.actuators)
        lost = 1.0 - float(np.mean(along.good))
        columns = correction.apply(self.signals.value)
        cost, residual = self._fit(along, columns[along.good, m:])
        coordinates = columns[:, :m]
        ranges = np.ptp(coordinates, axis=0) / actuator_scales(self.robot) + 1e-12
        cost += _RANGE_SCALE * float(np.sum((np.log(ranges / np.median(ranges)) / np.log(3.0)) ** 2))
        return HypothesisFit(cost + 100.0 * _LOST * lost, residual)

    def path(self, correction: Correction) -> MeasuredPath:
        """The poses that corrected coordinates belong to, made once for all corrections of forces."""
        key = correction.motion_key
        if key not in self._paths:
            q = correction.apply(self.signals.value)[:, : len(self.robot.actuators)]
            self._paths[key] = measured_path(self.robot, q, largest_lost_fraction=_MOST_LOST)
        return self._paths[key]

    def _regressor_along(self, correction: Correction) -> _RegressorAlongPath | None:
        """The linear form along the corrected motion; None if too many coordinates belong to no pose."""
        m = len(self.robot.actuators)
        path = self.path(correction)
        if path.lost_share > _MOST_LOST:
            return None
        rate = correction.apply(self.signals.rate, 1)[:, :m]
        acceleration = correction.apply(self.signals.acceleration, 2)[:, :m]
        motion = motion_from_rates(
            self.robot, np.where(path.good[:, None], path.x, np.nan), rate, acceleration
        )
        good = motion.ok.copy()
        form = regressor(self.robot, motion.x[good], motion.v[good], motion.a[good], parameters=self.base)
        sound = ~has_failed(form.flags) & np.all(np.isfinite(form.Y), axis=(1, 2))
        good[good] = sound
        if np.mean(~good) > _MOST_LOST:
            return None
        return _RegressorAlongPath(
            form.Y[sound], rate[good], jacobian(self.robot, motion.x[good]).inverse, good
        )

    def _cached_regressor(self, correction: Correction) -> _RegressorAlongPath | None:
        """The linear form along the corrected motion, made once for all corrections of forces."""
        key = correction.motion_key
        if key not in self._motions:
            self._motions[key] = self._regressor_along(correction)
        return self._motions[key]

    def _fit(self, along: _RegressorAlongPath, force: Array) -> tuple[float, float]:
        """Cost of the least-squares problem, and the rms of its residual over that of the forces."""
        samples, m = force.shape
        expected = along.Y @ self.base.values
        rms, rms_expected = force_rms(force), force_rms(expected)
        speed = np.sqrt(np.mean(along.rates**2, axis=0)) + 1e-300
        drive = np.zeros((samples, m, 3 * m))
        every = np.arange(m)
        drive[:, every, 3 * every] = rms
        drive[:, every, 3 * every + 1] = rms * along.rates / speed
        drive[:, every, 3 * every + 2] = rms * np.tanh(along.rates / (0.05 * speed))
        form = np.concatenate([along.Y, drive], axis=2)
        rows, target = form / rms[:, None], force / rms
        keep = np.abs(along.rates) >= SLOW_FRACTION * speed
        if m > self.robot.motion.n:
            weight = along.inverse / projected_row_rms(along.inverse, rms)[:, None, :]
            rows = np.einsum("kin,kip->knp", weight, form)
            target = np.einsum("kin,ki->kn", weight, force)
            keep = np.ones(target.shape, dtype=bool)
        A, b = rows[keep], target[keep]
        w = np.sqrt(_INDEPENDENT * target.shape[1] / max(len(b), 1)) / MODEL_ACCURACY
        values = np.concatenate([self.base.values, np.zeros(3 * m)])
        size = np.sqrt(np.mean(A[:, : len(self.base)] ** 2, axis=0)) + 1e-300
        spread = np.concatenate([_PART * np.abs(self.base.values) + _WIDE / size, np.tile(_FRICTION, m)])
        positive = np.concatenate([np.zeros(len(self.base), dtype=bool), np.tile([False, True, True], m)])
        A, b = w * A * spread, w * (b - A @ values)
        solution = _nonnegative_ridge(A, b, positive)
        remaining = b - A @ solution
        scale = np.sum((np.log(rms / rms_expected) / np.log(3.0)) ** 2)
        cost = remaining @ remaining + solution @ solution + _FORCE_SCALE * scale
        return float(cost), float(np.sqrt(np.mean(remaining**2)) / w)


def force_rms(force: Array) -> Array:
    """Root mean square of forces (M, m) about their means, and a little of the means (m,)."""
    varying = np.sqrt(np.mean((force - np.mean(force, axis=0)) ** 2, axis=0))
    return np.asarray(varying + 0.05 * np.sqrt(np.mean(force**2, axis=0)) + 1e-12)


def projected_row_rms(inverse: Array, rms: Array) -> Array:
    """What the rows of J_r^-T f are measured in (1, n)."""
    squares = np.mean(np.einsum("kin,i->kin", inverse, rms) ** 2, axis=(0, 1))
    return np.asarray(np.sqrt(squares * len(rms)))[None, :]


def _nonnegative_ridge(A: Array, b: Array, positive: Array) -> Array:
    """Minimise |A x - b|^2 + |x|^2 with some entries not below zero, by leaving out those that would be."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

    H, g = A.T @ A + np.eye(A.shape[1]), A.T @ b
    R: Array | None = None
    free = np.ones(len(g), dtype=bool)
    solution = np.zeros(len(g))
    for _ in range(4):
        indices = np.flatnonzero(free)
        solution[:] = 0.0
        try:
            solution[indices] = cho_solve(cho_factor(H[np.ix_(indices, indices)]), g[indices])
        except LinAlgError:
            # Columns that are all but dependent, so that rounding of the squares is above the ones: by
            # A = Q R, without squares. The last column of R is Q^T b.
            if R is None:
                R = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))
            rows = np.concatenate([R[:, indices], np.eye(len(indices))])
            solution[indices] = lstsq(rows, np.concatenate([R[:, -1], np.zeros(len(indices))]))[0]
        below = positive & (solution < 0.0)
        if not np.any(below):
            break
        free &= ~below
    return np.maximum(solution, np.where(positive, 0.0, -np.inf))
