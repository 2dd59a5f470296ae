"""Checks.

columns, correction, findings, judge, reach, signals, smoothing, zeros.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError, MeasurementError
from nacelle.identification.data.checks.check import check_measurement, check_reach
from nacelle.identification.data.checks.columns import check_columns, rough_encoders
from nacelle.identification.data.checks.findings import Findings, make_finding
from nacelle.identification.data.checks.judge import (
    Correction,
    HypothesisFit,
    HypothesisTest,
    force_rms,
    identity_correction,
    offset_columns,
    projected_row_rms,
    scale_columns,
    smooth_signals,
    swap_columns,
)
from nacelle.identification.data.checks.sequence import (
    check_lost_samples,
    check_outliers,
    check_repeated_samples,
    lost_samples,
)
from nacelle.identification.data.checks.signals import (
    check_constant,
    check_jumps,
    check_missing,
    check_reference,
)
from nacelle.identification.data.checks.zeros import zeros_from_redundancy
from nacelle.identification.data.filters import long_run_covariance
from nacelle.identification.data.measurement import Conversion, Measurement, MeasurementSource
from nacelle.identification.data.poses import MeasuredPath, measured_path
from nacelle.kinematics.flags import Flag
from nacelle.tree.actuation import actuator_scales
from support.library import library_robot
from support.measurements import Truth, simulated_measurement
from support.uncompiled import named_robot, poses_around

# ---- The search for faults of columns, with a judge that knows which reading is right

M = 2

T = np.linspace(0.0, 1.0, 200)


class KnowingJudge:
    """The cost of a reading: how many of its columns are not what they should be."""

    def __init__(self, right: Correction) -> None:
        self.right, self.robot = right, library_robot("fivebar")

    def verdict(self, correction: Correction) -> HypothesisFit:
        """Judge."""
        pairs = zip(
            zip(correction.sources, correction.factors, strict=True),
            zip(self.right.sources, self.right.factors, strict=True),
            strict=True,
        )
        wrong = 4 * (not np.isclose(correction.time_scale, self.right.time_scale))
        wrong += sum(one[0] != other[0] or not np.isclose(one[1], other[1]) for one, other in pairs)
        return HypothesisFit(10.0 + 40.0 * wrong, 0.1 + wrong)


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
        (identity_correction(M), [], []),
        (swap_columns(M, 2, 3), ["swapped"], ["columns i0 and i1 are swapped"]),
        (scale_columns(M, (1,), -1.0), ["sign"], ["column enc1 has the wrong sign"]),
        (
            scale_columns(M, (0, 1), np.pi / 180.0),
            ["unit"],
            ["all coordinates are too large by 57.3: deg for rad"],
        ),
        (
            replace(identity_correction(M), time_scale=1e-3),
            ["unit"],
            ["column time is too large by 1000: ms for s"],
        ),
        (
            replace(identity_correction(M), time_scale=1e3),
            ["unit"],
            ["column time is too small by 1000: s for ms"],
        ),
        (
            scale_columns(M, (0,), -1.0).then(swap_columns(M, 2, 3)),
            ["swapped", "sign"],
            ["i0 and i1", "enc0"],
        ),
    ],
)
def test_faults_are_named_one_after_the_other(right: Correction, kinds: list[str], words: list[str]) -> None:
    findings, correction, verdict = check_columns(run(), KnowingJudge(right), identity_correction(M))
    assert sorted(found.kind for found in findings) == sorted(kinds)
    for text in words:
        assert any(text in found.message for found in findings)
    assert correction.sources == right.sources
    np.testing.assert_allclose(correction.factors, right.factors)
    assert correction.time_scale == right.time_scale
    assert verdict.cost == 10.0


@pytest.mark.parametrize(
    ("signs", "columns", "hint"),
    [
        ({}, (1,), "sign: -1 for enc1"),
        ({"q.right.motor": -1}, (1,), "sign: 1 for enc1"),
        ({"q.left.motor": -1, "q.right.motor": -1}, (0, 1), "sign: 1 for all of them"),
        ({"q.left.motor": -1}, (0, 1), "the opposite sign for all of them"),
    ],
)
def test_a_hint_knows_the_sign_that_a_map_gives(
    signs: dict[str, int], columns: tuple[int, ...], hint: str
) -> None:
    measurement = run()
    measurement = replace(measurement, source=replace(measurement.source, signs=signs))
    judge = KnowingJudge(scale_columns(M, columns, -1.0))
    assert [found.hint for found in check_columns(measurement, judge, identity_correction(M))[0]] == [hint]


def test_an_encoder_that_is_rougher_than_a_force() -> None:
    measurement = run()
    assert list(rough_encoders(measurement)) == []
    swapped = replace(
        measurement,
        q=np.stack([measurement.tau[:, 0], measurement.q[:, 1]], axis=1),
        tau=np.stack([measurement.q[:, 0], measurement.tau[:, 1]], axis=1),
    )
    assert list(rough_encoders(swapped)) == [(0, 2)]


# ---- Corrections of columns: matrices, applied one after the other

S = np.random.default_rng(0).normal(size=(7, 2 * M))


def as_matrix(correction: Correction) -> tuple[np.ndarray, np.ndarray]:
    """A (2 m, 2 m) and b (2 m,) with columns = S A + b."""
    A = np.zeros((2 * M, 2 * M))
    for k, place in enumerate(correction.sources):
        A[place, k] = correction.factors[k]
    return A, np.array(correction.offsets)


def test_one_after_the_other() -> None:
    steps = [
        swap_columns(M, 0, 1),
        scale_columns(M, (1, 2), -2.5),
        offset_columns(M, np.array([0.3, -0.1])),
        swap_columns(M, 2, 3),
    ]
    total, expected, rates = identity_correction(M), S, S
    for step in steps:
        A, b = as_matrix(step)
        expected, rates = expected @ A + b, rates @ A
        total = total.then(step)
    np.testing.assert_allclose(total.apply(S), expected, atol=1e-15)
    # Derivatives have no offsets.
    np.testing.assert_allclose(total.apply(S, 1), rates, atol=1e-15)
    assert total.columns == (2, 3)


def test_columns_of_a_file_keep_their_own_units() -> None:
    """Numbers of a file that were converted as an angle and as a force, taken the other way round."""
    numbers = np.random.default_rng(1).normal(size=(5, 2))
    (a, b), (c, d) = (0.02, 0.3), (7.0, -1.0)
    read = np.zeros((5, 4))
    read[:, 0], read[:, 2] = a * numbers[:, 0] + b, c * numbers[:, 1] + d
    meant = swap_columns(M, 0, 2, Conversion(a, b), Conversion(c, d)).apply(read)
    np.testing.assert_allclose(meant[:, 0], a * numbers[:, 1] + b, atol=1e-14)
    np.testing.assert_allclose(meant[:, 2], c * numbers[:, 0] + d, atol=1e-12)


def test_forces_do_not_change_the_motion() -> None:
    assert scale_columns(M, (2,), -1.0).motion_key == identity_correction(M).motion_key
    assert scale_columns(M, (1,), -1.0).motion_key != identity_correction(M).motion_key


def test_time_in_another_unit_changes_derivatives_alone() -> None:
    """q(t) with t in ms: rates as read are a thousandth, accelerations a millionth."""
    half, other = (
        replace(identity_correction(M), time_scale=1e-2),
        replace(identity_correction(M), time_scale=1e-1),
    )
    total = half.then(other)
    for order in range(3):
        np.testing.assert_allclose(total.apply(S, order), S * 1e3**order, rtol=1e-14)
    assert total.motion_key != identity_correction(M).motion_key


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
    some = make_finding(measurement, "jump", names[0], "it jumps", hint="look", samples=np.array([7, 5, 9]))
    assert (some.column, some.sample, some.count) == ("enc0", 5, 3)
    # Rows are counted from 1; the first sample is in the third.
    assert some.row == 3 + 5
    whole = make_finding(measurement, "constant", names, "all the same", hint="look")
    assert (whole.column, whole.sample, whole.row, whole.count) == ("enc0, enc1", -1, 0, 20)


def test_what_forbids_an_estimate() -> None:
    measurement = run_of_findings()
    name = f"q.{measurement.robot.actuators[0].name}"
    wrong = make_finding(measurement, "sign", name, "wrong sign", hint="turn it")
    odd = make_finding(measurement, "sampling", name, "unequal steps", hint="none", severity="warning")
    assert Findings("run.csv", (odd,)).ok
    findings = Findings("run.csv", (wrong, odd, wrong))
    assert not findings.ok
    assert findings.kinds == ("sign", "sampling")
    with pytest.raises(MeasurementError, match="allow: sign") as caught:
        findings.raise_for_errors()
    assert len(caught.value.problems) == 2
    findings.raise_for_errors(["sign"])
    findings.raise_for_errors(["all"])
    with pytest.raises(IdentificationError, match="no kind of finding: sing"):
        findings.raise_for_errors(["sing"])
    assert str(Findings("run.csv", ())) == "run.csv: no faults found"


# ---- judge
#
# The judge: least squares with bounds as scipy has them, and a wrong sign costs more than the right one.


def test_the_right_reading_costs_least() -> None:
    run = simulated_measurement(library_robot("fivebar"), 3, Truth(duration=1.2))
    judge = HypothesisTest(run.robot, smooth_signals(run.time, np.concatenate([run.q, run.tau], axis=1), 2))
    right = judge.verdict(identity_correction(2))
    assert right.residual < 0.3
    for wrong in (scale_columns(2, (2,), -1.0), scale_columns(2, (2, 3), 1e3)):
        assert judge.verdict(wrong).cost > right.cost + 15.0


def test_units_of_forces() -> None:
    wave = np.sin(np.linspace(0.0, 2.0 * np.pi, 1000, endpoint=False))
    force = np.stack([2.0 * wave, 5.0 + 0.0 * wave], axis=1)
    np.testing.assert_allclose(force_rms(force), [1.05 * np.sqrt(2.0), 0.25], rtol=1e-6)
    # Rows of J^-T f for independent forces of these sizes.
    J = np.array([[[1.0, 0.0], [0.0, 2.0]]])
    np.testing.assert_allclose(projected_row_rms(J, np.array([3.0, 4.0])), [[3.0, 8.0]])


# ---- Coordinates beyond limits and without poses are reported with their samples

COUNT = 12

SAMPLES = np.arange(0, 5 * COUNT, 5)


def reported(flags: np.ndarray, beyond: np.ndarray) -> list[tuple[str, tuple[str, ...], int, int]]:
    """Kind, signals, first sample and count of each finding along a path with these flags."""
    robot = library_robot("fivebar")
    q = np.tile(np.linspace(0.0, 1.0, 5 * COUNT)[:, None], (1, 2))
    run = Measurement(robot, np.arange(5.0 * COUNT), q, q, source=MeasurementSource("run.csv", 2, {}))
    x = np.full((COUNT, 2), np.nan)
    path = MeasuredPath(robot, q[SAMPLES], x, flags, beyond, np.zeros(COUNT))
    judge = SimpleNamespace(path=lambda correction: path, signals=SimpleNamespace(samples=SAMPLES))
    findings = check_reach(run, judge, identity_correction(2))
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

CLEAN = simulated_measurement(library_robot("fivebar"))

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
    force, q = CLEAN.tau.copy(), CLEAN.q.copy()
    force[:, 0] = 0.3
    (dead,) = check_constant(replace(CLEAN, tau=force))
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


def rows(kept: np.ndarray) -> Measurement:
    """Some samples of the clean log, with stamps that count on."""
    return replace(CLEAN, time=CLEAN.time[: len(kept)], q=CLEAN.q[kept], tau=CLEAN.tau[kept])


def test_lost_samples_without_stamps() -> None:
    every = np.arange(len(CLEAN))
    kept = every[(every < 200) | ((every >= 206) & (every < 500)) | (every >= 503)]
    (lost,) = check_lost_samples(rows(kept))
    assert (lost.kind, lost.sample, lost.count) == ("drops", 200, 2)
    assert not [*check_jumps(rows(kept), np.concatenate(lost_samples(rows(kept))))]
    assert not [*check_lost_samples(CLEAN)]
    # One encoder that jumps has lost nothing.
    q = CLEAN.q.copy()
    q[300:, 0] += 0.02
    assert not [*check_lost_samples(replace(CLEAN, q=q))]


def test_repeated_samples() -> None:
    every = np.sort(np.concatenate([np.arange(len(CLEAN)), np.arange(300, 312)]))
    (repeated,) = check_repeated_samples(rows(every[: len(CLEAN)]))
    assert (repeated.kind, repeated.sample, repeated.count) == ("duplicates", 301, 12)
    assert not [*check_repeated_samples(CLEAN)]


def test_outliers_of_forces() -> None:
    tau = CLEAN.tau.copy()
    tau[[150, 400], 0] += 3.0 * np.std(tau[:, 0])
    (outliers,) = check_outliers(replace(CLEAN, tau=tau))
    assert (outliers.kind, outliers.sample, outliers.count) == ("outliers", 150, 2)
    # Friction changes a force by a step.
    tau = CLEAN.tau.copy()
    tau[300:, 0] += np.std(tau[:, 0])
    assert not [*check_outliers(replace(CLEAN, tau=tau))]


def test_another_gear_of_one_axis() -> None:
    """A ratio of 9 for 12 in the map: coordinates too large, forces too small."""
    q, tau = CLEAN.q.copy(), CLEAN.tau.copy()
    q[:, 1] *= 4.0 / 3.0
    tau[:, 1] *= 0.75
    (gear,) = check_measurement(replace(CLEAN, q=q, tau=tau))
    assert (gear.kind, gear.signals) == ("gear", ("q.right.motor", "force.right.motor"))
    assert abs(float(gear.message.split("with about ")[1].split()[0]) - 0.75) < 0.02


def test_references() -> None:
    followed = replace(CLEAN, reference=CLEAN.q + 0.001)
    assert not list(check_reference(CLEAN))
    assert not list(check_reference(followed))
    swapped = list(check_reference(replace(CLEAN, reference=CLEAN.q * [-1.0, 1.0])))
    assert [(entry.kind, entry.severity) for entry in swapped] == [("reference", "warning")]
    assert swapped[0].signals[0] == f"reference.{LEFT}"


# ---- Smoothed signals: derivatives of sines, noise removed, gaps bridged, one filter for all

RATE, OMEGA = 500.0, 2.0 * np.pi * 1.5

TIME = np.arange(2000) / RATE

# Without the ends, where the filter continues signals by reflection.
INNER = slice(10, -10)


def signals(noise: float) -> np.ndarray:
    """Two coordinates and a force."""
    rng = np.random.default_rng(0)
    clean = np.stack([np.sin(OMEGA * TIME), 2.0 * np.cos(OMEGA * TIME), 5.0 * np.sin(OMEGA * TIME)], axis=1)
    return clean + noise * rng.normal(size=clean.shape)


def test_derivatives_of_sines() -> None:
    found = smooth_signals(TIME, signals(1e-3), 2)
    assert len(found.samples) <= 120
    t, value, rate = TIME[found.samples][INNER], found.value[INNER], found.rate[INNER]
    np.testing.assert_allclose(value[:, 0], np.sin(OMEGA * t), atol=2e-3)
    np.testing.assert_allclose(rate[:, 0], OMEGA * np.cos(OMEGA * t), atol=0.05)
    expected = -2.0 * OMEGA**2 * np.cos(OMEGA * t)
    np.testing.assert_allclose(found.acceleration[INNER, 1], expected, atol=0.02 * OMEGA**2)


def test_samples_that_are_missing() -> None:
    columns = signals(0.0)
    columns[700:710, 0] = np.nan
    found = smooth_signals(TIME, columns, 2)
    np.testing.assert_allclose(found.value[INNER, 0], np.sin(OMEGA * TIME[found.samples][INNER]), atol=2e-3)


# ---- Shifts of encoder zeros from redundant encoders alone


def test_a_shift_is_found_and_nothing_where_there_is_none() -> None:
    robot = named_robot("redundant")
    m = len(robot.actuators)
    assert m > robot.motion.n
    q = nacelle.inverse_kinematics(robot, poses_around(robot, 40, length=0.05)).q
    q = q + 1e-5 * np.random.default_rng(0).normal(size=q.shape)
    size = 0.02
    for place in (None, 1):
        shift = np.zeros(m) if place is None else size * np.eye(m)[place]
        path = measured_path(robot, q + shift * actuator_scales(robot))
        judge = SimpleNamespace(robot=robot, path=lambda correction, path=path: path)
        zeros = zeros_from_redundancy(judge, identity_correction(m))
        np.testing.assert_allclose(zeros, -shift, atol=0.1 * size)


def test_encoders_that_are_not_redundant_say_nothing() -> None:
    robot = named_robot("fivebar")
    judge = SimpleNamespace(
        robot=robot, path=lambda correction: SimpleNamespace(x=np.zeros((3, 2)), q=np.zeros((3, 2)))
    )
    assert not np.any(zeros_from_redundancy(judge, identity_correction(2)))


def test_variance_of_correlated_scores() -> None:
    """A moving mean over five samples of white noise has a sum five times as far from zero."""
    rng = np.random.default_rng(0)
    white = rng.normal(size=(400, 2004))
    means = np.cumsum(white, axis=1)
    smooth = (means[:, 5:] - means[:, :-5]) / 5.0
    estimates = [long_run_covariance([row[:, None]], len(row) // 10) for row in smooth]
    assert np.mean(estimates) == pytest.approx(np.var(np.sum(smooth, axis=1)), rel=0.25)
