"""Stops that hold: how they brake, which readings they believe, and what they take for a stuck encoder."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.blocks.signals import StopReason
from nacelle.control.controller import Controller
from nacelle.control.kind import DesiredMotion
from nacelle.control.named import controller
from support.library import library_robot

Array = np.ndarray
T = 1e-3
X, V, ZERO = np.array([0.02, 0.28]), np.array([0.3, -0.2]), np.zeros(2)


@pytest.fixture(scope="module")
def law() -> Controller:
    robot = library_robot("fivebar")
    return controller(robot, "cf-rb", period=T, on_stop="hold", on_glitch="bridge", following=0.05)


def run(law: Controller, q: Array, stop: int, away: float = np.nan) -> tuple[Array, Array, Array]:
    """Forces, filtered rates and reasons along readings (N, 2); from a sample on the goal goes away, m/s."""
    memory, fields = law.start(X), law.kind.memory(law.robot)
    forces, rates, reasons = [], [], []
    for k, row in enumerate(q):
        x = X + k * T * V + np.array([0.0, away * T * (k - stop + 1) if k >= stop else 0.0])
        force, memory = law.step(memory, row, DesiredMotion(x, V, ZERO))
        parts = fields.split(memory)
        forces.append(force)
        rates.append(parts["halt_rate"])
        reasons.append(int(parts["stopped"][0]))
    return np.array(forces), np.array(rates), np.array(reasons)


def moving(law: Controller, count: int) -> Array:
    """Readings of a platform with the twist V."""
    return law.coordinates(X + T * np.arange(count)[:, None] * V)


def test_all_motions_decay_at_the_rate_of_the_stop(law: Controller) -> None:
    """The force is that of the acceleration -w v from rest, by inverse dynamics."""
    forces, _, reasons = run(law, moving(law, 40), 20)
    assert (reasons[19], reasons[20]) == (0, StopReason.DESIRED_NOT_FINITE)
    wanted = nacelle.inverse_dynamics(
        law.robot, X + 39 * T * V, ZERO, -law.gain("halt_brake") * V, friction=False
    ).tau
    limit = law.gain("limit")
    wanted = wanted / max(1.0, np.max(np.abs(wanted) / limit))
    # Filtered rates are a little late.
    assert np.max(np.abs(forces[-1] - wanted)) < 0.02 * np.max(np.abs(wanted))


@pytest.mark.parametrize("every", [2, 3])
def test_wild_readings_leave_rates_as_they_are(law: Controller, every: int) -> None:
    """While the controller runs, and after the stop."""
    q = moving(law, 60)
    true = run(law, q, 30)[1]
    q[10::every, 0] += 2.0
    _, rates, reasons = run(law, q, 30)
    assert reasons[29] == 0
    assert np.max(np.abs(rates[10:30] - true[10:30])) < 0.02 * np.max(np.abs(true))
    # After a stop a drive that is not seen is taken to slow down.
    seen = np.setdiff1d(np.arange(30, 60), np.arange(10, 60, every))
    assert np.all(rates[seen, 0] * true[seen, 0] > 0.0)
    assert np.all(np.abs(rates[seen, 0]) < 1.02 * np.abs(true[seen, 0]))


def test_glitches_that_are_not_wild_change_rates_by_what_drives_can(law: Controller) -> None:
    q = moving(law, 60)
    q[40:, 0] += 0.02
    _, rates, _ = run(law, q, 30)
    assert np.max(np.abs(np.diff(rates[30:], axis=0))) < 1.001 * np.max(law.gain("halt_slew"))


def test_a_glitch_of_what_drives_can_moves_no_rate(law: Controller) -> None:
    """It comes and goes as a rate of rest at most."""
    slew, smoothing, rest = (law.gain(name)[0] for name in ("halt_slew", "halt_smoothing", "rest_rate"))
    assert rest < 0.2 * slew
    for share in (0.1, 0.55, 0.8, 0.98):
        q = np.tile(law.coordinates(X), (40, 1))
        q[20::5, 0] += share * slew / smoothing * T
        _, rates, _ = run(law, q, 10)
        assert np.max(np.abs(rates[20:, 0])) < 1.001 * rest
        assert np.max(np.abs(rates[23::5, 0])) < 0.2 * rest


@pytest.mark.parametrize("every", [3, 5])
def test_a_glitch_of_a_sample_moves_nothing(law: Controller, every: int) -> None:
    """Readings that are off by less than what is wild: neither rates nor the pose of a stop follow them."""
    q, fields = moving(law, 60), law.kind.memory(law.robot)
    true = run(law, q, 30)
    q[35::every, 0] += 0.02
    _, rates, reasons = run(law, q, 30)
    assert reasons[-1] == StopReason.DESIRED_NOT_FINITE
    assert np.all(rates[30:, 0] * true[1][30:, 0] > 0.0)
    assert np.all(np.abs(rates[30:, 0]) < 1.001 * np.abs(true[1][30:, 0]))
    # A change that stays is believed at its second sample.
    faster = law.coordinates(X) + T * np.cumsum(np.r_[np.zeros(20), np.full(20, 30.0)])[:, None]
    memory, slew = law.start(X), law.gain("halt_slew")
    for k, row in enumerate(faster):
        _, memory = law.step(memory, row, DesiredMotion(X, ZERO, ZERO))
        rate = fields.split(memory)["halt_rate"]
        if 20 <= k <= 22:
            assert np.max(np.abs(rate - (k - 20) * slew)) < 1e-9


def test_a_drive_that_moves_is_not_stuck(law: Controller) -> None:
    """A setpoint that leaves the machine behind stops it, and its readings are believed."""
    _, rates, reasons = run(law, moving(law, 60), 25, 3.0)
    assert reasons[-1] == StopReason.MEASURED_TOO_FAR
    true = run(law, moving(law, 60), 60)[1]
    assert np.max(np.abs(rates[-1] - true[-1])) < 1e-3 * np.max(np.abs(true))


def test_a_machine_that_is_too_fast_is_seen(law: Controller) -> None:
    """Readings beyond the described speed are not wild where the rate has grown to there."""
    speed = law.robot.actuators[0].speed
    rate = np.minimum(3.0 * speed, np.arange(160) * 0.5 * law.gain("halt_slew")[0])
    q = law.coordinates(X) + np.outer(np.cumsum(rate) * T, [1.0, 0.0])
    memory, fields = law.start(X), law.kind.memory(law.robot)
    rest = DesiredMotion(X, ZERO, ZERO)
    for row in (*[q[0]] * 3, *q):
        force, memory = law.step(memory, row, rest)
    parts = fields.split(memory)
    assert parts["stopped"][0] in (StopReason.MEASURED_TOO_FAR, StopReason.MEASURED_TOO_FAST)
    assert parts["halt_rate"][0] > 2.9 * speed
    assert force[0] < -0.5 * law.gain("limit")[0]
