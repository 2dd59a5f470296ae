"""What all estimators share: scikit-learn's manner, what is not excited, prediction, errors."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

from nacelle.errors import IdentificationError
from nacelle.identification.data.preparation import prepare
from nacelle.identification.estimation.closed_loop import InstrumentalVariables
from nacelle.identification.estimation.estimator import CadPrior, Estimator, essential_parameters
from nacelle.identification.estimation.least_squares import (
    OrdinaryLeastSquares,
    ReweightedLeastSquares,
    WeightedLeastSquares,
)
from nacelle.identification.estimation.regression import Regression, regression
from support.identification import fivebar_base, library_run, linear_regression, with_noise

Array = np.ndarray
KINDS = (OrdinaryLeastSquares, WeightedLeastSquares, ReweightedLeastSquares, InstrumentalVariables)


def noisy(seed: int = 0) -> Regression:
    base = fivebar_base()
    data = linear_regression(base, beta=base.values + 0.1)
    return with_noise(data, 0.1 * np.random.default_rng(seed).normal(size=data.force.shape))


# ---- scikit-learn's manner


@pytest.mark.parametrize("kind", KINDS)
def test_options_are_those_of_the_constructor(kind: type[Estimator]) -> None:
    """All by keyword, with defaults, kept as they were given: what scikit-learn's `clone` needs."""
    signature = inspect.signature(kind)
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in signature.parameters.values())
    prior = CadPrior(0.3)
    estimator = kind(prior=prior, parameters=fivebar_base())
    assert estimator.get_params().keys() == signature.parameters.keys()
    assert estimator.get_params()["prior"] is prior
    clone = type(estimator)(**estimator.get_params())
    assert clone.get_params() == estimator.get_params()
    assert not hasattr(clone, "coef_")


@pytest.mark.parametrize("kind", KINDS)
def test_fit_gives_itself_and_leaves_options_alone(kind: type[Estimator]) -> None:
    estimator = kind()
    before = estimator.get_params()
    assert estimator.fit(noisy()) is estimator
    assert estimator.get_params() == before
    # A second fit does not remember the first.
    again = estimator.fit(noisy(1)).coef_
    np.testing.assert_array_equal(again, kind().fit(noisy(1)).coef_)


def test_set_params() -> None:
    estimator = ReweightedLeastSquares()
    assert estimator.set_params(iterations=3, prior=CadPrior()) is estimator
    assert (estimator.iterations, estimator.prior) == (3, CadPrior())
    with pytest.raises(
        IdentificationError, match=r"ReweightedLeastSquares has no option 'iteration'.*iterations"
    ):
        estimator.set_params(iteration=4)


def test_repr() -> None:
    assert repr(OrdinaryLeastSquares()) == "OrdinaryLeastSquares()"
    assert repr(ReweightedLeastSquares(iterations=3)) == "ReweightedLeastSquares(iterations=3)"


def test_predict_and_score() -> None:
    data = noisy()
    estimator = OrdinaryLeastSquares().fit(data)
    np.testing.assert_allclose(estimator.predict(data), data.Y @ estimator.coef_)
    off = data.force - data.Y @ estimator.coef_
    variation = data.force - np.mean(data.force, axis=0)
    assert estimator.score(data) == pytest.approx(1.0 - np.sum(off**2) / np.sum(variation**2))
    assert estimator.score(data, data.Y @ estimator.coef_) == pytest.approx(1.0)


def test_other_forces() -> None:
    """`fit(X, y)` takes y in the place of the measured forces."""
    data = noisy()
    doubled = OrdinaryLeastSquares().fit(data, 2.0 * data.force)
    flat = data.Y.reshape(-1, len(data.base))
    np.testing.assert_allclose(
        doubled.coef_, np.linalg.lstsq(flat, 2.0 * data.force.ravel(), rcond=None)[0], rtol=1e-9
    )
    with pytest.raises(IdentificationError, match=r"y has the shape \(3,\)"):
        OrdinaryLeastSquares().fit(data, np.zeros(3))


@pytest.mark.parametrize("what", ["predict", "score"])
def test_not_fitted(what: str) -> None:
    with pytest.raises(IdentificationError, match="OrdinaryLeastSquares has no estimates yet: call fit"):
        getattr(OrdinaryLeastSquares(), what)(noisy())


def test_what_needs_a_fit_says_so() -> None:
    with pytest.raises(IdentificationError, match="call fit first"):
        OrdinaryLeastSquares().intervals()
    with pytest.raises(IdentificationError, match="call fit first"):
        essential_parameters(OrdinaryLeastSquares())


def test_no_samples() -> None:
    with pytest.raises(IdentificationError, match="no samples"):
        OrdinaryLeastSquares().fit([])


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_levels_of_intervals(level: float) -> None:
    with pytest.raises(IdentificationError, match="between 0 and 1"):
        OrdinaryLeastSquares().fit(noisy()).intervals(level)


def test_intervals_are_about_the_estimates() -> None:
    estimator = OrdinaryLeastSquares().fit(noisy())
    narrow, wide = estimator.intervals(0.5), estimator.intervals(0.95)
    np.testing.assert_allclose(np.mean(wide, axis=1), estimator.coef_)
    np.testing.assert_allclose(wide[:, 1] - estimator.coef_, 1.96 * estimator.std_, rtol=0.01)
    np.testing.assert_allclose(narrow[:, 1] - estimator.coef_, 0.6745 * estimator.std_, rtol=0.01)


# ---- what the data do not say


def test_a_column_that_nothing_moves() -> None:
    """It stays as described, has no finite deviation, and is named."""
    data = noisy()
    data.Y[..., 3] = 0.0
    estimator = OrdinaryLeastSquares().fit(data)
    name = data.base.names[3]
    assert estimator.not_excited_ == (name,)
    assert estimator.coef_[3] == pytest.approx(data.base.values[3], rel=1e-12)
    assert np.isinf(estimator.std_[3])
    assert estimator.condition_ > 1e12
    assert np.isfinite(np.delete(estimator.std_, 3)).all()
    assert name in estimator.unidentified_
    assert np.all(np.isinf(estimator.intervals()[3]))


def test_two_columns_that_move_together() -> None:
    """Their sum is found, the difference stays as described."""
    data = noisy()
    data.Y[..., 5] = 2.0 * data.Y[..., 6]
    data = replace(data, force=data.Y @ (data.base.values + 0.1))
    estimator = OrdinaryLeastSquares().fit(data)
    assert set(estimator.not_excited_) == {data.base.names[5], data.base.names[6]}
    moved = estimator.coef_ - data.base.values
    assert 2.0 * moved[5] + moved[6] == pytest.approx(0.3, rel=1e-6)
    assert np.all(np.isinf(estimator.std_[[5, 6]]))


def test_weak_parameters() -> None:
    data = noisy()
    scale = np.ones(len(data.base))
    # Forces of 3e-2 and 1e-4 of the others', with noise of a tenth of these.
    scale[[2, 8]] = 3e-2, 1e-4
    Y = data.Y * scale
    base = data.base
    noise = 0.1 * np.random.default_rng(3).normal(size=data.force.shape)
    beta = np.ones(len(base))
    data = replace(data, Y=Y, Z=Y, force=Y @ beta + noise, base=replace(base, K=base.K / 10.0))
    estimator = OrdinaryLeastSquares().fit(data)
    assert estimator.weak_ == (base.names[2],)
    assert estimator.unidentified_ == (base.names[8],)


# ---- samples of a robot


def test_prediction_of_samples_is_inverse_dynamics() -> None:
    run = library_run("fivebar", 0.05)
    samples = prepare(run.measurement)
    estimator = InstrumentalVariables().fit(samples)
    force = estimator.predict(samples)
    assert force.shape == samples[0].tau.shape
    used = samples[0].used
    assert np.max(np.abs(force - samples[0].tau)[used]) < 1e-5 * np.max(np.abs(force))
    assert estimator.score(samples) == pytest.approx(1.0, abs=1e-9)
    twice = estimator.predict([samples[0], samples[0]])
    np.testing.assert_array_equal(twice, np.concatenate([force, force]))


def test_given_base_parameters_are_used() -> None:
    run = library_run("fivebar", 0.05)
    samples = prepare(run.measurement)
    base = fivebar_base()
    estimator = OrdinaryLeastSquares(parameters=base).fit(samples)
    assert estimator.base_ is base
    np.testing.assert_array_equal(
        estimator.coef_, OrdinaryLeastSquares().fit(regression(samples, base)).coef_
    )
