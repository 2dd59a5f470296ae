"""Encoder zeros: shifts are found and sized, others are not reported, and what silence means is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nacelle.identification.data.checks.check import check_measurement
from nacelle.identification.data.checks.correction import as_read
from nacelle.identification.data.checks.judge import Judge
from nacelle.identification.data.checks.smoothing import smoothed
from nacelle.identification.data.checks.zero_model import ZeroFit, ZeroModel
from nacelle.identification.data.checks.zero_record import ZeroRecord
from nacelle.identification.data.checks.zero_shift import linear_shift
from nacelle.identification.data.checks.zeros import INSTANTS, ZeroSight
from nacelle.identification.data.measured_path import measured_path
from nacelle.identification.data.measurement import Measurement
from nacelle.kinematics.forward.actuator_path import actuator_scales
from support.library import library_robot
from support.measurements import Truth, measured, with_other_effects
from support.stress_robots import STRESS


def shifted(run: Measurement, place: int, size: float) -> Measurement:
    """With another zero of an encoder, rad or robot sizes."""
    q = run.q.copy()
    q[:, place] += size * actuator_scales(run.robot)[place]
    return replace(run, q=q)


def model_of(run: Measurement) -> tuple[ZeroModel, ZeroFit]:
    m = len(run.robot.actuators)
    signals = smoothed(run.time, np.concatenate([run.q, run.force], axis=1), m, INSTANTS)
    path = measured_path(run.robot, signals.value[:, :m])
    record = ZeroRecord(Judge(run.robot, signals), signals, as_read(m))
    model = ZeroModel(record, np.zeros(m), path)
    fit = model.at(np.zeros(m), path.x)
    assert fit is not None
    return model, fit


@pytest.mark.slow
def test_a_shift_is_found_and_sized() -> None:
    """In a motion of a tenth of a turn, where the times of passive joints' friction show most of it."""
    run = measured(library_robot("fivebar"), 1)
    clean = check_measurement(run)
    assert len(clean) == 0
    assert "a shifted encoder zero is seen from" in clean.seen[0]
    findings = check_measurement(shifted(run, 1, 0.2))
    assert findings.kinds == ("zero",)
    assert findings.entries[0].column == "enc1"
    size = float(findings.entries[0].message.split("about ")[1].split(" rad")[0])
    assert size == pytest.approx(-0.2, abs=0.03)


def test_slopes_are_derivatives_of_the_residuals() -> None:
    """By the rows themselves at zeros near by, which are fitted anew: what W explains is projected away."""
    model, fit = model_of(measured(library_robot("fivebar"), 3))
    direction = np.array([1.0, 0.0])
    slope = model.slope(fit, direction)
    ahead, behind = (model.toward(fit, fit.zeros + s * 1e-4 * direction) for s in (1.0, -1.0))
    assert slope is not None
    assert ahead is not None
    assert behind is not None
    change = fit.projected((ahead.residual - behind.residual) / 2e-4)
    assert np.linalg.norm(change + slope) < 0.05 * np.linalg.norm(slope)


def test_what_silence_means() -> None:
    sight = ZeroSight(("a", "b", "c"), (0.03, np.inf, 0.002), ("rad", "rad", "m"))
    assert str(sight) == (
        "a shifted encoder zero is seen from 0.03 rad on and from 0.002 m on; shifts of b are not seen at all"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "3rrr", "delta"])
def test_other_friction_is_no_shift(name: str) -> None:
    """Friction that grows with load, drifts and has a memory, cogging of three periods."""
    robot = library_robot(name)
    directions = np.eye(len(robot.actuators))
    for seed in range(4):
        run = with_other_effects(measured(robot, seed, Truth(friction=0.0)), seed)
        assert len(check_measurement(run)) == 0
        model, fit = model_of(run)
        for direction in directions:
            shift = linear_shift(model, fit, direction)
            assert shift is not None
            assert abs(shift.size) < 4.0 * shift.deviation


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"), [("fivebar", 0.13), ("delta", 0.15), ("3rrr", 0.05), ("palida", 0.1)]
)
def test_shifts_above_what_is_seen(name: str, size: float) -> None:
    robot = library_robot(name)
    for seed in range(2):
        findings = check_measurement(shifted(measured(robot, seed), 1, size))
        assert findings.kinds == ("zero",), str(findings)
        assert findings.entries[0].column == "enc1"


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.02, 0.1])
def test_redundant_encoders_show_small_shifts(size: float) -> None:
    run = measured(STRESS["redundant planar 4-RRR"](0))
    findings = check_measurement(shifted(run, 2, size))
    assert findings.kinds == ("zero",)
    assert findings.entries[0].column == "enc2"
    assert "redundant encoders agree" in findings.entries[0].message
