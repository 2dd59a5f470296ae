"""Covariances against the textbook and against the scatter of estimates over many seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nacelle.identification.estimation.estimator import Estimator
from nacelle.identification.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from support.identification import fivebar_base, linear_regression, with_noise

Array = np.ndarray


def coloured_noise(rng: np.random.Generator, shape: tuple[int, int], memory: int) -> Array:
    """Noise of variance one, a mean over `memory` white samples."""
    white = rng.normal(size=(shape[0] + memory - 1, shape[1]))
    return sum(white[k : k + shape[0]] for k in range(memory)) / np.sqrt(memory)


def standardised_errors(
    kind: type[Estimator], noise: Callable[..., Array], seeds: int, **options: Any
) -> tuple[Array, Array]:
    """Errors over their stated deviations (seeds, k), and whether 95 % intervals cover the truth."""
    base = fivebar_base()
    beta = base.values + np.random.default_rng(9).normal(size=len(base))
    data = linear_regression(base, beta=beta, **options)
    z, covered = [], []
    for seed in range(seeds):
        rng = np.random.default_rng(1000 + seed)
        estimator = kind().fit(with_noise(data, noise(rng, data.force.shape)))
        z.append((estimator.coef_ - beta) / estimator.std_)
        low, high = estimator.intervals().T
        covered.append((low <= beta) & (beta <= high))
    return np.array(z), np.array(covered)


def assert_honest(z: Array, covered: Array) -> None:
    """Deviations right on the whole to 5 %, each to 20 %; intervals cover 90 to 99 % each."""
    seeds = len(z)
    spread = np.sqrt(np.mean(z**2, axis=0))
    assert np.sqrt(np.mean(z**2)) == pytest.approx(1.0, abs=0.1)
    assert np.all(np.abs(spread - 1.0) < 4.0 / np.sqrt(2.0 * seeds))
    # Four deviations of a binomial about 0.95.
    assert np.all(np.abs(np.mean(covered, axis=0) - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / seeds))


def test_white_noise_gives_the_textbook() -> None:
    """sigma^2 (Y^T Y)^-1, up to what the estimated lags scatter."""
    base = fivebar_base()
    data = linear_regression(base, beta=base.values, lengths=(20_000,), rows=1)
    noisy = with_noise(data, 0.3 * np.random.default_rng(5).normal(size=data.force.shape))
    estimator = OrdinaryLeastSquares().fit(noisy)
    Y = data.Y[:, 0]
    textbook = 0.3**2 * np.linalg.inv(Y.T @ Y)
    np.testing.assert_allclose(estimator.std_, np.sqrt(np.diag(textbook)), rtol=0.05)
    np.testing.assert_allclose(estimator.correlation_ - np.eye(len(base)), 0.0, atol=0.1)
    assert estimator.noise_ == pytest.approx(0.3, rel=0.03)


def test_white_noise() -> None:
    assert_honest(*standardised_errors(OrdinaryLeastSquares, lambda rng, shape: rng.normal(size=shape), 80))


@pytest.mark.slow
def test_coloured_noise_and_a_smooth_motion() -> None:
    """Taken as white, the noise would be much smaller than it is: the textbook's deviations are half."""
    z, covered = standardised_errors(
        OrdinaryLeastSquares, lambda rng, shape: coloured_noise(rng, shape, 3), 80, smooth=4, lengths=(400,)
    )
    assert_honest(z, covered)


@pytest.mark.slow
def test_rows_with_different_and_common_noise() -> None:
    """One row ten times as noisy as the other, and a part that both have in common."""

    def noise(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        common = coloured_noise(rng, (shape[0], 1), 2)
        return coloured_noise(rng, shape, 2) * [0.1, 1.0] + 0.1 * common

    for kind in (OrdinaryLeastSquares, WeightedLeastSquares):
        assert_honest(*standardised_errors(kind, noise, 60, smooth=3))


@pytest.mark.slow
def test_gaps_and_parts() -> None:
    z, covered = standardised_errors(
        WeightedLeastSquares,
        lambda rng, shape: coloured_noise(rng, shape, 3),
        80,
        smooth=3,
        lengths=(150, 40, 160),
        missing=0.15,
    )
    assert_honest(z, covered)


def test_noise_does_not_run_from_part_to_part() -> None:
    """Two parts in another order are the same data."""
    base = fivebar_base()
    data = linear_regression(base, beta=base.values, lengths=(200, 120), smooth=3)
    noisy = with_noise(data, coloured_noise(np.random.default_rng(1), data.force.shape, 3))
    order = np.r_[200:320, 0:200]
    swapped = replace(noisy, Y=noisy.Y[order], Z=noisy.Z[order], force=noisy.force[order], lengths=(120, 200))
    one, two = OrdinaryLeastSquares().fit(noisy), OrdinaryLeastSquares().fit(swapped)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9)
    np.testing.assert_allclose(one.std_, two.std_, rtol=1e-9)


def test_variances_are_never_negative() -> None:
    """With hardly more samples than parameters, too."""
    base = fivebar_base()
    data = linear_regression(base, beta=base.values, lengths=(len(base),), rows=2)
    for seed in range(20):
        noisy = with_noise(data, np.random.default_rng(seed).normal(size=data.force.shape))
        estimator = OrdinaryLeastSquares().fit(noisy)
        assert np.all(np.isfinite(estimator.std_))
        assert np.all(np.linalg.eigvalsh(estimator.covariance_) > -1e-12)


def test_noise_that_grows_with_frequency() -> None:
    """Differences of white noise, as of accelerations from encoders: intervals are never too narrow."""

    def noise(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        return np.diff(rng.normal(size=(shape[0] + 2, shape[1])), 2, axis=0)

    z, covered = standardised_errors(OrdinaryLeastSquares, noise, 60, smooth=4)
    assert np.all(np.isfinite(z))
    assert np.mean(covered) > 0.92
