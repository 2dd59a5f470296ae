"""Priors: without any weight nothing changes, with all of it the description remains."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import IdentificationError
from nacelle.identification.estimation.estimator import CadPrior
from nacelle.identification.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from nacelle.identification.estimation.regression import Regression
from support.identification import fivebar_base, linear_regression, with_noise

Array = np.ndarray


def truth() -> Array:
    base = fivebar_base()
    return base.values + 0.3 * np.random.default_rng(9).normal(size=len(base))


def noisy(size: float = 0.2, count: int = 200, seed: int = 1) -> Regression:
    data = linear_regression(fivebar_base(), beta=truth(), lengths=(count,))
    return with_noise(data, size * np.random.default_rng(seed).normal(size=data.force.shape))


def test_a_prior_that_knows_nothing_changes_nothing() -> None:
    data = noisy()
    plain, wide = WeightedLeastSquares().fit(data), WeightedLeastSquares(prior=CadPrior(1e7)).fit(data)
    np.testing.assert_allclose(wide.coef_, plain.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(wide.std_, plain.std_, rtol=1e-6)


def test_a_prior_that_is_sure_keeps_the_description() -> None:
    data = noisy()
    estimator = WeightedLeastSquares(prior=CadPrior(1e-9)).fit(data)
    size = np.max(np.abs(data.base.values))
    np.testing.assert_allclose(estimator.coef_, data.base.values, atol=1e-7 * size)
    assert np.all(estimator.std_ < 1e-6 * size)


def test_a_prior_makes_deviations_smaller() -> None:
    data = noisy(count=30, size=2.0)
    plain, known = WeightedLeastSquares().fit(data), WeightedLeastSquares(prior=CadPrior(0.2)).fit(data)
    assert np.all(known.std_ < plain.std_)


def test_the_information_is_that_of_independent_parameters() -> None:
    """The covariance of beta = K z by drawing z."""
    base = fivebar_base()
    information = CadPrior(0.2).information(base)
    covariance = np.linalg.inv(information)
    rng = np.random.default_rng(0)
    values = np.abs(base.choice.values)
    alone = [k for k, name in enumerate(base.names) if name.endswith(".viscous")]
    for place in alone:
        k = base.kept[place]
        if np.count_nonzero(base.K[place]) == 1:
            drawn = base.K[place, k] * values[k] * (1.0 + 0.2 * rng.normal(size=100_000))
            assert np.sqrt(covariance[place, place]) == pytest.approx(np.std(drawn), rel=0.02)
    assert np.all(np.linalg.eigvalsh(information / np.outer(*2 * [np.sqrt(np.diag(information))])) > 0.0)
    np.testing.assert_allclose(CadPrior(0.4).information(base), information / 4.0, rtol=1e-9)


def test_what_the_data_leave_alone_comes_from_the_prior() -> None:
    """A column of zeros: without a prior infinite, with one that of the prior."""
    data = noisy()
    data.Y[..., 4] = 0.0
    plain = OrdinaryLeastSquares().fit(data)
    assert np.isinf(plain.std_[4])
    known = WeightedLeastSquares(prior=CadPrior(0.2)).fit(data)
    assert np.isfinite(known.std_[4])
    assert known.not_excited_ == plain.not_excited_ == (data.base.names[4],)


@pytest.mark.parametrize("deviation", [0.0, -1.0, np.nan, np.inf])
def test_deviations_that_cannot_be(deviation: float) -> None:
    with pytest.raises(IdentificationError, match="above zero"):
        CadPrior(deviation)
