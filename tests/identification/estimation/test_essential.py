"""Removal of parameters against fits without their columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.identification.estimation.estimator import essential_parameters
from nacelle.identification.estimation.least_squares import OrdinaryLeastSquares
from support.identification import fivebar_base, linear_regression, with_noise

Array = np.ndarray
SIGMA = 0.5
ZERO = (1, 4, 7, 12)


def fitted(seed: int = 0) -> OrdinaryLeastSquares:
    base = fivebar_base()
    beta = 1.0 + np.random.default_rng(9).uniform(size=len(base))
    beta[list(ZERO)] = 0.0
    data = linear_regression(base, beta=beta, lengths=(400,))
    rng = np.random.default_rng(100 + seed)
    return OrdinaryLeastSquares().fit(with_noise(data, SIGMA * rng.normal(size=data.force.shape)))


def textbook(estimator: OrdinaryLeastSquares) -> OrdinaryLeastSquares:
    """The same with the covariance of white noise, for which refits have a formula."""
    Y = estimator.regression_.Y.reshape(-1, len(estimator.coef_))
    estimator.covariance_ = SIGMA**2 * np.linalg.inv(Y.T @ Y)
    return estimator


def refit(estimator: OrdinaryLeastSquares, kept: list[int]) -> tuple[Array, float]:
    """Brute force: least squares with the columns `kept`, and its squares over SIGMA^2."""
    data = estimator.regression_
    Y, force = data.Y.reshape(-1, len(estimator.coef_))[:, kept], data.force.ravel()
    coef = np.linalg.lstsq(Y, force, rcond=None)[0]
    return coef, float(np.sum((force - Y @ coef) ** 2)) / SIGMA**2


@pytest.mark.parametrize("seed", range(3))
def test_removal_is_a_fit_without_the_columns(seed: int) -> None:
    estimator = textbook(fitted(seed))
    found = essential_parameters(estimator)
    kept = [k for k, name in enumerate(estimator.base_.names) if name in found.names]
    coef, squares = refit(estimator, kept)
    _, all_squares = refit(estimator, list(range(len(estimator.coef_))))
    np.testing.assert_allclose(found.coef[kept], coef, rtol=1e-8)
    assert found.chi_square == pytest.approx(squares - all_squares, rel=1e-6)
    Y = estimator.regression_.Y.reshape(-1, len(estimator.coef_))[:, kept]
    np.testing.assert_allclose(
        found.covariance[np.ix_(kept, kept)], SIGMA**2 * np.linalg.inv(Y.T @ Y), rtol=1e-8, atol=1e-15
    )


def test_the_first_that_goes_is_the_one_that_costs_least() -> None:
    """Against the refits without every single column."""
    estimator = textbook(fitted())
    width = len(estimator.coef_)
    cost = [refit(estimator, [j for j in range(width) if j != k])[1] for k in range(width)]
    first = estimator.base_.names[int(np.argmin(cost))]
    assert first in essential_parameters(estimator).removed_names


def test_zeros_are_found_and_nothing_else() -> None:
    """At a level of 95 % all four zeros go in most of 20 runs; parameters of 20 deviations never do."""
    names = fivebar_base().names
    zeros = {names[k] for k in ZERO}
    right = 0
    for seed in range(20):
        removed = set(essential_parameters(fitted(seed)).removed_names)
        assert removed <= zeros
        right += removed == zeros
    assert right >= 15


def test_nothing_goes_at_level_zero_and_more_at_a_higher_one() -> None:
    estimator = fitted()
    counts = [
        len(essential_parameters(estimator, level).removed_names) for level in (1e-12, 0.5, 0.95, 0.999999)
    ]
    assert counts[0] == 0
    assert counts == sorted(counts)


def test_what_was_not_excited_is_not_removed() -> None:
    """Nothing is said about it: neither that it is zero, nor that it is not."""
    estimator = fitted()
    data = estimator.regression_
    Y = data.Y.copy()
    Y[..., 4] = 0.0
    again = OrdinaryLeastSquares().fit(replace(data, Y=Y, Z=Y))
    found = essential_parameters(again)
    assert again.base_.names[4] not in found.removed_names
    assert found.coef[4] == pytest.approx(again.coef_[4], abs=1e-12)
    assert np.all(np.isfinite(found.std))
