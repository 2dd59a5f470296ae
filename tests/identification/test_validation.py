"""Validation: residuals, the floor of noise, memory, and what is said of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.data.filters import decimation_filter
from nacelle.identification.data.preparation import prepare
from nacelle.identification.estimation.instrumental import InstrumentalVariables
from nacelle.identification.validation import Validation, noise_floor, validate, validation
from support.identification import (
    exact_run,
    fivebar_base,
    fourier,
    library_run,
    linear_regression,
    truth_of,
    with_noise,
)
from support.library import library_robot

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
    sigma = NOISE * np.sqrt(np.mean(exact.measurement.force**2, axis=0))
    kept = np.sqrt(np.sum(decimation_filter(samples[0].preparation.decimation or 1) ** 2))
    np.testing.assert_allclose(noise_floor(samples), sigma * kept, rtol=0.08)


def test_the_right_robot_is_predicted_down_to_the_noise() -> None:
    exact = library_run("fivebar", 0.05, seed=1)
    data = exact.noisy(force=NOISE)
    right, wrong = validate(exact.true, data), validate(library_robot("fivebar"), data)
    np.testing.assert_allclose(right.ratio, 1.0, atol=0.2)
    assert np.all(right.whiteness > 1e-3)
    assert np.all(wrong.ratio > 1.5)
    assert right.score > wrong.score
    assert all("predicted down to the noise" in line for line in right.words())
    assert not any("down to the noise" in line for line in wrong.words())


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
    wave = 0.3 * np.std(data.force, axis=0) * np.sin(40.0 * data.q)
    found = validate(exact.true, replace(data, force=data.force + wave))
    for line in found.words():
        assert "times the noise" in line
        assert "something systematic is not in the model" in line
    assert any("poorly" in line for line in found.words())


def test_redundant_drives_have_rows_along_the_motion() -> None:
    robot = nacelle.load(Path(__file__).parents[1] / "robots" / "redundant.yaml")
    found = validate(robot, exact_run(robot, fourier(robot, 0.03), true=robot).noisy(force=1e-3))
    assert found.rows == ("v_x", "v_y")
    assert found.score > 0.99
    assert all(np.isfinite(found.rms))
    assert all("nan" not in line for line in found.words())


def test_plain_data() -> None:
    found = validate(library_run("fivebar", 0.05).true, library_run("fivebar", 0.05).noisy(force=NOISE))
    plain = json.loads(json.dumps(found.data()))
    assert [row["name"] for row in plain["rows"]] == list(found.rows)
    assert plain["samples"] == found.regression.count
    assert plain["words"] == found.words()


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
