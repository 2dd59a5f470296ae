"""Identification in closed loop, on robots that differ from their models.

Data are those of a motion that a controlled robot has made: encoders count, currents have noise, the
controller answers to both. With effects that no model has, prediction is held against the noise and the
part that no parameter explains.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.identification.consistency.mass_matrix import smallest_inertia_ratio
from nacelle.identification.data.preparation import prepare
from nacelle.identification.estimation.regression import regression
from nacelle.identification.experiment import (
    Effects,
    JointServo,
    Sensors,
    perturb_parameters,
    simulate_experiment,
)
from nacelle.identification.identify import Identification, identify
from nacelle.identification.validation import validate
from support.closed_loop import DELTA, FIVEBAR, PALIDA, ClosedLoop, coverage
from support.identification import fourier
from support.library import library_robot


def slow(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


# ---- intervals


@pytest.mark.soak
@pytest.mark.parametrize("loop", [FIVEBAR, DELTA, PALIDA], ids=lambda loop: loop.name)
def test_intervals_hold_the_truth_in_95_of_100_runs(loop: ClosedLoop) -> None:
    """Each of the full base set, in 90 to 99 % of 200 runs; ordinary least squares stands beside it."""
    found = coverage(loop, 200)
    print({name: (p, q) for name, p, q in zip(found.names, found.part["iv"], found.part["ols"], strict=True)})
    assert np.all(found.part["iv"] >= 0.9)
    assert np.all(found.part["iv"] <= 0.99)
    assert np.max(np.abs(found.bias["iv"])) < 0.4


@pytest.mark.slow
def test_intervals_of_a_few_runs() -> None:
    """40 runs: on the whole 95 %, and none below what four deviations of a binomial allow."""
    found = coverage(FIVEBAR, 40)
    assert 0.92 < np.mean(found.part["iv"]) < 0.98
    assert np.min(found.part["iv"]) > 0.95 - 4.0 * np.sqrt(0.95 * 0.05 / 40)


@pytest.mark.slow
def test_bad_encoders_bias_least_squares_alone() -> None:
    """Encoders with noise of 300 counts: least squares is sure of wrong numbers, instruments are not.

    Without dry friction: with that much noise no joint moves for certain.
    """
    found = coverage(replace(FIVEBAR, noise=300.0, dry=False), 40)
    assert np.min(found.part["iv"]) > 0.8
    assert np.max(np.abs(found.bias["iv"])) < 0.5
    assert np.min(found.part["ols"]) < 0.6
    assert np.max(np.abs(found.bias["ols"])) > 1.5


@pytest.mark.slow
@pytest.mark.parametrize("noise", [5.0, 20.0])
def test_noise_that_shakes_the_robot(noise: float) -> None:
    """The controller answers to noise, so that slow passive joints change their sides all the time.

    From filtered rates alone their dry friction was a third too small, by 3.3 deviations, and the intervals
    held it in one of ten runs.
    """
    found = coverage(replace(FIVEBAR, noise=noise), 40)
    assert np.min(found.part["iv"]) >= 0.95 - 4.0 * np.sqrt(0.95 * 0.05 / 40)
    assert np.max(np.abs(found.bias["iv"])) < 1.0
    dry = [i for i, name in enumerate(found.names) if name.endswith("coulomb")]
    assert np.max(np.abs(found.bias["iv"][dry])) < 0.8


# ---- effects outside the model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "cogging"),
    [(FIVEBAR, 0.02), slow(DELTA, 0.05), slow(PALIDA, 1.0)],
    ids=["fivebar", "delta", "palida"],
)
def test_prediction_of_another_motion(loop: ClosedLoop, cogging: float) -> None:
    """With Stribeck friction and cogging: within 1.5 of the noise and the unmodelled part, each actuator."""
    effects = Effects(cogging=cogging, phase=0.4, stribeck=0.4)
    with_effects = replace(loop, effects=effects)
    fitted = identify(
        loop.robot, with_effects.experiment(0).run(0).measurement, shared=loop.shared, allow=["all"]
    )
    run = with_effects.experiment(1).run(1)
    found = validate(fitted.estimator, run.measurement)
    # What the effects add, through the same filter.
    preparation = prepare(run.measurement)[0].preparation
    beyond = regression(prepare(replace(run.measurement, tau=run.unmodelled), preparation), fitted.base)
    left = np.sqrt(np.mean(beyond.force[beyond.used] ** 2, axis=0))
    assert np.all(left > 0.0)
    assert np.all(found.rms < 1.5 * np.hypot(found.floor, left))


# ---- poor excitation and consistency


def short_run(seed: int) -> tuple[nacelle.Robot, Identification]:
    """A short and weakly exciting run with noisy currents."""
    robot = library_robot("fivebar")
    path = fourier(robot, 0.01, frequency=0.5)
    run = simulate_experiment(robot, path, sensors=Sensors(force_noise=0.2), seed=seed)
    return robot, identify(robot, run.measurement, allow=["all"])


def test_a_consistent_estimate_has_inertia_where_the_ordinary_one_has_none() -> None:
    """Mass matrices over the workspace: negative somewhere for ordinary estimates, never for consistent."""
    robot, found = short_run(1)
    x = nacelle.reference_pose(robot) + np.random.default_rng(0).uniform(-0.05, 0.05, (60, 2))
    ordinary = smallest_inertia_ratio(found.base, found.estimator.coef_, x)
    consistent = smallest_inertia_ratio(found.base, found.consistent.base_values, x)
    assert np.min(ordinary) < 0.0
    assert np.min(consistent) > 0.0
    # And they are those of the robot that is written.
    written = found.to_robot()
    M = nacelle.mass_matrix(written, x)
    assert np.all(np.linalg.eigvalsh(M) > 0.0)
    assert any("nearest consistent ones are" in line for line in found.describe())


# ---- motions for a real controller


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "delta"])
def test_a_reserve_keeps_a_pd_controller_from_clipping(name: str) -> None:
    """Without feedforward, on machines up to 10 % off; a motion that uses the limits fully is clipped."""
    robot = library_robot(name)
    limits = np.array([actuator.force for actuator in robot.actuators])
    clipped = []
    for options in ({}, {"reserve": 0.0}):
        motion = nacelle.identification.excite(
            robot,
            limits=nacelle.identification.MotionLimits(**options),
            search=nacelle.identification.MotionSearch(starts=2, iterations=60),
        ).trajectory
        servo = JointServo(bandwidth=10.0, feedforward=False)
        forces = [
            simulate_experiment(
                *(robot, motion), true=perturb_parameters(robot, 10.0, seed=seed), controller=servo, seed=seed
            ).measurement.tau
            for seed in range(2)
        ]
        clipped.append(np.mean(np.any(np.abs(np.concatenate(forces)) > 0.995 * limits, axis=1)))
    assert clipped[0] == 0.0
    assert clipped[1] > 0.02
