"""Faults of logs that the residuals of a fit show: named, with their size; estimated; none in clean logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from nacelle.errors import IdentificationError
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.identify import identify
from support.identification import ExactRun, exact_run, fourier, truth_of
from support.library import library_robot

Fault = Callable[[Measurement], Measurement]


@cache
def run_of(name: str) -> ExactRun:
    """A motion of five harmonics of 1 Hz."""
    robot = library_robot(name)
    return exact_run(robot, fourier(robot, 0.04, frequency=1.0), periods=5.0)


@cache
def clean(name: str = "fivebar", seed: int = 0) -> Measurement:
    return run_of(name).noisy(force=0.005, encoder=1e-6, seed=seed)


def late(delay: float) -> Fault:
    """Forces that are recorded later."""

    def fault(run: Measurement) -> Measurement:
        times = np.clip(run.time - delay, run.time[0], run.time[-1])
        return replace(run, tau=CubicSpline(run.time, run.tau)(times))

    return fault


def forces(factor: float, offset: float, k: int) -> Fault:
    """The force of an actuator in other units, from another zero."""

    def fault(run: Measurement) -> Measurement:
        tau = run.tau.copy()
        tau[:, k] = factor * tau[:, k] + offset
        return replace(run, tau=tau)

    return fault


def encoder(factor: float, zero: float, k: int) -> Fault:
    """An encoder with another gear and zero; a controller leads it along the reference."""

    def changed(values: np.ndarray) -> np.ndarray:
        result = values.copy()
        result[:, k] = factor * result[:, k] + zero
        return result

    def fault(run: Measurement) -> Measurement:
        reference = None if run.reference is None else changed(run.reference)
        return replace(run, q=changed(run.q), reference=reference)

    return fault


FAULTS = [
    (late(3e-3), "delay", "force", 3e-3),
    (late(-1e-3), "delay", "force", -1e-3),
    (forces(1.0, 1.0, 1), "offset", "force.right.motor", 1.0),
    (forces(1.25, 0.0, 1), "scale", "force.right.motor", 0.25),
    (forces(0.75, 0.0, 0), "scale", "force.left.motor", -0.25),
    (encoder(1.0, 0.1, 0), "zero", "q.left.motor", 0.1),
    (encoder(1.05, 0.0, 1), "gear", "q.right.motor", 0.05),
]


def test_a_clean_log_has_no_suspects() -> None:
    result = identify(library_robot("fivebar"), clean())
    assert result.suspects == ()
    assert result.ok


# Along this motion base parameters take up what a zero does to the forces; it is estimated all the same.
@pytest.mark.parametrize(("fault", "cause", "signal", "size"), [f for f in FAULTS if f[1] != "zero"])
def test_a_fault_is_named_and_refused(fault: Fault, cause: str, signal: str, size: float) -> None:
    result = identify(library_robot("fivebar"), fault(clean()), allow=("all",))
    first = result.suspects[0]
    assert (first.cause, first.signal) == (cause, signal)
    # Large faults are known to first order alone here.
    assert 0.6 < first.size / size < 1.6
    assert not result.ok
    with pytest.raises(IdentificationError, match="the log has a fault that makes the parameters wrong"):
        result.to_robot()
    assert result.to_robot(force=True).name == "fivebar"
    assert any(note.startswith("suspect: ") for note in result.describe())


@pytest.mark.parametrize(("fault", "cause", "signal", "size"), FAULTS)
def test_a_fault_is_estimated_with_the_parameters(fault: Fault, cause: str, signal: str, size: float) -> None:
    robot = library_robot("fivebar")
    name = cause if cause == "delay" else f"{cause}:{signal.partition('.')[2]}"
    result = identify(robot, fault(clean()), allow=("all",), estimate=(name,))
    (estimated,) = result.faults
    assert abs(estimated.size - size) < 5.0 * estimated.deviation
    assert result.ok
    plain = identify(robot, clean()).estimator
    truth = truth_of(result.base, run_of("fivebar").true)
    with_fault, without = (
        np.sqrt(np.mean(((each.coef_ - truth) / each.std_) ** 2)) for each in (result.estimator, plain)
    )
    assert with_fault < without + 0.5


def test_several_faults_together() -> None:
    robot = library_robot("fivebar")
    run = forces(1.0, 1.0, 0)(late(2e-3)(clean()))
    assert {suspect.cause for suspect in identify(robot, run, allow=("all",)).suspects} == {"delay", "offset"}
    result = identify(robot, run, allow=("all",), estimate=("delay", "offset"))
    sizes = {fault.signal: fault for fault in result.faults}
    assert abs(sizes["force"].size - 2e-3) < 5.0 * sizes["force"].deviation
    assert abs(sizes["force.left.motor"].size - 1.0) < 5.0 * sizes["force.left.motor"].deviation
    assert result.ok


def test_a_ripple_is_named() -> None:
    run = clean()
    tau = run.tau.copy()
    tau[:, 0] += 0.05 * np.std(tau[:, 0]) * np.sin(60.0 * run.q[:, 0] + 1.0)
    first = identify(library_robot("fivebar"), replace(run, tau=tau)).suspects[0]
    assert (first.cause, first.signal) == ("ripple", "force.left.motor")
    assert 0.7 < first.size / (0.05 * np.std(run.tau[:, 0])) < 1.1


def test_zeros_of_all_encoders_are_named_together() -> None:
    run = encoder(1.0, 0.03, 1)(encoder(1.0, -0.05, 0)(clean()))
    result = identify(library_robot("fivebar"), run, allow=("all",))
    assert {"zero"} <= {each.cause for s in result.suspects for each in (s, *s.alternatives)}


@pytest.mark.parametrize("k", [0, 1])
def test_a_hidden_fault_moves_parameters_as_said_and_shows_above_its_size(k: int) -> None:
    robot = library_robot("fivebar")
    result = identify(robot, clean())
    signal = f"force.{robot.actuators[k].name}"
    (hidden,) = [each for each in result.hidden if each.signal == signal]
    assert any("these data would not show" in note for note in result.describe())
    p = result.base.names.index(hidden.parameter)
    below, above = (
        identify(robot, forces(1.0, part * hidden.size, k)(clean()), allow=("all",)) for part in (0.4, 2.5)
    )
    assert below.suspects == ()
    moved = (below.estimator.coef_ - result.estimator.coef_)[p] / result.estimator.std_[p]
    # Weights follow the residuals, which differ a little.
    assert abs(moved) == pytest.approx(0.4 * hidden.moves, rel=1e-3)
    assert any((s.cause, s.signal) == ("offset", signal) for s in above.suspects)
    assert not above.ok
    # Estimated with the parameters, the offset is no longer hidden, and intervals cover it.
    estimated = identify(robot, forces(1.0, 0.4 * hidden.size, k)(clean()), estimate=("offset",))
    assert not any(each.cause == "offset" for each in estimated.hidden)
    error = (estimated.estimator.coef_ - truth_of(estimated.base, run_of("fivebar").true))[p]
    assert abs(error) < 4.0 * estimated.estimator.std_[p]


def test_what_cannot_be_told_is_refused() -> None:
    robot = library_robot("fivebar")
    with pytest.raises(IdentificationError, match="all scales together are those of the parameters"):
        identify(robot, clean(), estimate=("scale",))
    with pytest.raises(IdentificationError, match="did you mean 'delay'"):
        identify(robot, clean(), estimate=("dela",))
    with pytest.raises(IdentificationError, match=r"'scale:left\.moter' names no actuator"):
        identify(robot, clean(), estimate=("scale:left.moter",))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_fault(seed: int) -> None:
    for name in ("fivebar", "delta"):
        assert identify(library_robot(name), clean(name, seed)).suspects == ()
