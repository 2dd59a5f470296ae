"""Least squares, weighted and reweighted, on regressions whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacelle.identification.estimation.closed_loop import InstrumentalVariables
from nacelle.identification.estimation.estimator import Estimator
from nacelle.identification.estimation.least_squares import (
    OrdinaryLeastSquares,
    ReweightedLeastSquares,
    WeightedLeastSquares,
)
from nacelle.identification.estimation.regression import Regression
from support.identification import fivebar_base, linear_regression, with_noise

Array = np.ndarray
ALL = (OrdinaryLeastSquares, WeightedLeastSquares, ReweightedLeastSquares, InstrumentalVariables)


def truth(seed: int = 9) -> Array:
    base = fivebar_base()
    return base.values + np.random.default_rng(seed).normal(size=len(base))


def noisy(seed: int = 0, sizes: tuple[float, float] = (0.1, 0.1), **options: Any) -> Regression:
    data = linear_regression(fivebar_base(), beta=truth(), seed=seed, **options)
    rng = np.random.default_rng(100 + seed)
    return with_noise(data, rng.normal(size=data.force.shape) * sizes)


def error(estimator: Estimator) -> float:
    return float(np.linalg.norm(estimator.coef_ - truth()))


@pytest.mark.parametrize("kind", ALL)
def test_without_noise_the_truth(kind: type[Estimator]) -> None:
    data = linear_regression(fivebar_base(), beta=truth())
    estimator = kind().fit(data)
    np.testing.assert_allclose(estimator.coef_, truth(), rtol=1e-10)
    assert estimator.score(data) == pytest.approx(1.0, abs=1e-12)


def test_ordinary_is_that_of_numpy() -> None:
    data = noisy()
    flat = data.Y.reshape(-1, len(data.base))
    wanted = np.linalg.lstsq(flat, data.force.ravel(), rcond=None)[0]
    np.testing.assert_allclose(OrdinaryLeastSquares().fit(data).coef_, wanted, rtol=1e-9)


def test_weighted_is_that_of_numpy_with_rows_over_their_noise() -> None:
    data = noisy(sizes=(0.02, 1.0))
    estimator = WeightedLeastSquares().fit(data)
    sizes = np.array([0.02, 1.0])
    flat = (data.Y / sizes[:, None]).reshape(-1, len(data.base))
    wanted = np.linalg.lstsq(flat, (data.force / sizes).ravel(), rcond=None)[0]
    # The weights are estimated: they change estimates by far less than noise does.
    assert np.max(np.abs(estimator.coef_ - wanted) / estimator.std_) < 0.1
    np.testing.assert_allclose(estimator.noise_, sizes, rtol=0.15)


def test_a_row_without_noise_does_not_take_all_the_weight() -> None:
    data = noisy(sizes=(0.0, 0.1))
    estimator = WeightedLeastSquares().fit(data)
    assert np.all(np.isfinite(estimator.coef_))
    assert np.all(np.isfinite(estimator.std_))
    assert error(estimator) < 1e-3


@pytest.mark.parametrize("size", [20.0, 200.0])
def test_outliers(size: float) -> None:
    """One sample of twenty is wrong: reweighted estimates are at least five times as good."""
    ratios = []
    for seed in range(5):
        data = noisy(seed)
        rng = np.random.default_rng(200 + seed)
        wrong = rng.uniform(size=data.force.shape) < 0.05
        data = with_noise(data, size * wrong * rng.choice([-1.0, 1.0], size=wrong.shape))
        robust = ReweightedLeastSquares().fit(data)
        ratios.append(error(robust) / error(OrdinaryLeastSquares().fit(data)))
        assert np.all(robust.weights_[wrong] < 0.1 * np.median(robust.weights_))
    assert np.median(ratios) < 0.2


@pytest.mark.slow
def test_reweighted_is_nearly_as_good_as_ordinary_on_normal_noise() -> None:
    ratios = [
        error(ReweightedLeastSquares().fit(noisy(seed))) / error(OrdinaryLeastSquares().fit(noisy(seed)))
        for seed in range(8)
    ]
    assert 0.9 < np.mean(ratios) < 1.2


def test_one_iteration_is_an_option() -> None:
    data = with_noise(noisy(), 50.0 * (np.arange(300) % 25 == 0)[:, None])
    once = ReweightedLeastSquares(iterations=1).fit(data)
    often = ReweightedLeastSquares().fit(data)
    assert error(often) < error(once) < error(OrdinaryLeastSquares().fit(data))


@pytest.mark.costly
@pytest.mark.parametrize("kind", ALL)
@settings(max_examples=4)
@given(st.integers(0, 1000), st.floats(-6.0, 6.0))
def test_units_do_not_matter(kind: type[Estimator], seed: int, power: float) -> None:
    """Columns in other units give the same estimates in those units; forces in other units likewise."""
    data = noisy()
    own = kind().fit(data)
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-6.0, 6.0, len(data.base))
    K = data.base.K * scale[:, None]
    base = replace(data.base, K=K)
    other = replace(data, base=base, Y=data.Y / scale, Z=data.Z / scale)
    estimator = kind().fit(other)
    np.testing.assert_allclose(estimator.coef_ / scale, own.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(estimator.std_ / scale, own.std_, rtol=1e-6)
    assert estimator.condition_ == pytest.approx(own.condition_, rel=1e-6)
    factor = 10.0**power
    larger = replace(data, base=replace(base, K=data.base.K * factor), force=data.force * factor)
    np.testing.assert_allclose(kind().fit(larger).coef_ / factor, own.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ALL)
def test_what_does_not_count_does_not_count(kind: type[Estimator]) -> None:
    """Samples that are left out are the same as samples that were never there."""
    data = noisy(missing=0.3)
    shorter = replace(
        data,
        Y=data.Y[data.used],
        Z=data.Z[data.used],
        force=data.force[data.used],
        used=data.used[data.used],
        lengths=(data.count,),
    )
    one, two = kind().fit(data), kind().fit(shorter)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9)
    np.testing.assert_allclose(one.noise_, two.noise_, rtol=1e-9)
