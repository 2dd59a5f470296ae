"""Identification as a whole: estimates, words, poor excitation, options, errors, validation."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError, NacelleError
from nacelle.identification.data.filters import decimation_filter
from nacelle.identification.data.preparation import Preparation, prepare
from nacelle.identification.estimation.closed_loop import InstrumentalVariables
from nacelle.identification.estimation.estimator import CadPrior
from nacelle.identification.estimation.least_squares import OrdinaryLeastSquares, ReweightedLeastSquares
from nacelle.identification.experiment import Sensors, simulate_experiment
from nacelle.identification.identify import Identification, identify
from nacelle.identification.validation import Validation, noise_floor, validate, validation
from support.identification import (
    ExactRun,
    exact_run,
    fivebar_base,
    fourier,
    library_run,
    linear_regression,
    truth_of,
    with_noise,
)
from support.library import library_robot


def run() -> ExactRun:
    return library_run("fivebar", 0.05)


@cache
def identified() -> Identification:
    return identify(library_robot("fivebar"), run().noisy(force=0.01, encoder=1e-6))


# ---- a run that is good enough


def test_intervals_hold_the_truth() -> None:
    result = identified()
    truth = truth_of(result.base, run().true)
    low, high = result.estimator.intervals(0.9999).T
    assert np.all((low <= truth) & (truth <= high))
    assert isinstance(result.estimator, InstrumentalVariables)
    assert result.fit.score > 0.99


@pytest.mark.costly
@pytest.mark.parametrize("method", ["iv", "ols", "wls", "irls"])
def test_every_method_gives_the_truth_without_noise(method: str) -> None:
    result = identify(library_robot("fivebar"), run().measurement, method=method)
    truth = truth_of(result.base, run().true)
    np.testing.assert_allclose(result.estimator.coef_, truth, atol=1e-6 * np.max(np.abs(truth)))


def test_what_is_written_can_be_built_and_moves_like_the_true_robot() -> None:
    robot = identified().to_robot("mine")
    assert robot.name == "mine"
    x, v, a = (part[100:2000:100] for part in (run().x, run().v, run().a))
    force = nacelle.inverse_dynamics(robot, x, v, a).tau
    true = nacelle.inverse_dynamics(run().true, x, v, a).tau
    own = nacelle.inverse_dynamics(library_robot("fivebar"), x, v, a).tau
    assert np.linalg.norm(force - true) < 0.1 * np.linalg.norm(own - true)


def test_the_robot_says_where_its_numbers_come_from() -> None:
    """The file keeps date, version, method, data and deviations; those of an earlier identification go."""
    described, result = library_robot("fivebar"), identified()
    robot = result.to_robot()
    again = nacelle.loads(robot.to_yaml())
    assert again.sources == robot.sources
    lines = again.sources[len(described.sources) :]
    assert again.sources[: len(described.sources)] == described.sources
    assert all(line.startswith("identified: ") for line in lines)
    for words in (nacelle.__version__, described.hash[:16], "InstrumentalVariables"):
        assert words in lines[0]
    assert f"data <python>, {len(run().measurement)} samples" in lines[1]
    assert f"R^2 {result.fit.score:.6g}" in lines[2]
    for name, value, std in zip(
        result.base.names, result.estimator.coef_, result.estimator.std_, strict=True
    ):
        assert f"{name} {value:.6g} +- {std:.2g}" in lines[3]
    assert replace(result, robot=again).to_robot().sources[: len(described.sources)] == described.sources
    assert len(replace(result, robot=again).to_robot().sources) == len(again.sources)


def test_words_and_plain_data() -> None:
    result = identified()
    words = result.describe()
    assert any("instruments from the smooth motion" in line for line in words)
    plain = json.loads(json.dumps(result.data()))
    assert [entry["name"] for entry in plain["parameters"]] == list(result.base.names)
    assert plain["method"] == "InstrumentalVariables"
    assert plain["words"] == words
    for entry, value in zip(plain["parameters"], result.estimator.coef_, strict=True):
        assert entry["interval"][0] <= entry["estimate"] <= entry["interval"][1]
        assert entry["estimate"] == value


def test_the_inessential_is_named() -> None:
    """Moments across bars are zero in the true robot: most of them go, those along bars stay."""
    removed = identified().essential.removed_names
    assert sum(name.endswith(".my") for name in removed) >= 3
    assert "left.proximal.mx" not in removed


# ---- poor excitation


def test_poor_excitation_is_reported() -> None:
    """A motion of a tenth of a millimetre: gravity and friction are nearly all that is seen."""
    robot = library_robot("fivebar")
    path = nacelle.trajectory.Fourier(
        nacelle.reference_pose(robot),
        [[1e-3, 1e-6]],
        [[0.0, 1e-6]],
        motion=robot.motion,
        frequency=0.3,
        duration=10.0,
    )
    poor = identify(robot, exact_run(robot, path).noisy(force=0.01), allow=["all"])
    assert poor.excitation == "poor"
    estimator = poor.estimator
    named = set(estimator.not_excited_) | set(estimator.unidentified_)
    assert any(name.endswith(".Izz") for name in named)
    width = estimator.intervals()[:, 1] - estimator.coef_
    for name in named:
        k = poor.base.names.index(name)
        size = max(abs(poor.base.values[k]), abs(estimator.coef_[k]))
        assert width[k] > size
    text = "\n".join(poor.describe())
    assert "the excitation is poor" in text
    for name in named:
        assert name in text


def test_a_short_run_with_noisy_encoders_is_reported() -> None:
    """One period, noise of 20 counts: few samples count, and the controller shakes the robot."""
    counts = Sensors().resolutions(library_robot("fivebar"))
    run = simulate_experiment(
        library_robot("fivebar"),
        fourier(library_robot("fivebar"), 0.05, frequency=0.2),
        sensors=Sensors(noise=(20.0 * counts).tolist()),
    )
    words = " ".join(identify(library_robot("fivebar"), run.measurement, allow=["all"]).describe())
    assert "equations are few for 21 base parameters" in words
    assert "forces shake" in words
    assert "few" not in " ".join(identified().describe())
    assert "shake" not in " ".join(identified().describe())


def test_a_smaller_motion_makes_intervals_wider() -> None:
    """With the same noise of the forces."""
    robot = library_robot("fivebar")
    small = exact_run(robot, fourier(robot, 0.005))
    sizes = [np.sqrt(np.mean(one.measurement.tau**2)) for one in (run(), small)]
    poor = identify(robot, small.noisy(force=0.01 * sizes[0] / sizes[1]), allow=["all"]).estimator
    good = identified().estimator
    assert len(poor.unidentified_) > len(good.unidentified_)
    assert np.median(poor.std_ / good.std_) > 3.0


def test_a_robot_at_rest() -> None:
    """Nothing moves at all, so that no sample counts: dry friction is undetermined."""
    robot = library_robot("fivebar")
    data = run().noisy(force=0.01)
    still = replace(data, q=np.repeat(data.q[:1], len(data), axis=0))
    with pytest.raises(IdentificationError, match="too few"):
        identify(robot, still, allow=["all"])


# ---- options and errors


@pytest.mark.slow
def test_options() -> None:
    robot, data = library_robot("fivebar"), run().noisy(force=0.01)
    result = identify(
        robot,
        data,
        method=ReweightedLeastSquares(iterations=3),
        prior=CadPrior(0.1),
        preparation=Preparation(decimation=7),
        shared="legs",
    )
    assert isinstance(result.estimator, ReweightedLeastSquares)
    assert result.estimator.prior == CadPrior(0.1)
    assert result.samples[0].preparation.decimation == 7
    assert len(result.base) < len(identified().base)


def test_given_estimators_are_left_alone() -> None:
    """Options of the call go into a copy: the caller's estimator is as it was."""
    own = OrdinaryLeastSquares()
    identify(library_robot("fivebar"), run().measurement, method=own, prior=CadPrior(0.3))
    assert own.get_params() == OrdinaryLeastSquares().get_params()
    assert not hasattr(own, "coef_")


def test_a_method_that_there_is_not() -> None:
    with pytest.raises(IdentificationError, match=r"there is no method 'irsl'; .*irls"):
        identify(library_robot("fivebar"), run().measurement, method="irsl")


@pytest.mark.slow
def test_data_with_faults_are_refused_and_can_be_allowed() -> None:
    """Two motors swapped."""
    robot, data = library_robot("fivebar"), run().noisy(force=0.01)
    swapped = replace(data, tau=data.tau[:, ::-1])
    with pytest.raises(NacelleError):
        identify(robot, swapped)
    assert identify(robot, swapped, allow=["all"]).estimator.coef_.shape == identified().estimator.coef_.shape


def test_too_short_a_run() -> None:
    data = run().measurement
    short = replace(data, time=data.time[:12], q=data.q[:12], tau=data.tau[:12])
    with pytest.raises(NacelleError, match=r"too few|longer"):
        identify(library_robot("fivebar"), short, allow=["all"])


@pytest.mark.costly
@pytest.mark.parametrize(("factor", "words"), [(1e3, "ms for s"), (1e-3, "s for ms")])
def test_a_wrong_unit_of_time_is_named(factor: float, words: str) -> None:
    data = run().noisy(force=0.01, encoder=1e-6)
    with pytest.raises(NacelleError, match=f"time.*{words}"):
        identify(library_robot("fivebar"), replace(data, time=data.time * factor))


def test_parameters_that_explain_nothing_are_not_ok_and_make_no_robot() -> None:
    """Noise in the place of forces."""
    data = run().noisy(force=0.01, encoder=1e-6)
    slow = np.cumsum(np.random.default_rng(0).normal(size=data.tau.shape), axis=0)
    result = identify(library_robot("fivebar"), replace(data, tau=slow), allow=["all"])
    assert not result.ok
    assert "check the unit of time" in result.describe()[0]
    with pytest.raises(IdentificationError, match=r"do not explain the forces: R\^2 is"):
        result.to_robot()
    assert result.to_robot(force=True).name == "fivebar"
    assert identified().ok


# ---- Validation: residuals, the floor of noise, memory, and what is said of them

Array = np.ndarray
NOISE = 0.02


def of_noise(noise: Array) -> Validation:
    """Residuals that are this noise (M, rows)."""
    base = fivebar_base()
    data = linear_regression(base, beta=np.ones(len(base)), lengths=(len(noise),))
    return Validation(base.robot, with_noise(data, noise), data.force, np.array([0.1, 0.1]))


# ---- numbers


def test_residuals_and_their_sizes() -> None:
    noise = np.random.default_rng(0).normal(size=(800, 2)) * [0.1, 0.3]
    found = of_noise(noise)
    np.testing.assert_allclose(found.residuals, noise, atol=1e-12)
    np.testing.assert_allclose(found.rms, np.sqrt(np.mean(noise**2, axis=0)))
    np.testing.assert_allclose(found.ratio, found.rms / 0.1)
    np.testing.assert_allclose(found.relative, found.rms / np.std(found.measured, axis=0))
    spread = found.measured - np.mean(found.measured, axis=0)
    assert found.score == pytest.approx(1.0 - np.sum(noise**2) / np.sum(spread**2))


def test_whiteness_is_even_for_white_residuals() -> None:
    """A probability: below 0.1 in a tenth of the runs."""
    values = np.concatenate(
        [of_noise(np.random.default_rng(k).normal(size=(400, 2))).whiteness for k in range(100)]
    )
    assert 0.04 < np.mean(values < 0.1) < 0.18
    assert 0.4 < np.mean(values) < 0.6


def test_memory_is_seen() -> None:
    white = np.random.default_rng(0).normal(size=(402, 2))
    kept = of_noise(white[:-2] + white[1:-1] + white[2:])
    assert np.all(kept.whiteness < 1e-6)


# ---- the floor


def test_the_floor_is_that_of_the_noise() -> None:
    """Of the forces' white noise, in the band that the decimation keeps."""
    exact = library_run("fivebar", 0.05)
    samples = prepare(exact.noisy(force=NOISE))
    sigma = NOISE * np.sqrt(np.mean(exact.measurement.tau**2, axis=0))
    kept = np.sqrt(np.sum(decimation_filter(samples[0].preparation.decimation or 1) ** 2))
    np.testing.assert_allclose(noise_floor(samples), sigma * kept, rtol=0.08)


def test_the_floor_has_the_noise_of_encoders() -> None:
    """Residuals of the true parameters along noisy encoders, against a floor of five times that of forces."""
    exact = library_run("fivebar", 0.05)
    fit = validate(exact.true, exact.noisy(force=1e-5, encoder=2e-4))
    alone = validate(exact.true, exact.noisy(force=1e-5))
    assert np.all(fit.floor > 5.0 * alone.floor)
    np.testing.assert_allclose(fit.ratio, 1.0, atol=0.35)


def test_the_right_robot_is_predicted_down_to_the_noise() -> None:
    exact = library_run("fivebar", 0.05, seed=1)
    data = exact.noisy(force=NOISE)
    right, wrong = validate(exact.true, data), validate(library_robot("fivebar"), data)
    np.testing.assert_allclose(right.ratio, 1.0, atol=0.2)
    assert np.all(right.whiteness > 1e-3)
    assert np.all(wrong.ratio > 1.5)
    assert right.score > wrong.score
    assert all("predicted down to the noise" in line for line in right.describe())
    assert not any("down to the noise" in line for line in wrong.describe())


def test_an_estimate_on_another_motion() -> None:
    """Estimated from one motion, validated on another."""
    fit = InstrumentalVariables().fit(prepare(library_run("fivebar", 0.05).noisy(force=NOISE)))
    other = library_run("fivebar", 0.05, seed=1).noisy(force=NOISE, seed=3)
    found = validate(fit, other)
    assert np.all(found.ratio < 1.3)
    values = truth_of(fit.base_, library_run("fivebar", 0.05).true)
    exact = validation(prepare(other), fit.base_, values)
    assert np.all(found.rms > 0.98 * exact.rms)


def test_what_is_not_in_the_model_is_told() -> None:
    exact = library_run("fivebar", 0.05, seed=1)
    data = exact.noisy(force=1e-4)
    wave = 0.3 * np.std(data.tau, axis=0) * np.sin(40.0 * data.q)
    found = validate(exact.true, replace(data, tau=data.tau + wave))
    for line in found.describe():
        assert "times the noise" in line
        assert "the model misses a systematic effect" in line
    assert any("poorly" in line for line in found.describe())


def test_redundant_drives_have_rows_along_the_motion() -> None:
    robot = nacelle.load(Path(__file__).parents[1] / "robots" / "redundant.yaml")
    found = validate(robot, exact_run(robot, fourier(robot, 0.03), true=robot).noisy(force=1e-3))
    assert found.rows == ("v_x", "v_y")
    assert found.score > 0.99
    assert all(np.isfinite(found.rms))
    assert all("nan" not in line for line in found.describe())


def test_plain_data() -> None:
    found = validate(library_run("fivebar", 0.05).true, library_run("fivebar", 0.05).noisy(force=NOISE))
    plain = json.loads(json.dumps(found.data()))
    assert [row["name"] for row in plain["rows"]] == list(found.rows)
    assert plain["samples"] == found.regression.count
    assert plain["words"] == found.describe()


def test_not_fitted() -> None:
    with pytest.raises(IdentificationError, match="call fit first"):
        validate(InstrumentalVariables(), library_run("fivebar", 0.05).measurement)


# ---- forces that are not explained


def test_forces_that_are_explained_are_ok() -> None:
    found = of_noise(np.random.default_rng(0).normal(size=(800, 2)) * [0.1, 0.3])
    assert found.ok
    assert found.data()["ok"] is True
    spread = np.var(found.measured, axis=0)
    np.testing.assert_allclose(found.scores, 1.0 - found.rms**2 / spread)


def test_forces_that_a_constant_would_predict_better_are_named() -> None:
    """One row of two, and all of them; the message says what to check."""
    exact = of_noise(np.zeros((800, 2)))
    errors = np.random.default_rng(0).normal(size=(800, 2)) * np.std(exact.measured, axis=0)
    found = replace(exact, predicted=exact.measured + [0.01, 20.0] * errors)
    assert not found.ok
    assert found.scores[0] > 0.99
    assert found.scores[1] < -100.0
    assert f"predict {found.rows[1]} better" in found.misfit
    for words in ("unit of time", "columns", "signs"):
        assert words in found.misfit
    found = replace(exact, predicted=exact.measured + 2.0 * errors)
    assert ", ".join(found.rows) in found.misfit


def test_forces_explained_by_less_than_half() -> None:
    spread = np.std(of_noise(np.zeros((800, 2))).measured, axis=0)
    noise = np.random.default_rng(0).normal(size=(800, 2)) * 1.3 * spread
    found = of_noise(noise)
    assert np.all(found.scores > 0.0)
    assert found.score < 0.5
    assert "less than half" in found.misfit


def test_noise_that_is_as_large_as_the_forces_is_no_misfit() -> None:
    spread = np.std(of_noise(np.zeros((800, 2))).measured, axis=0)
    found = of_noise(np.random.default_rng(0).normal(size=(800, 2)) * 2.0 * spread)
    assert not found.ok
    assert replace(found, floor=2.0 * spread).ok


def test_a_force_that_hardly_varies_is_explained_by_its_mean() -> None:
    """1000 N that vary by 1 N, and residuals of 2 N."""
    found = of_noise(np.zeros((800, 2)))
    random = np.random.default_rng(0)
    steady = 1000.0 + random.normal(size=(800, 2))
    data = replace(found.regression, force=steady)
    assert replace(found, regression=data, predicted=steady + 2.0 * random.normal(size=(800, 2))).ok
    assert not replace(found, regression=data, predicted=np.zeros((800, 2))).ok
