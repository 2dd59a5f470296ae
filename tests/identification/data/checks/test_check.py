"""Every fault is found and named, clean data give none: clipped forces, time, encoder zeros."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import nacelle
from nacelle.errors import DescriptionError, MeasurementError
from nacelle.identification.data.checks.check import check_measurement
from nacelle.identification.data.checks.findings import Finding
from nacelle.identification.data.checks.signals import check_clipping, check_timing
from nacelle.identification.data.measurement import Conversion, Measurement, MeasurementSource
from nacelle.identification.experiment import simulate_experiment
from nacelle.identification.experiment.settings import Effects
from nacelle.trajectory import Line
from nacelle.tree.actuation import actuator_scales
from support.identification import fourier
from support.library import NAMES, library_robot
from support.measurements import Fault, Truth, column_faults, simulated_measurement, with_other_effects
from support.pairwise import FAMILIES, pairwise
from support.stress_robots import STRESS

SHORT = ("fivebar", "prrrp", "delta-codourey", "orthoglide")
"""Robots of which every fault of every column is judged within a minute."""

# Truths under which a measurement is clean: CAD that is right, much friction, coarse sensors, slow and fast.
TRUTHS = {
    "as usual": Truth(),
    "perfect": Truth(wrong=0.0, friction=0.0, noise=0.0, resolution=0.0),
    "friction": Truth(friction=1.0),
    "coarse": Truth(noise=0.1, resolution=5e-4),
    "slow": Truth(frequency=0.15, duration=10.0),
    "fast": Truth(frequency=1.0, duration=3.0, rate=1000.0),
    "small": Truth(size=0.03),
}


@cache
def clean_measurement(name: str, seed: int = 0) -> Measurement:
    return simulated_measurement(library_robot(name), seed)


def assert_found(fault: Fault) -> None:
    findings = check_measurement(fault.measurement)
    assert not findings.ok
    first = findings.entries[0]
    assert first.kind == fault.kind, str(findings)
    assert fault.column in first.column.split(", "), str(findings)
    assert len(findings) == 1, str(findings)


@pytest.mark.thinned(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "truth"),
    pairwise(name=FAMILIES, truth=list(TRUTHS)),
)
def test_clean_library(name: str, truth: str) -> None:
    findings = check_measurement(simulated_measurement(library_robot(name), 2, TRUTHS[truth]))
    assert len(findings) == 0, str(findings)


@pytest.mark.thinned(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", STRESS)
def test_clean_stress(name: str) -> None:
    """Robots that are no families: redundant ones, platforms with loops, drives at closures."""
    for seed in (1, 2):
        findings = check_measurement(simulated_measurement(STRESS[name](seed), seed))
        assert len(findings) == 0, str(findings)


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.05, 0.002])
def test_clean_backhoe(size: float) -> None:
    """A serial arm with cylinder loops and a four-bar, run in closed loop; also a motion of millimetres."""
    robot = nacelle.load(Path(__file__).parents[3] / "robots" / "backhoe.yaml")
    motion = fourier(robot, size * robot.size, seed=1, frequency=0.3)
    for effects in (None, Effects(stribeck=0.3)):
        run = simulate_experiment(robot, motion, rate=500.0, effects=effects)
        findings = check_measurement(run.measurement)
        assert len(findings) == 0, str(findings)


@pytest.mark.slow
@settings(max_examples=8)
@given(
    name=st.sampled_from(sorted(STRESS)),
    seed=st.integers(0, 99),
    fault=st.integers(0, 9),
    truth=st.sampled_from(["as usual", "friction", "slow"]),
)
def test_any_robot(name: str, seed: int, fault: int, truth: str) -> None:
    """Clean data of robots with random numbers give no finding; any fault of their columns is found.

    A slow motion is judged clean only: where friction is nearly all of the force, an encoder in another unit
    may explain it as well (one of the draws: cost 64 as read, 50 corrected; a correction needs 15 less).
    """
    try:
        run = simulated_measurement(STRESS[name](seed), seed, TRUTHS[truth])
    except (DescriptionError, ValueError):
        reject()
    assert len(check_measurement(run)) == 0
    seen = len(run.robot.actuators) > 1 and truth != "slow"
    faults = list(column_faults(run, seed)) if seen else []
    for chosen in faults[fault : fault + 1]:
        findings = check_measurement(chosen.measurement)
        assert not findings.ok, chosen.name
        assert chosen.column in " ".join(entry.column for entry in findings), str(findings)


@pytest.mark.slow
def test_faults_of_redundant_robots() -> None:
    for fault in column_faults(simulated_measurement(STRESS["redundant planar 4-RRR"](0))):
        assert_found(fault)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SHORT else pytest.mark.soak) for n in NAMES]
)
def test_faults_of_columns_library(name: str) -> None:
    for fault in column_faults(clean_measurement(name, 3), 3):
        assert_found(fault)


@pytest.mark.slow
def test_two_faults() -> None:
    run = clean_measurement("fivebar")
    force, q = run.tau.copy(), run.q.copy()
    force[:, 0] *= -1
    q[:, 1] *= 180 / np.pi
    findings = check_measurement(replace(run, tau=force, q=q))
    assert set(findings.kinds) == {"sign", "unit"}
    assert {entry.column for entry in findings} == {"i0", "enc1"}


@pytest.mark.slow
def test_conversions_of_swapped_columns() -> None:
    """An encoder and a current are found in each other's place although their numbers are converted."""
    run = clean_measurement("fivebar")
    names = [actuator.name for actuator in run.robot.actuators]
    conversions = {f"q.{names[0]}": Conversion(1e-3, 0.7), f"force.{names[0]}": Conversion(0.05, 0.0)}
    counts, amperes = (run.q[:, 0] - 0.7) / 1e-3, run.tau[:, 0] / 0.05
    q, force = run.q.copy(), run.tau.copy()
    q[:, 0], force[:, 0] = 1e-3 * amperes + 0.7, 0.05 * counts
    source = replace(run.source, conversions=conversions)
    findings = check_measurement(replace(run, q=q, tau=force, source=source))
    assert findings.kinds == ("swapped",)
    assert "enc0" in findings.entries[0].column
    assert "i0" in findings.entries[0].column


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "row"), [(2.5, True), (0.5, False)])
def test_zeros(offset: float, row: bool) -> None:
    run = clean_measurement("fivebar", 1)
    q = run.q.copy()
    q[:, 1] += offset
    findings = check_measurement(replace(run, q=q))
    assert not findings.ok
    assert {"zero", "reach"} & set(findings.kinds)
    assert "enc1" in " ".join(entry.column for entry in findings)


@pytest.mark.slow
def test_missing_samples_do_not_stop_physics() -> None:
    run = clean_measurement("fivebar")
    q, force = run.q.copy(), -run.tau
    q[500:520] = np.nan
    force[1000, 1] = np.nan
    findings = check_measurement(replace(run, q=q, tau=force))
    assert findings.kinds == ("missing", "sign")
    assert findings.entries[0].row == 502


def test_physics_is_skipped_with_words() -> None:
    run = clean_measurement("fivebar")
    time, force = run.time.copy(), run.tau.copy()
    time[100:] -= 0.05
    back = check_measurement(replace(run, time=time))
    assert back.kinds[0] == "time"
    assert "time does not go on" in back.skipped_checks[0]
    force[: len(force) // 2] = np.nan
    assert "have no number" in check_measurement(replace(run, tau=force)).skipped_checks[0]
    short = replace(run, time=run.time[:10], q=run.q[:10], tau=run.tau[:10])
    assert "too few" in check_measurement(short).skipped_checks[0]
    empty = replace(run, time=run.time[:0], q=run.q[:0], tau=run.tau[:0])
    assert not check_measurement(empty).ok or check_measurement(empty).skipped_checks
    assert check_measurement(run, physics=False).skipped_checks


def test_all_missing() -> None:
    run = clean_measurement("fivebar")
    findings = check_measurement(replace(run, q=np.full_like(run.q, np.nan)))
    assert "missing" in findings.kinds
    assert findings.skipped_checks


@pytest.mark.slow
def test_branch() -> None:
    """The five-bar passes a parallel singularity: its forward kinematics goes on along the other branch."""
    robot = library_robot("fivebar")
    x0 = nacelle.reference_pose(robot)
    path = Line(x0, x0 * np.array([1.0, 0.02]), motion=robot.motion, duration=2.0)
    t = np.linspace(0.0, 2.0, 1001)
    solution = nacelle.inverse_kinematics(robot, path(t).x, limits=False)
    reached = np.all(np.isfinite(solution.q), axis=1)
    conditioning = nacelle.jacobian(robot, path(t).x).conditioning
    passed = np.flatnonzero(reached & (conditioning < 2e-3))
    assert passed.size, "the line does not pass the singularity"
    last = int(np.flatnonzero(~reached)[0]) if not np.all(reached) else len(t)
    q = solution.q[:last]
    force = np.random.default_rng(0).normal(size=q.shape)
    findings = check_measurement(Measurement(robot, t[:last], q, force))
    branch = [entry for entry in findings if entry.kind == "branch"]
    assert branch, str(findings)
    assert abs(branch[0].sample - passed[0]) < 60


@pytest.mark.slow
def test_coarse_currents() -> None:
    """A force that is counted in steps is a warning from a twenty-fifth of its deviation on."""
    run = clean_measurement("fivebar")
    step = np.std(run.tau, axis=0) * [0.1, 0.01]
    findings = check_measurement(replace(run, tau=step * np.round(run.tau / step)))
    (found,) = [entry for entry in findings if entry.kind == "resolution"]
    assert found.signals == (f"force.{run.robot.actuators[0].name}",)
    assert findings.ok


def test_overruling() -> None:
    run = clean_measurement("fivebar")
    findings = check_measurement(replace(run, tau=-run.tau))
    with pytest.raises(MeasurementError, match="to overrule them, allow: sign") as caught:
        findings.raise_for_errors()
    assert caught.value.problems[0].file == "run.csv"
    assert "i0" in caught.value.problems[0].path
    findings.raise_for_errors(allow=("sign",))
    check_measurement(run).raise_for_errors()


# ---- Clipped forces are found with their rows; natural peaks, quantised ones and steps of friction are not

TIME = 0.002 * np.arange(3000)
LIMIT = library_robot("fivebar").actuators[0].force


def with_force(first: np.ndarray, q: np.ndarray | None = None) -> Measurement:
    force = np.stack([first, np.cos(3 * TIME)], axis=-1)
    columns = {f"force.{a.name}": f"i{k}" for k, a in enumerate(library_robot("fivebar").actuators)}
    source = MeasurementSource("run.csv", 2, columns)
    q = np.stack([np.sin(TIME), np.cos(2 * TIME)], axis=-1) if q is None else q
    return Measurement(library_robot("fivebar"), TIME, q, force, source=source)


def wave(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a, p = rng.uniform(0.5, 1, 4), rng.uniform(0, 6, 4)
    return sum(a[k] * np.sin((k + 1) * 3.0 * TIME + p[k]) for k in range(4))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("quantum", [0.0, 1e-3, 0.02, 0.1])
def test_natural_peaks(seed: int, quantum: float) -> None:
    force = wave(seed)
    force = np.round(force / quantum) * quantum if quantum else force
    assert not list(check_clipping(with_force(force)))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("quantum", [0.0, 1e-3])
def test_plateaus(seed: int, noise: float, quantum: float) -> None:
    rng = np.random.default_rng(seed)
    force = wave(seed) + noise * rng.normal(size=len(TIME))
    force = np.round(force / quantum) * quantum if quantum else force
    level = 0.7 * np.max(force)
    (clipped,) = check_clipping(with_force(np.minimum(force, level)))
    assert (clipped.kind, clipped.column) == ("clipped", "i0")
    over = np.flatnonzero(force >= level)
    # A single sample above the level makes no plateau.
    assert over[0] <= clipped.sample <= over[0] + 100
    assert clipped.row == clipped.sample + 2
    assert clipped.count > 0.7 * len(over)


def test_at_the_described_limit() -> None:
    """A drive that is at its limit is clipped, although noise lies on the plateau."""
    rng = np.random.default_rng(0)
    force = np.clip(1.3 * LIMIT * np.sin(3 * TIME), -LIMIT, LIMIT) + 1e-3 * LIMIT * rng.normal(size=len(TIME))
    (clipped,) = check_clipping(with_force(force))
    assert "described limit" in clipped.message


def test_friction_has_steps() -> None:
    rng = np.random.default_rng(0)
    force = np.sign(np.sin(5 * TIME)) + 0.02 * np.sin(15 * TIME) + 0.003 * rng.normal(size=len(TIME))
    assert not list(check_clipping(with_force(force)))


def test_rest_at_the_highest_value() -> None:
    force = np.where(TIME < 2.0, 1.0, np.cos(3 * (TIME - 2.0)))
    q = np.stack([np.maximum(TIME - 2.0, 0.0) ** 2] * 2, axis=-1)
    assert not list(check_clipping(with_force(force, q)))


@pytest.mark.parametrize("seed", range(5))
def test_clean_measurements(seed: int) -> None:
    assert not list(check_clipping(simulated_measurement(library_robot("fivebar"), seed)))


@pytest.mark.parametrize("seed", range(3))
def test_clipped_measurements(seed: int) -> None:
    clean = simulated_measurement(library_robot("fivebar"), seed, Truth(noise=0.0))
    level = 0.8 * np.max(np.abs(clean.tau[:, 1]))
    force = clean.tau.copy()
    force[:, 1] = np.clip(force[:, 1], -level, level)
    (clipped,) = check_clipping(replace(clean, tau=force))
    assert clipped.column == "i1"
    assert abs(clipped.sample - np.flatnonzero(np.abs(clean.tau[:, 1]) >= level)[0]) < 60


# ---- Time that goes back or stands, gaps, jitter: found with the row; rounded times are no fault

N = 400
TIME_OF_TIMING = 0.002 * np.arange(N)


def timing_findings(time: np.ndarray) -> list[Finding]:
    zeros = np.zeros((len(time), 2))
    source = MeasurementSource("run.csv", 2)
    return list(check_timing(Measurement(library_robot("fivebar"), time, zeros, zeros, source=source)))


def test_clean_of_timing() -> None:
    assert timing_findings(TIME_OF_TIMING) == []
    assert timing_findings(TIME_OF_TIMING + 1.7e9) == []


@pytest.mark.parametrize(("rate", "digits"), [(3000.0, 4), (1500.0, 3), (333.0, 3)])
def test_times_with_few_digits(rate: float, digits: int) -> None:
    assert timing_findings(np.round(np.arange(N) / rate, digits)) == [] or rate * 10.0**-digits >= 1.0


def test_time_goes_back() -> None:
    time = TIME_OF_TIMING.copy()
    time[200:] -= 0.1
    findings = timing_findings(time)
    assert [(f.kind, f.row, f.count) for f in findings] == [("time", 202, 1)]
    assert "goes back" in findings[0].message


def test_time_stands() -> None:
    time = TIME_OF_TIMING.copy()
    time[50] = time[49]
    kinds = {(f.kind, f.row) for f in timing_findings(time) if "stands" in f.message}
    assert kinds == {("time", 52)}


def test_gaps() -> None:
    time = np.delete(TIME_OF_TIMING, np.r_[30:40, 300])
    (gap,) = timing_findings(time)
    assert (gap.kind, gap.row, gap.count) == ("gap", 32, 2)
    assert "about 11 samples" in gap.message


@pytest.mark.parametrize("part", [0.1, 0.3])
def test_jitter(part: float) -> None:
    rng = np.random.default_rng(0)
    time = TIME_OF_TIMING + 0.002 * part * rng.uniform(-0.5, 0.5, N)
    (uneven,) = timing_findings(time)
    assert uneven.kind == "sampling"
    assert uneven.row >= 3


def test_one_late_sample() -> None:
    time = TIME_OF_TIMING.copy()
    time[77:] += 0.0005
    (uneven,) = timing_findings(time)
    assert (uneven.kind, uneven.row, uneven.count) == ("sampling", 79, 1)


def test_missing_times_are_no_gaps() -> None:
    time = TIME_OF_TIMING.copy()
    time[5:8] = np.nan
    assert timing_findings(time) == []


def test_few_samples() -> None:
    assert timing_findings(TIME_OF_TIMING[:2]) == []


# ---- Encoder zeros: what redundant encoders show; friction that the judge has not is no shift


def shift_encoder(run: Measurement, place: int, size: float) -> Measurement:
    """With another zero of an encoder, rad or robot sizes."""
    q = run.q.copy()
    q[:, place] += size * actuator_scales(run.robot)[place]
    return replace(run, q=q)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fivebar", "3rrr", "delta"])
def test_other_friction_is_no_shift(name: str) -> None:
    """Friction that grows with load, drifts and has a memory, cogging of three periods."""
    robot = library_robot(name)
    for seed in range(4):
        run = with_other_effects(simulated_measurement(robot, seed, Truth(friction=0.0)), seed)
        assert len(check_measurement(run)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("size", [0.02, 0.1])
def test_redundant_encoders_show_small_shifts(size: float) -> None:
    run = simulated_measurement(STRESS["redundant planar 4-RRR"](0))
    findings = check_measurement(shift_encoder(run, 2, size))
    assert findings.kinds == ("zero",)
    assert findings.entries[0].column == "enc2"
    assert "redundant encoders agree" in findings.entries[0].message
