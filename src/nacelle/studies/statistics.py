"""Statistics of a study: distributions with intervals, Sobol indices, Pareto fronts.

Intervals hold the true value with a probability of 95 %. What a sample is too small for is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.results import HasTable
from nacelle.spatial.scalar import Array

LEVEL = 0.95
"""Probability that an interval holds the true value."""
QUANTILES = (0.05, 0.5, 0.95)
"""Probabilities of the quantiles of a summary."""
# Probabilities of the ends of an interval.
_ENDS = (0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0)
# Rows that resampling needs: fewer say too little of what they are drawn from.
_ROWS = 20


class Estimate(NamedTuple):
    """A number that is estimated, and the ends of its interval.

    Attributes:
        value: the estimate.
        low: lower end of the interval; NaN where the sample is too small for it.
        high: upper end.
    """

    value: float
    low: float
    high: float


_UNKNOWN = Estimate(np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Summary(HasTable):
    """The distribution of a quantity over the variants of a study.

    Attributes:
        count: how many variants there are.
        used: how many of them are ok and have a finite value; statistics are of these.
        share: part of the variants that is ok (Wilson's interval).
        mean: of the values (Student's interval).
        deviation: standard deviation of the values (Bonett's interval, for kurtosis other than the normal
            distribution's; from 5 values on).
        quantiles: of probabilities `QUANTILES` (intervals between order statistics, for any distribution;
            those of 5 % and 95 % need about 80 values for both ends).
    """

    count: int
    used: int
    share: Estimate
    mean: Estimate
    deviation: Estimate
    quantiles: tuple[Estimate, ...]


def summarise(values: Array, ok: Array) -> Summary:
    """The distribution of a quantity.

    Args:
        values: of every variant (N,).
        ok: which variants count (N,); of these, values that are not finite are left out.
    """
    x = np.sort(values[ok & np.isfinite(values)])
    return Summary(
        count=len(values),
        used=len(x),
        share=_share(int(np.count_nonzero(ok)), len(values)),
        mean=_mean(x),
        deviation=_deviation(x),
        quantiles=tuple(_quantile(x, p) for p in QUANTILES),
    )


def _share(k: int, n: int) -> Estimate:
    from scipy.stats import binomtest

    return Estimate(k / n, *map(float, binomtest(k, n).proportion_ci(LEVEL, "wilson"))) if n else _UNKNOWN


def _mean(x: Array) -> Estimate:
    from scipy.stats import t

    if len(x) < 2:
        return Estimate(float(x[0]), np.nan, np.nan) if len(x) else _UNKNOWN
    half = t.ppf(_ENDS[1], len(x) - 1) * np.std(x, ddof=1) / np.sqrt(len(x))
    return Estimate(*map(float, np.mean(x) + half * np.array([0.0, -1.0, 1.0])))


def _deviation(x: Array) -> Estimate:
    """Standard deviation with the interval of Bonett (2006), Comput. Stat. Data Anal. 50, 775-782."""
    from scipy.stats import norm, trim_mean

    n = len(x)
    s = float(np.std(x, ddof=1)) if n > 1 else np.nan
    if n < 5 or s == 0.0:
        return Estimate(s, np.nan, np.nan)
    z = norm.ppf(_ENDS[1])
    c = n / (n - z)
    kurtosis = np.mean(((x - trim_mean(x, 0.5 / np.sqrt(n - 4.0))) / s) ** 4) * (n / (n - 1.0)) ** 2
    half = 0.5 * z * c * np.sqrt((kurtosis - (n - 3.0) / n) / (n - 1.0))
    return Estimate(s, *map(float, s * np.sqrt(c) * np.exp([-half, half])))


def _quantile(x: Array, p: float) -> Estimate:
    """Quantile of sorted values; the number of values below the true quantile is binomial."""
    from scipy.stats import binom

    if not len(x):
        return _UNKNOWN
    low, high = binom.ppf(_ENDS, len(x), p).astype(int)
    ends = np.concatenate([[np.nan], x, [np.nan]])[[low, high + 1]]
    return Estimate(*map(float, (np.quantile(x, p, method="median_unbiased"), *ends)))


@dataclass(frozen=True)
class SobolIndices(HasTable):
    """Parts of a quantity's variance that variables cause.

    Attributes:
        first: of every variable alone (P).
        total: of every variable, alone and together with others (P).
        used: of how many rows of the design the indices of every variable come (P).
        failed: how many variants of all P + 2 matrices had no value.
    """

    first: tuple[Estimate, ...]
    total: tuple[Estimate, ...]
    used: tuple[int, ...]
    failed: int


def sobol_indices(
    f_A: Array, f_B: Array, f_AB: Array, *, seed: int = 0, resamples: int = 500
) -> SobolIndices:
    """Sobol indices of the values at a design of Saltelli's (`nacelle.studies.designs.saltelli`).

        S_k  = mean(f_B (f_AB_k - f_A)) / var f        Saltelli et al. (2010)
        ST_k = mean((f_A - f_AB_k)^2) / (2 var f)      Jansen (1999)

    A row i counts for variable k where f_A, f_B and f_AB_k are all finite, in the variance, too; where many
    variants fail the indices are those of the variables' distribution among the rows that are left.

    Args:
        f_A: values at A (N,).
        f_B: values at B (N,).
        f_AB: values at AB_k, row k (P, N).
        seed: of the resampling.
        resamples: how often rows are drawn with replacement; intervals, from 20 rows on, are percentiles of
            these indices.
    """
    used = np.isfinite(f_A) & np.isfinite(f_B) & np.isfinite(f_AB)
    rows = used.sum(axis=1)
    a, b, ab = (np.where(used, f, 0.0) for f in (f_A, f_B, f_AB))
    mean = 0.5 * (a + b).sum(axis=1, keepdims=True) / np.maximum(rows, 1)[:, None]
    a, b, ab = (np.where(used, f - mean, 0.0) for f in (a, b, ab))
    terms = np.stack([used, a + b, a * a + b * b, b * (ab - a), 0.5 * (a - ab) ** 2])

    def indices(weights: Array) -> Array:
        # No BLAS: its order of summation depends on the number of cores.
        n, sums, squares, first, total = np.einsum("tkn,n->tk", terms, weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = squares / (2.0 * n) - (sums / (2.0 * n)) ** 2
            return np.asarray(np.stack([first, total]) / n / variance)

    count, random = len(f_A), np.random.default_rng(seed)
    values = indices(np.ones(count))
    resampled = [
        indices(np.bincount(random.integers(count, size=count), minlength=count).astype(float))
        for _ in range(resamples)
    ]
    ends = np.quantile(resampled, _ENDS, axis=0)
    low, high = np.where(rows < _ROWS, np.nan, ends)
    first, total = (
        tuple(Estimate(*map(float, row)) for row in zip(values[i], low[i], high[i], strict=True))
        for i in range(2)
    )
    failed = sum(int(np.count_nonzero(~np.isfinite(f))) for f in (f_A, f_B, f_AB))
    return SobolIndices(first, total, tuple(map(int, rows)), failed)


class Sensitivity(NamedTuple):
    """What the variables of a study do to a quantity.

    Attributes:
        quantity: its name.
        first: of every variable (P), its Sobol index alone, or its rank correlation.
        total: Sobol indices together with others (P); empty for rank correlations.
    """

    quantity: str
    first: tuple[Estimate, ...]
    total: tuple[Estimate, ...] = ()


def rank_correlations(x: Array, f: Array) -> tuple[Estimate, ...]:
    """Spearman's rank correlations of values (N,) with variables (N, P), NaN where one is constant.

    Rows that are not finite are left out. Intervals, from 20 rows on, are those of Fieller, Hartley and
    Pearson (1957), Biometrika 44, 470-481.
    """
    from scipy.stats import norm, rankdata

    whole = np.column_stack([f, x])
    ranks = rankdata(whole[np.isfinite(whole).all(axis=1)], axis=0)
    n = len(ranks)
    ranks -= 0.5 * (n + 1)
    sizes = np.sqrt(np.sum(ranks**2, axis=0))
    half = norm.ppf(_ENDS[1]) * np.sqrt(1.06 / (n - 3)) if n >= _ROWS else np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.clip(np.sum(ranks[:, :1] * ranks[:, 1:], axis=0) / sizes[0] / sizes[1:], -1.0, 1.0)
        ends = np.tanh(np.arctanh(r) + half * np.array([[-1.0], [1.0]]))
    return tuple(Estimate(*map(float, row)) for row in zip(r, *ends, strict=True))


def pareto_front(objectives: Array, *, feasible: Array) -> Array:
    """Which variants (N,) no other dominates: as good in all objectives and better in at least one.

    Args:
        objectives: to be minimised (N, M); variants with NaN are not on the front and dominate none.
        feasible: which variants are compared (N,). Equal ones are all on the front, or none.
    """
    front = np.zeros(len(objectives), dtype=bool)
    rows = np.flatnonzero(feasible & ~np.isnan(objectives).any(axis=1))
    if rows.size == 0:
        return front
    # Ranks instead of values: sums of them are exact, and finite for infinite objectives.
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in objectives[rows].T], axis=1)
    points, index = np.unique(ranks, axis=0, return_inverse=True)
    best = np.zeros(len(points), dtype=bool)
    if points.shape[1] == 2:
        # Sorted by the first objective, a point is on the front where the second one falls.
        best[0] = True
        best[1:] = points[1:, 1] < np.minimum.accumulate(points[:-1, 1])
    else:
        # What dominates a point has a smaller sum: the first of those left is on the front.
        left = np.argsort(points.sum(axis=1), kind="stable")
        while left.size:
            best[left[0]] = True
            left = left[(points[left] < points[left[0]]).any(axis=1)]
    front[rows] = best[index.ravel()]
    return front
