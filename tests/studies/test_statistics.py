"""Statistics: textbook numbers, known Sobol indices, fronts by brute force, and how often intervals hold."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from nacelle.spatial.scalar import Array
from nacelle.studies.designs import SaltelliDesign, random_points, saltelli
from nacelle.studies.statistics import (
    Estimate,
    SobolIndices,
    pareto_front,
    rank_correlations,
    sobol_indices,
    summarise,
)


def _holds(estimate: Estimate, truth: float) -> bool:
    return estimate.low <= truth <= estimate.high


# ---- summaries


def test_a_small_sample_by_hand() -> None:
    """Bonett (2006) gives this example's standard deviation; Student's t of 7 degrees is 2.364624."""
    values = np.array([15.83, 16.01, 16.24, 16.42, 15.33, 15.44, 16.88, 16.31])
    summary = summarise(values, np.ones(8, dtype=bool))
    mean = sum(values) / 8
    s = math.sqrt(sum((x - mean) ** 2 for x in values) / 7)
    np.testing.assert_allclose(
        summary.mean, [mean, mean - 2.364624 * s / 8**0.5, mean + 2.364624 * s / 8**0.5], rtol=1e-6
    )
    np.testing.assert_allclose(summary.deviation, [0.5168, 0.3263, 1.0841], atol=6e-5)
    # P(all 8 on one side) = 2^-8; P(at most one on a side) = 9/256 > 2.5 %.
    assert summary.quantiles[1][1:] == (15.33, 16.88)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilson(k: int, n: int, low: float, high: float) -> None:
    """(z^2 + 2k -+ z sqrt(z^2 + 4k(1 - k/n))) / (2(n + z^2)); 81 of 263 is Newcombe's (1998) example."""
    share = summarise(np.arange(float(n)), np.arange(n) < k).share
    np.testing.assert_allclose(share, [k / n, low, high], atol=5e-5)


@given(st.integers(1, 300), st.integers(0, 2))
def test_quantiles_lie_between_the_right_order_statistics(n: int, which: int) -> None:
    """Both tails of the binomial have at most 2.5 %, and one more step would have more."""
    p = (0.05, 0.5, 0.95)[which]
    tail = np.cumsum([math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)])
    low, high = summarise(np.arange(1.0, n + 1.0), np.ones(n, dtype=bool)).quantiles[which][1:]
    lower, upper = (int(0 if np.isnan(low) else low), int(n + 1 if np.isnan(high) else high))
    assert lower == 0 or tail[lower - 1] <= 0.025
    assert tail[lower] > 0.025
    assert upper == n + 1 or 1.0 - tail[upper - 1] <= 0.025 + 1e-12
    assert upper == 1 or 1.0 - tail[upper - 2] > 0.025 - 1e-12


def test_the_median_of_a_hundred() -> None:
    summary = summarise(np.arange(100.0, 0.0, -1.0), np.ones(100, dtype=bool))
    assert summary.quantiles[1] == (50.5, 40.0, 61.0)


def test_variants_that_do_not_count() -> None:
    random = np.random.default_rng(0)
    values, ok = random.normal(size=500), random.random(500) < 0.7
    values[::7] = np.nan
    values[5] = np.inf
    summary = summarise(values, ok)
    kept = values[ok & np.isfinite(values)]
    alone = summarise(kept, np.ones(len(kept), dtype=bool))
    assert summary.mean == alone.mean
    assert summary.deviation == alone.deviation
    assert summary.quantiles == alone.quantiles
    assert (summary.count, summary.used) == (500, len(kept))
    assert summary.share.value == ok.mean()


def test_tiny_samples() -> None:
    def rows(values: list[float]) -> Array:
        summary = summarise(np.array(values), np.ones(len(values), dtype=bool))
        return np.array([summary.share, summary.mean, summary.deviation, *summary.quantiles])

    assert np.all(np.isnan(rows([])))
    assert np.array_equal(np.isnan(rows([3.0])[1:]), [[0, 1, 1], [1, 1, 1], *[[0, 1, 1]] * 3])
    assert np.array_equal(np.isnan(rows([3.0, 4.0])[1:3]), [[0, 0, 0], [0, 1, 1]])
    assert np.array_equal(rows([2.0] * 9)[2], [0.0, np.nan, np.nan], equal_nan=True)


# Distribution, its mean, standard deviation and inverse distribution function.
DISTRIBUTIONS: dict[str, tuple[Callable[..., Array], float, float, Callable[[float], float]]] = {
    "normal": (np.random.Generator.normal, 0.0, 1.0, {0.05: -1.644854, 0.5: 0.0, 0.95: 1.644854}.__getitem__),
    "uniform": (np.random.Generator.random, 0.5, 12**-0.5, lambda p: p),
    "exponential": (np.random.Generator.exponential, 1.0, 1.0, lambda p: -math.log1p(-p)),
}


def _assert_coverage(name: str, n: int, repetitions: int, least: dict[str, float]) -> None:
    """How often intervals hold the truth; an interval of 95 % may miss by four standard errors."""
    draw, mean, deviation, quantile = DISTRIBUTIONS[name]
    random = np.random.default_rng(1)
    hits = []
    for _ in range(repetitions):
        values, ok = draw(random, size=n), random.random(n) < 0.9
        summary = summarise(values, ok)
        hits.append(
            [
                _holds(summary.share, 0.9),
                _holds(summary.mean, mean),
                _holds(summary.deviation, deviation),
                *(_holds(q, quantile(p)) for q, p in zip(summary.quantiles, (0.05, 0.5, 0.95), strict=True)),
            ]
        )
    for row, share in zip(
        ("share", "mean", "deviation", "q05", "q50", "q95"), np.mean(hits, axis=0), strict=True
    ):
        level = least.get(row, 0.95)
        assert share > level - 4.0 * math.sqrt(0.05 * 0.95 / repetitions), (name, row, share)
        # Order statistics jump: their intervals hold up to 99 %.
        assert share < (0.995 if row.startswith(("q", "share")) else 0.99) + 0.01, (name, row, share)


def test_intervals_hold_the_truth() -> None:
    _assert_coverage("normal", 200, 150, {})


@pytest.mark.soak
@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [100, 400])
def test_intervals_hold_the_truth_often(name: str, n: int) -> None:
    """Student's and Bonett's intervals are those of large samples where values are skew."""
    _assert_coverage(name, n, 4000, {"mean": 0.935, "deviation": 0.915} if name == "exponential" else {})


# ---- Sobol indices


def ishigami(points: Array) -> Array:
    x = np.pi * (2.0 * points - 1.0)
    return np.asarray(np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0]))


def _ishigami_indices() -> tuple[Array, Array]:
    a, b, pi = 7.0, 0.1, math.pi
    V1, V2 = 0.5 * (1.0 + b * pi**4 / 5.0) ** 2, a**2 / 8.0
    V13 = b**2 * pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
    return np.array([V1, V2, 0.0]) / (V1 + V2 + V13), np.array([V1 + V13, V2, V13]) / (V1 + V2 + V13)


A_OF_G = np.array([0.0, 1.0, 4.5, 9.0])


def g_function(points: Array) -> Array:
    return np.asarray(np.prod((np.abs(4.0 * points - 2.0) + A_OF_G) / (1.0 + A_OF_G), axis=1))


def _g_indices() -> tuple[Array, Array]:
    V = 1.0 / (3.0 * (1.0 + A_OF_G) ** 2)
    total = np.prod(1.0 + V) - 1.0
    return V / total, V * np.prod(1.0 + V) / (1.0 + V) / total


FUNCTIONS = {"ishigami": (ishigami, _ishigami_indices()), "g": (g_function, _g_indices())}


def _indices_of(f: Callable[[Array], Array], design: SaltelliDesign, **options: int) -> SobolIndices:
    values = f(design.points()).reshape(-1, len(design.A))
    return sobol_indices(values[0], values[1], values[2:], **options)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_known_indices(name: str) -> None:
    f, (first, total) = FUNCTIONS[name]
    result = _indices_of(f, saltelli(4096, len(first), 1), resamples=100)
    np.testing.assert_allclose([e.value for e in result.first], first, atol=0.02)
    np.testing.assert_allclose([e.value for e in result.total], total, atol=0.01)
    # Sobol points are better than the independent ones that resampling takes them for.
    for estimates, truths in ((result.first, first), (result.total, total)):
        assert all(_holds(e, t) and e.high - e.low < 0.15 for e, t in zip(estimates, truths, strict=True))
    assert (set(result.used), result.failed) == ({4096}, 0)


def test_rows_that_failed_are_as_if_they_had_not_been() -> None:
    design = saltelli(512, 3, 2)
    values = ishigami(design.points()).reshape(5, 512)
    values[0, :10] = np.nan
    values[1, 10:20] = np.inf
    values[4, 20:50] = np.nan
    result = sobol_indices(values[0], values[1], values[2:], resamples=20)
    assert result.used == (492, 492, 462)
    assert result.failed == 50
    for k, start in ((0, 20), (1, 20), (2, 50)):
        rest = values[:, start:]
        alone = sobol_indices(rest[0], rest[1], rest[2:], resamples=20)
        np.testing.assert_allclose(result.first[k].value, alone.first[k].value, rtol=1e-12)
        np.testing.assert_allclose(result.total[k].value, alone.total[k].value, rtol=1e-12)


def test_indices_do_not_depend_on_origin_and_unit_and_resampling_on_its_seed_alone() -> None:
    design = saltelli(256, 3, 0)
    result = _indices_of(ishigami, design, seed=4, resamples=50)
    assert _indices_of(ishigami, design, seed=4, resamples=50) == result
    assert _indices_of(ishigami, design, seed=5, resamples=50) != result
    other = _indices_of(lambda x: 1e6 + 1e-3 * ishigami(x), design, seed=4, resamples=50)
    np.testing.assert_allclose(other.first, result.first, atol=1e-5)


def test_what_has_no_indices() -> None:
    constant = _indices_of(lambda x: np.full(len(x), 0.1), saltelli(51, 2, 0), resamples=5)
    failed = _indices_of(lambda x: np.full(len(x), np.nan), saltelli(64, 2, 0), resamples=5)
    assert np.all(np.isnan([constant.first, constant.total, failed.first, failed.total]))
    assert failed.failed == 4 * 64
    few = _indices_of(g_function, saltelli(8, 4, 0), resamples=5)
    assert np.array_equal(np.isnan(few.first), [[False, True, True]] * 4)


@pytest.mark.soak
@pytest.mark.parametrize("name", FUNCTIONS)
def test_intervals_of_indices_hold_the_truth_often(name: str) -> None:
    """With independent points, as resampling assumes."""
    f, (first, total) = FUNCTIONS[name]
    P, hits = len(first), []
    for seed in range(400):
        points = random_points(1000, 2 * P, seed)
        result = _indices_of(f, SaltelliDesign(points[:, :P], points[:, P:]), resamples=200)
        hits.append(
            [_holds(*pair) for pair in zip((*result.first, *result.total), (*first, *total), strict=True)]
        )
    coverage = np.mean(hits, axis=0)
    assert np.all((coverage > 0.90) & (coverage < 0.99)), coverage


# ---- rank correlations


def test_rank_correlations_by_hand() -> None:
    """Of rows whose value is known, the cosine between ranks less their mean; ties share their ranks."""
    f = np.array([1.0, 2.0, np.nan, 3.0, 40.0, 50.0])
    x = np.array([[1.0, 3, 9, 1, 5, 7], [5, 4, 0, 3, 2, 1], [2] * 6, [1, 1, 0, 2, 3, 4]]).T
    rising, falling, constant, tied = rank_correlations(x, f)
    # Ranks 1.5, 3, 1.5, 4, 5 and 1, 2, 3, 4, 5.
    assert rising.value == pytest.approx(8.0 / math.sqrt(10.0 * 9.5))
    assert falling.value == pytest.approx(-1.0)
    assert np.isnan([*constant, tied.low, rising.high]).all()
    assert tied.value == pytest.approx(9.5 / math.sqrt(10.0 * 9.5))
    assert np.isnan(rank_correlations(x[:0], f[:0])).all()
    many = np.arange(30.0)
    assert rank_correlations(many[:, None], many**3)[0] == pytest.approx((1.0, 1.0, 1.0))


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_intervals_of_rank_correlations_hold_the_truth_often(rho: float) -> None:
    """Of normal numbers with correlation rho it is 6/π asin(rho/2); 1000 samples of 50."""
    random, truth = np.random.default_rng(0), 6.0 / np.pi * math.asin(0.5 * rho)
    x, noise = random.normal(size=(2, 1000, 50))
    f = rho * x + math.sqrt(1.0 - rho**2) * noise
    hits = [_holds(rank_correlations(x[k][:, None], f[k])[0], truth) for k in range(1000)]
    assert 0.92 < np.mean(hits) < 0.98


# ---- Pareto fronts


def _front_by_brute_force(F: Array, feasible: Array) -> Array:
    good = feasible & ~np.isnan(F).any(axis=1)
    front = [
        good[i] and not any(good[j] and np.all(F[j] <= F[i]) and np.any(F[j] < F[i]) for j in range(len(F)))
        for i in range(len(F))
    ]
    return np.array(front, dtype=bool)


ENTRIES = st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, -1e-9, np.inf, -np.inf, np.nan])


OBJECTIVES = st.integers(1, 4).flatmap(
    lambda M: npst.arrays(float, st.tuples(st.integers(0, 25), st.just(M)), elements=ENTRIES)
)


@given(OBJECTIVES, st.data())
def test_fronts_are_those_of_brute_force(F: Array, data: st.DataObject) -> None:
    feasible = data.draw(npst.arrays(bool, len(F)))
    assert np.array_equal(pareto_front(F, feasible=feasible), _front_by_brute_force(F, feasible))


@pytest.mark.parametrize("M", [2, 3, 5])
def test_fronts_of_random_points(M: int) -> None:
    F = np.random.default_rng(M).normal(size=(200, M))
    feasible = np.arange(200) % 5 > 0
    assert np.array_equal(pareto_front(F, feasible=feasible), _front_by_brute_force(F, feasible))


@pytest.mark.parametrize(("N", "M"), [(100_000, 2), (10_000, 4)])
def test_large_fronts(N: int, M: int) -> None:
    """A thousand points of a sphere, and what they dominate: the sphere is the front."""
    random = np.random.default_rng(0)
    sphere = -np.abs(random.normal(size=(1000, M)))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    behind = sphere[random.integers(1000, size=N - 1000)] + random.random((N - 1000, M)) + 1e-9
    order = random.permutation(N)
    front = pareto_front(np.concatenate([sphere, behind])[order], feasible=np.ones(N, dtype=bool))
    assert np.array_equal(front, order < 1000)
