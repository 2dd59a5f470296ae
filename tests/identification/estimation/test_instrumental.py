"""Instrumental variables: free of the bias that errors of the encoders give least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nacelle.identification.estimation.closed_loop import InstrumentalVariables
from nacelle.identification.estimation.estimator import Estimator
from nacelle.identification.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from nacelle.identification.estimation.regression import Regression
from support.identification import fivebar_base, linear_regression

Array = np.ndarray


def errors_in_variables(seed: int, count: int = 2000) -> tuple[Regression, Array]:
    """A regressor with errors of a third of its size, instruments without them."""
    base = fivebar_base()
    beta = base.values + np.random.default_rng(9).normal(size=len(base))
    exact = linear_regression(base, beta=beta, lengths=(count,))
    rng = np.random.default_rng(seed)
    noise = 0.1 * rng.normal(size=exact.force.shape)
    Y = exact.Y + 0.33 * rng.normal(size=exact.Y.shape)
    return replace(exact, Y=Y, force=exact.force + noise), beta


def test_errors_of_the_regressor_bias_least_squares_alone() -> None:
    """Least squares shrinks by 1 / (1 + 0.33^2), however long one measures; instruments do not."""
    shrunk: dict[str, list[Array]] = {}
    for seed in range(8):
        data, beta = errors_in_variables(seed)
        kinds: tuple[type[Estimator], ...] = (OrdinaryLeastSquares, InstrumentalVariables)
        for kind in kinds:
            coef = kind().fit(data).coef_
            shrunk.setdefault(kind.__name__, []).append(coef @ beta / (beta @ beta))
    assert abs(np.mean(shrunk["OrdinaryLeastSquares"]) - 1.0 / (1.0 + 0.33**2)) < 0.01
    assert abs(np.mean(shrunk["InstrumentalVariables"]) - 1.0) < 0.01


def test_intervals_cover_with_instruments_and_do_not_without() -> None:
    covered: dict[str, list[Array]] = {}
    for seed in range(30):
        data, beta = errors_in_variables(seed, 600)
        kinds: tuple[type[Estimator], ...] = (OrdinaryLeastSquares, InstrumentalVariables)
        for kind in kinds:
            low, high = kind().fit(data).intervals().T
            covered.setdefault(kind.__name__, []).append((low <= beta) & (beta <= high))
    assert abs(np.mean(covered["InstrumentalVariables"]) - 0.95) < 0.03
    assert np.mean(covered["OrdinaryLeastSquares"]) < 0.8


def test_instruments_equal_to_the_regressor_are_weighted_least_squares() -> None:
    data, _ = errors_in_variables(3)
    same = replace(data, Z=data.Y)
    np.testing.assert_array_equal(
        InstrumentalVariables().fit(same).coef_, WeightedLeastSquares().fit(same).coef_
    )


def test_the_scale_of_instruments_does_not_matter() -> None:
    data, _ = errors_in_variables(4)
    scaled = replace(data, Z=data.Z * np.geomspace(1e-3, 1e3, len(data.base)))
    one, two = InstrumentalVariables().fit(data), InstrumentalVariables().fit(scaled)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-8)
    np.testing.assert_allclose(one.std_, two.std_, rtol=1e-4)
