"""Identification as a whole: estimates, words, poor excitation, options and errors."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError, NacelleError
from nacelle.identification.data.preparation import Preparation
from nacelle.identification.estimation.instrumental import InstrumentalVariables
from nacelle.identification.estimation.least_squares import OrdinaryLeastSquares, ReweightedLeastSquares
from nacelle.identification.estimation.prior import CadPrior
from nacelle.identification.identify import Identification, identify
from nacelle.identification.rehearsal import Sensors, rehearse
from support.identification import ExactRun, exact_run, fourier, library_run, truth_of
from support.library import library_robot

Array = np.ndarray


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
    robot = identified().identified("mine")
    assert robot.name == "mine"
    x, v, a = (part[100:2000:100] for part in (run().x, run().v, run().a))
    force = nacelle.inverse_dynamics(robot, x, v, a).force
    true = nacelle.inverse_dynamics(run().true, x, v, a).force
    own = nacelle.inverse_dynamics(library_robot("fivebar"), x, v, a).force
    assert np.linalg.norm(force - true) < 0.1 * np.linalg.norm(own - true)


def test_words_and_plain_data() -> None:
    result = identified()
    words = result.words()
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
    removed = identified().essential.removed
    assert sum(name.endswith(".my") for name in removed) >= 3
    assert "left.proximal.mx" not in removed


# ---- poor excitation


def test_poor_excitation_is_reported() -> None:
    """A motion of a tenth of a millimetre: gravity and friction are nearly all that is seen."""
    robot = library_robot("fivebar")
    path = nacelle.Fourier(
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
    text = "\n".join(poor.words())
    assert "the excitation is poor" in text
    for name in named:
        assert name in text


def test_a_short_run_with_noisy_encoders_is_reported() -> None:
    """One period, noise of 20 counts: few samples count, and the controller shakes the robot."""
    counts = Sensors().resolutions(library_robot("fivebar"))
    run = rehearse(
        library_robot("fivebar"),
        fourier(library_robot("fivebar"), 0.05, frequency=0.2),
        sensors=Sensors(position_noise=(20.0 * counts).tolist()),
    )
    words = " ".join(identify(library_robot("fivebar"), run.measurement, allow=["all"]).words())
    assert "equations are few for 21 base parameters" in words
    assert "forces shake" in words
    assert "few" not in " ".join(identified().words())
    assert "shake" not in " ".join(identified().words())


def test_a_smaller_motion_makes_intervals_wider() -> None:
    """With the same noise of the forces."""
    robot = library_robot("fivebar")
    small = exact_run(robot, fourier(robot, 0.005))
    sizes = [np.sqrt(np.mean(one.measurement.force**2)) for one in (run(), small)]
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
    swapped = replace(data, force=data.force[:, ::-1])
    with pytest.raises(NacelleError):
        identify(robot, swapped)
    assert identify(robot, swapped, allow=["all"]).estimator.coef_.shape == identified().estimator.coef_.shape


def test_too_short_a_run() -> None:
    data = run().measurement
    short = replace(data, time=data.time[:12], q=data.q[:12], force=data.force[:12])
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
    slow = np.cumsum(np.random.default_rng(0).normal(size=data.force.shape), axis=0)
    result = identify(library_robot("fivebar"), replace(data, force=slow), allow=["all"])
    assert not result.ok
    assert "check the unit of time" in result.words()[0]
    with pytest.raises(IdentificationError, match=r"do not explain the forces: R\^2 is"):
        result.identified()
    assert result.identified(force=True).name == "fivebar"
    assert identified().ok
