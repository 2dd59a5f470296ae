"""Preparation: what is chosen from the data, filters, gaps, unequal steps, delays, what does not count."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.data.filters import (
    decimate,
    decimation_centres,
    decimation_filter,
    derivatives,
    long_run_covariance,
    low_pass,
    motion_band,
    repeat_lags,
    settling_samples,
)
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.poses import path_poses
from nacelle.identification.data.preparation import Preparation, Samples, encoder_noise, prepare
from nacelle.identification.estimation.least_squares import OrdinaryLeastSquares
from nacelle.identification.estimation.regression import regression
from nacelle.trajectory.base import Trajectory
from nacelle.trajectory.sampling import sample_trajectory
from support.identification import (
    ExactRun,
    exact_run,
    fivebar_base,
    fourier,
    library_run,
    truth_of,
    without_coulomb,
)
from support.library import library_robot

Array = np.ndarray


def run() -> ExactRun:
    return library_run("fivebar", 0.05)


def estimates(data: Measurement, preparation: Preparation | None = None) -> Array:
    return OrdinaryLeastSquares().fit(regression(prepare(data, preparation), fivebar_base())).coef_


def error(data: Measurement, preparation: Preparation | None = None) -> float:
    """The largest error over the largest difference of true and described numbers."""
    base = fivebar_base()
    truth = truth_of(base, run().true)
    return float(np.max(np.abs(estimates(data, preparation) - truth)) / np.max(np.abs(truth - base.values)))


# ---- motion


def test_the_motion_is_that_of_the_path() -> None:
    """Pose, twist and acceleration at the times of the samples, against the path's own derivatives."""
    exact = run()
    (samples,) = prepare(exact.measurement)
    places = np.searchsorted(exact.measurement.time, samples.time - 1e-9)
    used = samples.motion.ok
    for found, wanted in zip(
        (samples.motion.x, samples.motion.v, samples.motion.a), (exact.x, exact.v, exact.a), strict=True
    ):
        np.testing.assert_allclose(found[used], wanted[places][used], atol=5e-5 * np.max(np.abs(wanted)))
        inner = slice(60, -60)
        off = np.abs(found[inner] - wanted[places][inner])
        assert np.max(off) < 1e-6 * np.max(np.abs(wanted))
    assert samples.rate == pytest.approx(500.0)
    # Five harmonics of 0.2 Hz of the pose, and what the legs make of them.
    assert 0.9 < samples.band < 2.5


def test_without_noise_the_truth() -> None:
    assert error(run().measurement) < 1e-5


@pytest.mark.parametrize("decimation", [1, 5, 25])
def test_decimation_and_cutoff_do_not_bias(decimation: int) -> None:
    assert error(run().measurement, Preparation(decimation=decimation)) < 1e-5
    # Ten times the band: the filter takes 1e-8 of the highest harmonic.
    assert error(run().measurement, Preparation(decimation=decimation, cutoff=12.0)) < 1e-4


def test_choices_follow_the_noise() -> None:
    """Noisier encoders are filtered lower, and what counts as rest is faster."""
    clean, noisy = (prepare(run().noisy(encoder=s))[0].preparation for s in (1e-7, 1e-4))
    assert clean.cutoff is not None
    assert noisy.cutoff is not None
    assert noisy.cutoff < clean.cutoff
    assert noisy.cutoff >= 5.0 * prepare(run().noisy(encoder=1e-4))[0].band - 1e-9
    assert noisy.rest > clean.rest > 0.0
    given = Preparation(cutoff=17.0, decimation=3, instruments="smooth", rest=0.02)
    assert prepare(run().measurement, given)[0].preparation == given


def test_noise_of_encoders_is_measured() -> None:
    q = run().noisy(encoder=3e-6).q
    np.testing.assert_allclose(encoder_noise(q), 3e-6, rtol=0.1)
    step = 1e-5
    # Rounding to steps has a deviation of step / sqrt(12) where the joint moves by many steps a sample.
    fast = np.cumsum(np.full((4000, 1), 7.3 * step)) + 0.0
    rounded = np.round(fast[:, None] / step + 0.3 * np.sin(np.arange(4000))[:, None]) * step
    assert 0.3 * step / np.sqrt(12) < encoder_noise(rounded)[0] < 3.0 * step / np.sqrt(12)


# ---- time


def at_times(whole: ExactRun, path: Trajectory, times: Array) -> tuple[Array, Array]:
    """Coordinates and forces of the run at other times, by the path itself."""
    motion = sample_trajectory(whole.true, path, times % path.duration)
    q = nacelle.inverse_kinematics(whole.true, motion.x).q
    return q, nacelle.inverse_dynamics(whole.true, motion.x, motion.v, motion.a).tau


@cache
def smooth_run() -> tuple[ExactRun, Trajectory, nacelle.dynamics.BaseParameters]:
    """A run without dry friction: forces have no jumps, so that they can be interpolated."""
    robot = without_coulomb(library_robot("fivebar"))
    path = fourier(robot, 0.05)
    return exact_run(robot, path), path, nacelle.base_parameters(robot)


def smooth_error(data: Measurement) -> float:
    whole, _, base = smooth_run()
    truth = truth_of(base, whole.true)
    fit = OrdinaryLeastSquares(parameters=base).fit(prepare(data))
    return float(np.max(np.abs(fit.coef_ - truth)) / np.max(np.abs(truth - base.values)))


@pytest.mark.slow
def test_a_force_that_was_recorded_late() -> None:
    """By 7.3 ms, no multiple of a sample: the delay is taken back."""
    whole, path, _ = smooth_run()
    delay = 0.0073
    _, force = at_times(whole, path, whole.measurement.time - delay)
    late = replace(whole.measurement, tau=force)
    assert smooth_error(late) > 1e-2
    assert smooth_error(replace(late, delay=delay)) < 1e-5


@pytest.mark.slow
def test_steps_that_are_not_equal() -> None:
    """Times that scatter by a tenth of a step."""
    whole, path, _ = smooth_run()
    data = whole.measurement
    t = data.time + 0.1 * (data.time[1] - data.time[0]) * np.random.default_rng(0).uniform(
        -1.0, 1.0, len(data)
    )
    q, force = at_times(whole, path, t)
    scattered = replace(data, time=t, q=q, tau=force)
    (samples,) = prepare(scattered)
    np.testing.assert_allclose(np.diff(samples.time), samples.time[1] - samples.time[0], rtol=1e-9)
    assert smooth_error(scattered) < 1e-4


def test_a_clock_that_starts_late_changes_nothing() -> None:
    data = run().measurement
    np.testing.assert_allclose(
        estimates(replace(data, time=data.time + 1000.0)), estimates(data), rtol=1e-5, atol=1e-9
    )


# ---- gaps


def with_gap(data: Measurement, begin: int, length: int, *, removed: bool) -> Measurement:
    """Samples that are NaN, or that are not there at all."""
    if removed:
        keep = np.r_[0:begin, begin + length : len(data)]
        return replace(data, time=data.time[keep], q=data.q[keep], tau=data.tau[keep])
    q, force = data.q.copy(), data.tau.copy()
    q[begin : begin + length] = np.nan
    force[begin : begin + length, 0] = np.nan
    return replace(data, q=q, tau=force)


@pytest.mark.parametrize("removed", [False, True])
def test_short_gaps_are_bridged_and_long_ones_part(removed: bool) -> None:
    data = run().measurement
    assert len(prepare(with_gap(data, 1200, 4, removed=removed))) == 1
    parts = prepare(with_gap(data, 1200, 40, removed=removed))
    assert len(parts) == 2
    assert parts[0].time[-1] < data.time[1200]
    assert parts[1].time[0] > data.time[1239]
    # Each part has settled by itself.
    assert error(with_gap(data, 1200, 40, removed=removed)) < 1e-5


def test_several_runs() -> None:
    other = library_run("fivebar", 0.05, seed=1)
    both = prepare([run().measurement, other.measurement])
    assert len(both) == 2
    data = regression(both, fivebar_base())
    assert len(data.lengths) == 2
    assert sum(data.lengths) == len(data.force)


# ---- what does not count


@pytest.mark.slow
def test_slow_samples_of_dry_friction_do_not_count() -> None:
    (samples,) = prepare(run().measurement, Preparation(rest=0.05))
    rates = nacelle.kinematics.joint_motion(samples.robot, samples.motion.x, samples.motion.v).actuators[1]
    slow = np.any(np.abs(rates) < 0.049, axis=1)
    assert np.any(slow)
    assert not np.any(samples.used & slow)
    assert 0.5 < np.mean(samples.used) < 1.0
    smooth = without_coulomb(library_robot("fivebar"))
    viscous = replace(run().measurement, robot=smooth)
    assert np.all(prepare(viscous, Preparation(rest=0.05))[0].used)


# ---- instruments


def test_instruments_of_the_reference_and_of_splines() -> None:
    exact = run()
    with_reference = replace(exact.noisy(encoder=1e-5), reference=exact.measurement.q)
    (by_reference,) = prepare(with_reference)
    (by_splines,) = prepare(with_reference, Preparation(instruments="smooth"))
    assert by_reference.preparation.instruments == "reference"
    assert by_splines.preparation.instruments == "smooth"
    assert prepare(exact.noisy(encoder=1e-5))[0].preparation.instruments == "smooth"
    places = np.searchsorted(exact.measurement.time, by_reference.time - 1e-9)
    wanted = exact.a[places]
    size = np.std(wanted)

    def off(samples: Samples, motion: str) -> float:
        return float(np.std(getattr(samples, motion).a - wanted) / size)

    assert off(by_reference, "instruments") < 1e-5
    # Splines have far less noise than the filtered encoders.
    assert off(by_splines, "instruments") < 0.3 * off(by_splines, "motion")


# ---- errors


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"instruments": "refrence"}, "instruments are one of"),
        ({"cutoff": 0.0}, "cutoff must be above zero"),
        ({"cutoff": np.nan}, "cutoff must be above zero"),
        ({"decimation": 0}, "decimation must be above zero"),
        ({"rest": -1.0}, "rest must be above zero"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], match: str) -> None:
    with pytest.raises(IdentificationError, match=match):
        Preparation(**options)


def test_a_reference_that_was_not_recorded() -> None:
    with pytest.raises(IdentificationError, match="was not recorded; give its columns, or choose 'smooth'"):
        prepare(run().measurement, Preparation(instruments="reference"))


def test_too_short() -> None:
    data = run().measurement
    few = replace(data, time=data.time[:8], q=data.q[:8], tau=data.tau[:8])
    with pytest.raises(IdentificationError, match="no part without gaps has 12 samples"):
        prepare(few)
    more = replace(data, time=data.time[:60], q=data.q[:60], tau=data.tau[:60])
    with pytest.raises(IdentificationError, match="60 samples at 500/s are too few"):
        prepare(more, Preparation(cutoff=10.0))
    with pytest.raises(IdentificationError, match="there is no measurement"):
        prepare([])


def test_no_pose_at_all() -> None:
    """Coordinates at which the two legs do not meet."""
    data = run().measurement
    apart = np.stack(np.meshgrid(*2 * [np.linspace(-3.0, 3.0, 13)]), axis=-1).reshape(-1, 2)
    # Far from the reference, so that the path from there ends before.
    nowhere = [q for q in apart if np.all(np.isnan(path_poses(data.robot, np.tile(q, (3, 1)))))]
    q = nowhere[len(nowhere) // 2] + 1e-4 * data.q
    with pytest.raises(IdentificationError, match="no pose belongs to the actuators' coordinates"):
        prepare(replace(data, q=q))


# ---- Filters against their formulas: gain and phase of sines, differences of sines, decimation of both sides

RATE = 500.0


def sine(frequency: float, *, rate: float = RATE, seconds: float = 8.0, phase: float = 0.3) -> Array:
    t = np.arange(int(seconds * rate)) / rate
    return np.sin(2.0 * np.pi * frequency * t + phase)[:, None]


# ---- the low pass


@pytest.mark.parametrize("part", [0.1, 0.2, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("cutoff", [5.0, 20.0])
def test_gain_of_the_low_pass(part: float, cutoff: float) -> None:
    """1 / (1 + (f / f_c)^8), with the frequencies warped by the bilinear transform; no phase."""
    signal = sine(part * cutoff, seconds=20.0)
    inner = slice(len(signal) // 4, -len(signal) // 4)
    passed = low_pass(signal, cutoff, RATE)[inner]
    warped = np.tan(np.pi * part * cutoff / RATE) / np.tan(np.pi * cutoff / RATE)
    gain = 1.0 / (1.0 + warped**8)
    # A phase would leave a part along the cosine.
    np.testing.assert_allclose(passed, gain * signal[inner], rtol=0.0, atol=1e-6)


def test_the_ends_settle() -> None:
    """Beyond the samples that are cut, the ends are no worse than a thousandth of the signal."""
    signal = sine(2.0)
    cut = settling_samples(10.0, RATE)
    off = np.abs(low_pass(signal, 10.0, RATE) - signal)
    assert np.max(off[cut:-cut]) < 1e-3
    assert cut < 0.45 * RATE


def test_a_cutoff_near_half_the_rate_filters_nothing() -> None:
    signal = sine(2.0)
    assert low_pass(signal, 0.45 * RATE, RATE) is signal
    assert settling_samples(0.45 * RATE, RATE) == 2


# ---- differences


@pytest.mark.parametrize("frequency", [1.0, 10.0, 30.0])
def test_differences_of_sines(frequency: float) -> None:
    """Relative errors (w T)^4 / 30 and (w T)^4 / 90, to the next order."""
    t = np.arange(400) / RATE
    w = 2.0 * np.pi * frequency
    first, second = derivatives(np.sin(w * t)[:, None], RATE)
    small = (w / RATE) ** 4
    inner = slice(2, -2)
    exact_first, exact_second = w * np.cos(w * t[inner]), -(w**2) * np.sin(w * t[inner])
    one = np.linalg.norm(first[inner, 0] - exact_first) / np.linalg.norm(exact_first)
    two = np.linalg.norm(second[inner, 0] - exact_second) / np.linalg.norm(exact_second)
    assert np.all(np.isnan(np.stack([first, second])[:, [0, 1, -2, -1]]))
    assert one == pytest.approx(small / 30.0, rel=0.15, abs=1e-11)
    # Rounding of the positions by 1e-16 is divided by T^2.
    assert two == pytest.approx(small / 90.0, rel=0.15, abs=1e-9)


# ---- the band of a motion


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-4])
def test_band_of_a_motion_with_noise(noise: float) -> None:
    """The highest harmonic that matters, whatever the noise of the encoders."""
    rng = np.random.default_rng(1)
    t = np.arange(5000) / RATE
    q = np.stack([np.sin(2 * np.pi * 0.4 * t), np.cos(2 * np.pi * 2.0 * t)], axis=1)
    assert motion_band(q + noise * rng.normal(size=q.shape), RATE) == pytest.approx(2.0, abs=0.35)


@pytest.mark.parametrize("counts", [8192, 81920, 819200])
def test_band_of_a_periodic_motion_with_counted_encoders(counts: int) -> None:
    """What encoders round comes again with the motion: lines of the spectrum, up to half of the rate."""
    t = np.arange(6000) / 1000.0
    step = 2 * np.pi / counts
    q = step * np.round(0.3 / step * np.sin(2 * np.pi * t + 0.3))[:, None]
    assert motion_band(q, 1000.0) < 2.0


def test_band_does_not_depend_on_units() -> None:
    q = np.hstack([sine(0.7), 0.2 * sine(1.9)])
    assert motion_band(q, RATE) == pytest.approx(motion_band(q * [1e3, 1e-3], RATE))


def test_band_of_rest() -> None:
    """Nothing moves: the lowest frequency that a record of this length shows, not a NaN."""
    assert motion_band(np.ones((500, 2)), RATE) == pytest.approx(2.0 * RATE / 500)


def test_lags_after_which_a_motion_comes_again() -> None:
    """Multiples of the period, of which some samples do not count; none of a motion that has no period."""
    rng = np.random.default_rng(2)
    t = np.arange(600) / 100.0
    forces = np.stack(
        [np.sin(2 * np.pi * t) + np.cos(6 * np.pi * t), 5.0 + np.cos(2 * np.pi * t) ** 3], axis=1
    )
    forces += 0.01 * rng.normal(size=forces.shape)
    forces[rng.integers(0, len(forces), 60)] = 0.0
    assert repeat_lags(forces) == [100, 200, 300, 400, 500]
    for other in (np.cumsum(rng.normal(size=(600, 1)), axis=0), np.ones((600, 2)), np.zeros((600, 2))):
        assert repeat_lags(other) == []


def test_residuals_that_come_again_do_not_average_out() -> None:
    """The sum of a period's residuals, four times, has 16 times its variance and not four times."""
    rng = np.random.default_rng(3)
    period = rng.normal(size=(50, 3))
    periods = np.tile(period, (4, 1))
    once = period.T @ period
    np.testing.assert_allclose(long_run_covariance([periods], 1, [[50, 100, 150]]), 16.0 * once)
    np.testing.assert_allclose(long_run_covariance([periods], 1), 4.0 * once)


# ---- decimation


@pytest.mark.parametrize("factor", [1, 2, 7, 20])
def test_decimation_is_a_weighted_mean_about_each_kept_sample(factor: int) -> None:
    rng = np.random.default_rng(2)
    signals = rng.normal(size=(200, 3))
    weights = decimation_filter(factor)
    assert np.sum(weights) == pytest.approx(1.0)
    np.testing.assert_allclose(weights, weights[::-1], atol=1e-16)
    places = decimation_centres(len(signals), factor)
    half = len(weights) // 2
    wanted = [np.einsum("t,tk->k", weights, signals[p - half : p + half + 1]) for p in places]
    np.testing.assert_allclose(decimate(signals, factor), wanted, atol=1e-13)
    assert np.all(np.diff(places) == factor)
    assert places[0] - half >= 0
    assert places[-1] + half < len(signals)


def test_decimation_keeps_lines_and_takes_noise_away() -> None:
    t = np.arange(3000) / RATE
    line = (0.3 + 2.0 * t)[:, None]
    np.testing.assert_allclose(decimate(line, 10), line[decimation_centres(3000, 10)], atol=1e-13)
    rng = np.random.default_rng(3)
    kept = decimate(rng.normal(size=(60_000, 1)), 10)
    assert np.std(kept) == pytest.approx(np.sqrt(np.sum(decimation_filter(10) ** 2)), rel=0.05)
