"""Regressions of samples: true parameters from exact data of many robots, redundant drives, errors."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.base_parameters.base_parameters import BaseParameters, base_parameters
from nacelle.errors import IdentificationError
from nacelle.identification.data.preparation import Preparation, prepare
from nacelle.identification.estimation.closed_loop import InstrumentalVariables
from nacelle.identification.estimation.regression import regression
from nacelle.identification.experiment import perturb_parameters
from support.identification import ExactRun, exact_run, fivebar_base, fourier, library_run, truth_of
from support.library import library_robot

Array = np.ndarray
REDUNDANT = Path(__file__).parents[2] / "robots" / "redundant.yaml"


def slow(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


@cache
def redundant_run() -> tuple[ExactRun, BaseParameters]:
    robot = nacelle.load(REDUNDANT)
    return exact_run(robot, fourier(robot, 0.03)), base_parameters(robot)


# ---- exact data give the truth


@pytest.mark.parametrize(
    ("name", "size", "shared"),
    [
        ("fivebar", 0.05, None),
        slow("delta", 0.06, None),
        slow("palida", 0.04, "legs"),
        slow("3rps", 0.05, None),
        slow("quattro", 0.05, "legs"),
        slow("3rrr", 0.04, None),
    ],
)
def test_exact_data_give_the_true_parameters(name: str, size: float, shared: str | None) -> None:
    """Against the numbers of the robot that moved, in parts of what the parameters act by.

    An error of a parameter counts by the force that it makes: one that hardly acts is hardly determined.
    """
    robot = library_robot(name)
    base = base_parameters(robot, shared=shared)
    true = perturb_parameters(robot, alike=shared is not None)
    run = exact_run(robot, fourier(robot, size), true=true)
    data = regression(prepare(run.measurement), base)
    estimator = InstrumentalVariables().fit(data)
    off = estimator.coef_ - truth_of(base, true)
    acting = np.sqrt(np.mean(data.Y**2, axis=(0, 1)))
    force = np.sqrt(np.mean(data.force[data.used] ** 2))
    assert not estimator.not_excited_
    assert np.max(np.abs(off) * acting) < 1e-6 * force
    assert np.max(np.abs(estimator.residuals_)) < 1e-6 * force


def test_rows_are_the_actuators() -> None:
    data = regression(prepare(library_run("fivebar", 0.05).measurement), fivebar_base())
    assert data.rows == tuple(actuator.name for actuator in library_robot("fivebar").actuators)
    assert data.Y.shape == (len(data.time), 2, len(fivebar_base()))
    assert not np.any(data.Y[~data.used])
    assert np.all(np.diff(data.time) > 0.0)


# ---- redundant drives


def internal_forces(run: ExactRun) -> Array:
    """Forces (N, actuators) that leave the motion alone: J^T Gamma = 0."""
    robot = run.measurement.robot
    J = np.asarray(nacelle.jacobian(robot, run.x).inverse)
    _, _, Vt = np.linalg.svd(np.swapaxes(J, 1, 2))
    idle = Vt[:, -1]
    np.testing.assert_allclose(np.einsum("tak,ta->tk", J, idle), 0.0, atol=1e-12)
    size = np.sqrt(np.mean(run.measurement.tau**2))
    wave = 5.0 * size * np.sin(3.0 * run.measurement.time)
    return idle * np.sign(idle[:, :1]) * wave[:, None]


@pytest.mark.slow
def test_redundant_drives_give_the_truth_whatever_they_do_against_one_another() -> None:
    run, base = redundant_run()
    truth = truth_of(base, run.true)
    size = np.max(np.abs(truth))
    plain = InstrumentalVariables(parameters=base).fit(prepare(run.measurement))
    assert plain.regression_.rows == ("v_x", "v_y")
    np.testing.assert_allclose(plain.coef_, truth, atol=1e-6 * size)
    tense = replace(run.measurement, tau=run.measurement.tau + internal_forces(run))
    pulled = InstrumentalVariables(parameters=base).fit(prepare(tense))
    np.testing.assert_allclose(pulled.coef_, truth, atol=1e-5 * size)


@pytest.mark.slow
def test_prediction_of_redundant_drives() -> None:
    """The effect along the motion is that of the measured forces."""
    run, base = redundant_run()
    samples = prepare(run.measurement)
    estimator = InstrumentalVariables(parameters=base).fit(samples)
    predicted = estimator.predict(estimator.regression_)
    used = estimator.regression_.used
    force = estimator.regression_.force
    assert np.max(np.abs(predicted - force)[used]) < 1e-5 * np.max(np.abs(force))
    assert estimator.predict(samples).shape == (len(samples[0]), 3)


# ---- errors


def test_too_few_samples() -> None:
    data = library_run("fivebar", 0.05).measurement
    # All of them are slower than this.
    samples = prepare(data, Preparation(rest=100.0))
    with pytest.raises(IdentificationError, match=r"0 samples of 2 .* too few for 21 base parameters"):
        regression(samples, fivebar_base())


def test_another_robot() -> None:
    run, _ = redundant_run()
    with pytest.raises(IdentificationError, match="of a robot that moves otherwise"):
        regression(prepare(run.measurement), fivebar_base())


def test_instruments_from_another_motion() -> None:
    exact = library_run("fivebar", 0.05)
    samples = prepare(exact.noisy(encoder=2e-5))
    data = regression(samples, fivebar_base())
    clean = prepare(exact.measurement, samples[0].preparation)
    other = data.with_instruments([clean[0].motion], samples)
    np.testing.assert_array_equal(other.Y, data.Y)
    assert np.any(other.Z != data.Z)
    assert not np.any(other.Z[~data.used])
