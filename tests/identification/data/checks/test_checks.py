"""Checks of measurements one by one: what each finds, and where it says that it is."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import MeasurementError
from nacelle.identification.data.checks.columns import check_columns
from nacelle.identification.data.checks.correction import (
    Correction,
    as_read,
    exchanged,
    rescaled,
)
from nacelle.identification.data.checks.findings import Findings, finding
from nacelle.identification.data.checks.judge import HypothesisFit
from nacelle.identification.data.checks.reach import check_reach
from nacelle.identification.data.checks.signals import (
    check_constant,
    check_jumps,
    check_missing,
    check_reference,
)
from nacelle.identification.data.checks.zero_gaps import zeros_of_gaps
from nacelle.identification.data.checks.zero_shift import Scan, Shift, score_variance
from nacelle.identification.data.measured_path import Path, measured_path
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.forward.actuator_path import actuator_scales
from support.library import library_robot
from support.measurements import measured
from support.uncompiled import any_robot, poses_around

# ---- The search for faults of columns, with a judge that knows which reading is right

M = 2

T = np.linspace(0.0, 1.0, 200)


class KnowingJudge:
    """The cost of a reading: how many of its columns are not what they should be."""

    def __init__(self, right: Correction) -> None:
        self.right = right

    def verdict(self, correction: Correction) -> HypothesisFit:
        """Judge."""
        pairs = zip(
            zip(correction.places, correction.factors, strict=True),
            zip(self.right.places, self.right.factors, strict=True),
            strict=True,
        )
        wrong = 4 * (not np.isclose(correction.pace, self.right.pace))
        wrong += sum(one[0] != other[0] or not np.isclose(one[1], other[1]) for one, other in pairs)
        return HypothesisFit(10.0 + 40.0 * wrong, 0.1 + wrong, 0.0)


def run() -> Measurement:
    robot = library_robot("fivebar")
    columns = {f"q.{actuator.name}": f"enc{k}" for k, actuator in enumerate(robot.actuators)}
    columns |= {f"force.{actuator.name}": f"i{k}" for k, actuator in enumerate(robot.actuators)}
    q = np.stack([np.sin(6 * T), np.cos(6 * T)], axis=1)
    force = np.sign(np.sin(40 * T))[:, None] * [1.0, 2.0]
    return Measurement(robot, T, q, force, source=MeasurementSource("run.csv", 2, columns))


@pytest.mark.parametrize(
    ("right", "kinds", "words"),
    [
        (as_read(M), [], []),
        (exchanged(M, 2, 3), ["swapped"], ["columns i0 and i1 are swapped"]),
        (rescaled(M, (1,), -1.0), ["sign"], ["column enc1 has the wrong sign"]),
        (
            rescaled(M, (0, 1), np.pi / 180.0),
            ["unit"],
            ["all coordinates are too large by 57.3: deg for rad"],
        ),
        (replace(as_read(M), pace=1e-3), ["unit"], ["column time is too large by 1000: ms for s"]),
        (replace(as_read(M), pace=1e3), ["unit"], ["column time is too small by 1000: s for ms"]),
        (rescaled(M, (0,), -1.0).then(exchanged(M, 2, 3)), ["swapped", "sign"], ["i0 and i1", "enc0"]),
    ],
)
def test_faults_are_named_one_after_the_other(right: Correction, kinds: list[str], words: list[str]) -> None:
    findings, correction, verdict = check_columns(run(), KnowingJudge(right), as_read(M))
    assert sorted(found.kind for found in findings) == sorted(kinds)
    for text in words:
        assert any(text in found.message for found in findings)
    assert correction.places == right.places
    np.testing.assert_allclose(correction.factors, right.factors)
    assert correction.pace == right.pace
    assert verdict.cost == 10.0


# ---- findings
#
# Findings: rows and columns of the file, which of them forbid an estimate, and what may be overruled.


def run_of_findings() -> Measurement:
    robot = library_robot("fivebar")
    names = [actuator.name for actuator in robot.actuators]
    columns = {f"q.{name}": f"enc{k}" for k, name in enumerate(names)}
    zeros = np.zeros((20, 2))
    return Measurement(robot, np.arange(20.0), zeros, zeros, source=MeasurementSource("run.csv", 3, columns))


def test_places_in_the_file() -> None:
    measurement = run_of_findings()
    names = tuple(f"q.{actuator.name}" for actuator in measurement.robot.actuators)
    some = finding(measurement, "jump", names[0], "it jumps", hint="look", samples=np.array([7, 5, 9]))
    assert (some.column, some.sample, some.count) == ("enc0", 5, 3)
    # Rows are counted from 1; the first sample is in the third.
    assert some.row == 3 + 5
    whole = finding(measurement, "constant", names, "all the same", hint="look")
    assert (whole.column, whole.sample, whole.row, whole.count) == ("enc0, enc1", -1, 0, 20)


def test_what_forbids_an_estimate() -> None:
    measurement = run_of_findings()
    name = f"q.{measurement.robot.actuators[0].name}"
    wrong = finding(measurement, "sign", name, "wrong sign", hint="turn it")
    odd = finding(measurement, "sampling", name, "unequal steps", hint="none", severity="warning")
    assert Findings("run.csv", (odd,)).ok
    findings = Findings("run.csv", (wrong, odd, wrong))
    assert not findings.ok
    assert findings.kinds == ("sign", "sampling")
    with pytest.raises(MeasurementError, match="allow: sign") as caught:
        findings.raise_for_errors()
    assert len(caught.value.problems) == 2
    findings.raise_for_errors(["sign"])
    findings.raise_for_errors(["all"])
    with pytest.raises(ValueError, match="no kind of finding: sing"):
        findings.raise_for_errors(["sing"])
    assert str(Findings("run.csv", ())) == "run.csv: no faults found"


# ---- Coordinates beyond limits and without poses are reported with their samples

COUNT = 12

SAMPLES = np.arange(0, 5 * COUNT, 5)


def reported(flags: np.ndarray, beyond: np.ndarray) -> list[tuple[str, tuple[str, ...], int, int]]:
    """Kind, signals, first sample and count of each finding along a path with these flags."""
    robot = library_robot("fivebar")
    q = np.tile(np.linspace(0.0, 1.0, 5 * COUNT)[:, None], (1, 2))
    run = Measurement(robot, np.arange(5.0 * COUNT), q, q, source=MeasurementSource("run.csv", 2, {}))
    x = np.full((COUNT, 2), np.nan)
    path = Path(robot, q[SAMPLES], x, flags, beyond, np.zeros(COUNT))
    judge = SimpleNamespace(path=lambda correction: path, signals=SimpleNamespace(samples=SAMPLES))
    findings = check_reach(run, judge, as_read(2))
    return [(found.kind, found.signals, found.sample, found.count) for found in findings]


def test_each_kind() -> None:
    names = tuple(f"q.{actuator.name}" for actuator in library_robot("fivebar").actuators)
    flags, beyond = np.zeros(COUNT, dtype=int), np.zeros((COUNT, 2), dtype=bool)
    assert reported(flags, beyond) == []
    outside = beyond.copy()
    outside[[4, 5], 1] = True
    assert reported(flags, outside) == [("reach", (names[1],), 20, 2)]
    away = flags.copy()
    away[7:] = int(Flag.UNREACHABLE)
    assert reported(away, beyond) == [("reach", names, 35, 5)]
    # Limits say why there are no poses.
    assert reported(away, outside) == [("reach", (names[1],), 20, 2)]
    other = flags.copy()
    other[[2, 3, 9]] = int(Flag.OTHER_BRANCH)
    assert reported(other, beyond) == [("branch", names, 10, 3)]


# ---- Numbers that are missing, dead channels, jumps: found with column and row

CLEAN = measured(library_robot("fivebar"))

LEFT, RIGHT = (actuator.name for actuator in CLEAN.robot.actuators)


def test_clean() -> None:
    assert [*check_missing(CLEAN), *check_constant(CLEAN), *check_jumps(CLEAN)] == []


def test_missing_samples() -> None:
    q, time = CLEAN.q.copy(), CLEAN.time.copy()
    q[100:105, 1] = np.nan
    time[7] = np.nan
    first, second = check_missing(replace(CLEAN, q=q, time=time))
    assert (first.kind, first.column, first.row, first.count) == ("missing", "t", 9, 1)
    assert (second.kind, second.column, second.row, second.count) == ("missing", "enc1", 102, 5)
    assert second.signals == (f"q.{RIGHT}",)


def test_dead_channels() -> None:
    force, q = CLEAN.force.copy(), CLEAN.q.copy()
    force[:, 0] = 0.3
    (dead,) = check_constant(replace(CLEAN, force=force))
    assert (dead.kind, dead.column, dead.severity) == ("constant", "i0", "error")
    q[:, 1] = 1.0
    (held,) = check_constant(replace(CLEAN, q=q))
    assert (held.column, held.severity) == ("enc1", "warning")
    (still,) = check_constant(replace(CLEAN, q=np.ones_like(q)))
    assert still.severity == "error"


@pytest.mark.parametrize("size", [0.05, -2 * np.pi])
def test_jumps(size: float) -> None:
    q = CLEAN.q.copy()
    q[700:, 0] += size
    (jump,) = check_jumps(replace(CLEAN, q=q))
    assert (jump.kind, jump.column, jump.row, jump.count) == ("jump", "enc0", 702, 1)
    assert ("whole turn" in jump.message) == (size < -6)


def test_spikes() -> None:
    q = CLEAN.q.copy()
    q[321, 1] += 0.1
    q[322, 1] = np.nan
    (jump,) = check_jumps(replace(CLEAN, q=q))
    assert (jump.column, jump.row) == ("enc1", 323)


def test_references() -> None:
    followed = replace(CLEAN, reference=CLEAN.q + 0.001)
    assert check_reference(CLEAN) == []
    assert check_reference(followed) == []
    swapped = check_reference(replace(CLEAN, reference=CLEAN.q * [-1.0, 1.0]))
    assert [(entry.kind, entry.severity) for entry in swapped] == [("reference", "warning")]
    assert swapped[0].signals[0] == f"reference.{LEFT}"


# ---- Shifts of encoder zeros from redundant encoders alone


def test_a_shift_is_found_and_nothing_where_there_is_none() -> None:
    robot = any_robot("redundant")
    m = len(robot.actuators)
    assert m > robot.motion.n
    q = nacelle.inverse_kinematics(robot, poses_around(robot, 40, length=0.05)).actuators
    q = q + 1e-5 * np.random.default_rng(0).normal(size=q.shape)
    size = 0.02
    for place in (None, 1):
        shift = np.zeros(m) if place is None else size * np.eye(m)[place]
        path = measured_path(robot, q + shift * actuator_scales(robot))
        judge = SimpleNamespace(robot=robot, path=lambda correction, path=path: path)
        zeros, smallest = zeros_of_gaps(judge, as_read(m))
        assert 0.005 <= smallest < size
        np.testing.assert_allclose(zeros, -shift, atol=0.1 * size)


# ---- How certain shifts are: correlated scores, and costs that are no parabolas

# Cost of the best fit, what a row is uncertain by, and the deviation of a shift.
COST, ROW, DEVIATION = 2.0, 0.1, 0.01


def test_variance_of_correlated_scores() -> None:
    """A moving mean over five samples of white noise has a sum five times as far from zero."""
    rng = np.random.default_rng(0)
    white = rng.normal(size=(400, 2004))
    means = np.cumsum(white, axis=1)
    smooth = (means[:, 5:] - means[:, :-5]) / 5.0
    estimates = [score_variance(row) for row in smooth]
    assert np.mean(estimates) == pytest.approx(np.var(np.sum(smooth, axis=1)), rel=0.25)


def scan(below: list[float], above: list[float]) -> Scan:
    """A scan with these costs at shifts of 0.12, 0.25 and 0.5."""
    fit: Any = SimpleNamespace(cost=COST, zeros=np.zeros(1))
    sides: Any = tuple(
        tuple(
            SimpleNamespace(cost=cost, zeros=np.array([side * size]))
            for size, cost in zip((0.12, 0.25, 0.5), costs, strict=False)
        )
        for side, costs in ((-1.0, below), (1.0, above))
    )
    model: Any = None
    return Scan(model, fit, np.ones(1), Shift(np.ones(1), fit, 0.0, DEVIATION, ROW), sides)


def parabola(size: float) -> float:
    return COST + (ROW * size / DEVIATION) ** 2


def test_what_is_visible_follows_from_costs() -> None:
    exact = [parabola(size) for size in (0.12, 0.25, 0.5)]
    assert scan(exact, exact).visible(7.0) == pytest.approx(7.0 * DEVIATION)
    # T is 3 at 0.12 and 11 at 0.25: 7 half way between.
    flat = [COST + (3.0 * ROW) ** 2, COST + (11.0 * ROW) ** 2, exact[2]]
    assert scan(exact, flat).visible(7.0) == pytest.approx(0.185)
    assert scan(flat, exact).visible(7.0) == pytest.approx(0.185)
    # No poses from 0.25 on, or nowhere to one side; beyond the last size in proportion.
    assert scan(exact, flat[:1]).visible(7.0) == pytest.approx(0.25)
    assert scan(exact, []).visible(7.0) == pytest.approx(7.0 * DEVIATION)
    assert scan(exact, [flat[0]] * 3).visible(7.0) == pytest.approx(0.5 * 7.0 / 3.0)
