"""Direct and inverse identification, on a five-bar in closed loop."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

from nacelle.dynamics.base_parameters.base_parameters import base_parameters
from nacelle.errors import IdentificationError
from nacelle.identification.data.preparation import prepare
from nacelle.identification.estimation.closed_loop import DirectInverse, InstrumentalVariables
from nacelle.identification.estimation.regression import regression
from nacelle.identification.experiment import Experiment, JointServo, Sensors, perturb_parameters
from support.identification import fourier, truth_of
from support.library import library_robot

# Slow enough that the controller's tracking error shows.
LOOP = JointServo(bandwidth=5.0, feedforward=False)


@cache
def made():
    robot = library_robot("fivebar")
    true = perturb_parameters(robot, 10.0)
    motion = fourier(robot, 0.04, frequency=0.4)
    sensors = Sensors(noise=2e-5)
    run = Experiment(robot, motion, true=true, controller=LOOP, sensors=sensors, periods=2).run(1)
    base = base_parameters(robot)
    return base, prepare(run.measurement), truth_of(base, true), run


@pytest.mark.slow
def test_the_truth_lies_within_the_deviations():
    base, samples, truth, _ = made()
    estimator = DirectInverse(parameters=base, controller=LOOP).fit(samples)
    assert 2 <= estimator.iterations_ <= 10
    assert np.median(np.abs(estimator.coef_ - truth) / estimator.std_) < 1.5
    assert estimator.score(samples) > 0.999


@pytest.mark.slow
def test_encoders_do_not_count():
    """Errors of encoders leave it as it is: only the reference and the forces are used."""
    base, samples, _, _ = made()
    rng = np.random.default_rng(0)
    noisy = []
    for part in samples:
        motion = dataclasses.replace(
            part.motion, a=part.motion.a + 5.0 * rng.normal(size=part.motion.a.shape)
        )
        noisy.append(dataclasses.replace(part, motion=motion))
    plain = DirectInverse(parameters=base, controller=LOOP, iterations=1).fit(samples)
    same = DirectInverse(parameters=base, controller=LOOP, iterations=1).fit(noisy)
    assert np.array_equal(plain.coef_, same.coef_)


@pytest.mark.slow
def test_simulated_instruments_go_with_the_motion_that_was_made():
    """With the machine's own controller the simulated motion is nearer to the true one than the reference."""
    base, samples, truth, _ = made()
    estimator = InstrumentalVariables(parameters=base, controller=LOOP, iterations=1).fit(samples)
    plain = regression(samples, base)
    used = estimator.regression_.used
    simulated = np.linalg.norm((estimator.regression_.Z - plain.Y)[used])
    reference = np.linalg.norm((plain.Z - plain.Y)[used])
    assert simulated < 0.5 * reference
    assert np.median(np.abs(estimator.coef_ - truth) / estimator.std_) < 1.5


def test_a_regression_has_no_motion_to_simulate():
    base, samples, _, _ = made()
    with pytest.raises(IdentificationError, match="samples, not a regression"):
        DirectInverse().fit(regression(samples, base))


def test_options_can_be_copied():
    estimator = DirectInverse(controller=LOOP, iterations=3)
    copy = DirectInverse(**estimator.get_params())
    assert copy.get_params() == estimator.get_params()
