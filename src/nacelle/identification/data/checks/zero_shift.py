"""Shifts of encoder zeros by maximum likelihood, one direction at a time, and how certain they are.

Along a direction u of zeros (one encoder, or all of them) the model of `zero_model` has the slope d = D_p u.
From a fit with residuals r the best shift is s = d^T r / d^T d (Gauss-Newton), repeated until it does not
move; the start is the best of several sizes to both sides, since far away costs have other minima (`Scan`).
Its variance is the larger of

    sum over t, l of k_l g_t g_(t+l) / (d^T d)^2,    g_t = the sum of d r over the forces of instant t
    S^2 / d^T d,                                     S the deviation were 60 samples of a force independent

The first (Newey and West, k_l = 1 - |l| / L, L a tenth of the record) counts how residuals are correlated
over time; the second is the floor for what the model lacks, which a longer record of the same motion does not
average out.

Costs C(z) = |r(z)|^2 are no parabolas, so a shift is judged by what it explains, not by its size alone: with
e = sqrt(d^T d) times its deviation, what one row is uncertain by,

    T = sqrt(C(0) - C(s)) / e                        (the ratio of likelihoods; s / deviation for a parabola)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nacelle.identification.data.checks.zero_model import ZeroFit, ZeroModel
from nacelle.spatial.scalar import Array

# Deviations from which on a shift is reported, and from which on it is looked at closely.
BELIEVED, _PROMISING = 5.0, 2.0
# Sizes from which the iteration may start, rad or robot sizes; its steps, the longest and the shortest, and
# the part of a deviation that is not worth a step.
_STARTS = (0.12, 0.25, 0.5)
_STEPS, _LARGEST, _DONE, _DONE_PART = 8, 0.2, 1e-4, 0.05
# Part of the record over which residuals may be correlated.
_CORRELATED = 0.1
# Slopes below this, forces per rad or robot size, are none.
_NONE = 1e-5


@dataclass(frozen=True, eq=False)
class Shift:
    """A shift of zeros along a direction, from a fit.

    Attributes:
        direction: u (actuators,), ones and zeros.
        fit: the fit that it is relative to.
        size: s, rad or robot sizes.
        deviation: its standard deviation; infinite where the direction has no effect.
        row: e, what one row is uncertain by, in parts of the forces.
    """

    direction: Array
    fit: ZeroFit
    size: float
    deviation: float
    row: float

    def explained(self, other: ZeroFit) -> float:
        """T: how many deviations better than another fit of the same model this one is."""
        return float(np.sqrt(max(other.cost - self.fit.cost, 0.0)) / self.row)


def linear_shift(model: ZeroModel, fit: ZeroFit, direction: Array) -> Shift | None:
    """The best shift s = d^T r / d^T d of a model that is linear about a fit; None without poses near by.

    d = D_p u is the slope along the direction u (actuators,), r the residuals; rad or robot sizes.
    """
    d = model.slope(fit, direction)
    if d is None:
        return None
    square = float(d @ d)
    if square <= _NONE**2 * fit.count:
        return Shift(direction, fit, 0.0, np.inf, model.deviation(fit))
    size = float(d @ fit.residual) / square
    r = fit.residual - size * d
    own, prior = d[: fit.count], d[fit.count :]
    variance = score_variance(model.correlated(own * r[: fit.count])) * fit.count / fit.freedom
    variance += model.prior**2 * float(prior @ prior)
    own_deviation = float(np.sqrt(variance)) / square
    # The noise of this fit, without what the shift explains.
    left = np.sqrt(min(float(np.sum(r[: fit.count] ** 2) / np.sum(fit.residual[: fit.count] ** 2)), 1.0))
    floor = model.deviation(fit) * float(left / np.sqrt(square))
    deviation = max(own_deviation, floor)
    return Shift(direction, fit, size, deviation, float(deviation * np.sqrt(square)) + 1e-300)


def score_variance(scores: Array) -> float:
    """Variance of the sum of scores (instants,) that are correlated over time (Newey and West)."""
    lags = max(2, int(_CORRELATED * len(scores)))
    total = float(scores @ scores)
    for lag in range(1, lags):
        total += 2.0 * (1.0 - lag / lags) * float(scores[:-lag] @ scores[lag:])
    return max(total, 0.0)


@dataclass(frozen=True, eq=False)
class Scan:
    """Costs along a direction of zeros, near a fit and far from it.

    Attributes:
        model: the model.
        fit: the fit.
        direction: u (actuators,).
        near: the shift of the model that is linear about it; None if coordinates have no poses near by.
        sides: fits at `_STARTS` to each side, as far as coordinates have poses.
    """

    model: ZeroModel
    fit: ZeroFit
    direction: Array
    near: Shift | None
    sides: tuple[tuple[ZeroFit, ...], tuple[ZeroFit, ...]]

    @classmethod
    def of(cls, model: ZeroModel, fit: ZeroFit, direction: Array) -> Scan:
        """Scan a direction (actuators,) from a fit."""
        below, above = (tuple(_toward(model, fit, side * direction)) for side in (-1.0, 1.0))
        return cls(model, fit, direction, linear_shift(model, fit, direction), (below, above))

    def start(self) -> ZeroFit | None:
        """The best of the fits, to search on from; None if a shift hardly explains more."""
        best = min((self.fit, *self.sides[0], *self.sides[1]), key=lambda entry: entry.cost)
        if best.cost < self.fit.cost - (_PROMISING * self.model.deviation(self.fit)) ** 2:
            return best
        near = self.near
        return best if near is None or abs(near.size) > _PROMISING * near.deviation else None

    def visible(self, certain: float) -> float:
        """The smallest shift that makes T at least `certain` to both sides, rad or robot sizes.

        T is that of the fit over one with the shift, whose zeros would be read. A shift after which
        coordinates have no poses is seen by that.
        """
        near = self.near
        if near is None or not np.isfinite(near.deviation):
            return np.inf
        size = certain * near.deviation
        lowest = min(entry.cost for entry in (self.fit, *self.sides[0], *self.sides[1]))
        for fits in self.sides:
            sizes = [0.0, *(float(np.max(np.abs(entry.zeros - self.fit.zeros))) for entry in fits)]
            T = [0.0, *(float(np.sqrt(entry.cost - lowest)) / near.row for entry in fits)]
            k = next((k for k in range(1, len(T)) if T[k] >= certain), None)
            if k is not None:
                part = (certain - T[k - 1]) / (T[k] - T[k - 1])
                size = max(size, sizes[k - 1] + part * (sizes[k] - sizes[k - 1]))
            elif fits:
                # Beyond the last fit in proportion, as far as there are poses.
                end = next((start for start in _STARTS if start > sizes[-1]), np.inf)
                size = max(size, min(sizes[-1] * certain / max(T[-1], 1e-300), end))
        return float(size)


def _toward(model: ZeroModel, fit: ZeroFit, direction: Array) -> Iterator[ZeroFit]:
    """Fits at shifts of some sizes to one side; where coordinates have no poses, half way to there."""
    last, reached = fit, 0.0
    for size in _STARTS:
        there = model.toward(last, fit.zeros + size * direction)
        if there is None:
            half = model.toward(last, fit.zeros + 0.5 * (reached + size) * direction)
            if half is not None:
                yield half
            break
        yield there
        last, reached = there, size


def best_shift(model: ZeroModel, fit: ZeroFit, direction: Array) -> Shift | None:
    """The best fit along a direction, as the linear shift that remains there; None if there is none.

    Args:
        model: the model.
        fit: the fit to start from.
        direction: u (actuators,).
    """
    shift = linear_shift(model, fit, direction)
    for _ in range(_STEPS):
        if shift is None or abs(shift.size) < max(_DONE, _DONE_PART * shift.deviation):
            return shift
        following = _step(model, shift)
        if following is None:
            return shift
        shift = linear_shift(model, following, direction)
    return shift


def _step(model: ZeroModel, shift: Shift) -> ZeroFit | None:
    """The fit after a step of Gauss-Newton, made shorter until the cost falls; None if it never does."""
    fit, step = shift.fit, float(np.clip(shift.size, -_LARGEST, _LARGEST))
    while abs(step) > _DONE:
        there = model.toward(fit, fit.zeros + step * shift.direction)
        if there is not None and there.cost < fit.cost:
            return there
        step *= 0.4
    return None
