"""Filters against their formulas: gain and phase of sines, differences of sines, decimation of both sides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.identification.data.filters import (
    band,
    decimated,
    decimated_places,
    decimation_filter,
    derivatives,
    low_pass,
    settling,
)

Array = np.ndarray
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


def test_a_motion_at_a_fifth_of_the_cutoff_is_hardly_changed() -> None:
    signal = sine(4.0, seconds=20.0)
    inner = slice(2000, -2000)
    change = np.max(np.abs(low_pass(signal, 20.0, RATE) - signal)[inner])
    assert 1e-6 < change < 3.5e-6


def test_the_ends_settle() -> None:
    """Beyond the samples that are cut, the ends are no worse than a thousandth of the signal."""
    signal = sine(2.0)
    cut = settling(10.0, RATE)
    off = np.abs(low_pass(signal, 10.0, RATE) - signal)
    assert np.max(off[cut:-cut]) < 1e-3
    assert cut < 0.45 * RATE


def test_a_cutoff_near_half_the_rate_filters_nothing() -> None:
    signal = sine(2.0)
    assert low_pass(signal, 0.45 * RATE, RATE) is signal
    assert settling(0.45 * RATE, RATE) == 2


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
    assert one == pytest.approx(small / 30.0, rel=0.15, abs=1e-11)
    # Rounding of the positions by 1e-16 is divided by T^2.
    assert two == pytest.approx(small / 90.0, rel=0.15, abs=1e-9)


def test_differences_of_a_quartic_are_exact() -> None:
    t = np.linspace(-1.0, 1.0, 41)
    first, second = derivatives(np.stack([t**4, t**3 - t], axis=1), 20.0)
    inner = slice(2, -2)
    np.testing.assert_allclose(first[inner], np.stack([4 * t**3, 3 * t**2 - 1], axis=1)[inner], atol=1e-12)
    np.testing.assert_allclose(second[inner], np.stack([12 * t**2, 6 * t], axis=1)[inner], atol=1e-11)
    for values in (first, second):
        assert np.all(np.isnan(values[[0, 1, -2, -1]]))


# ---- the band of a motion


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-4])
def test_band_of_a_motion_with_noise(noise: float) -> None:
    """The highest harmonic that matters, whatever the noise of the encoders."""
    rng = np.random.default_rng(1)
    t = np.arange(5000) / RATE
    q = np.stack([np.sin(2 * np.pi * 0.4 * t), np.cos(2 * np.pi * 2.0 * t)], axis=1)
    assert band(q + noise * rng.normal(size=q.shape), RATE) == pytest.approx(2.0, abs=0.35)


def test_band_does_not_depend_on_units() -> None:
    q = np.hstack([sine(0.7), 0.2 * sine(1.9)])
    assert band(q, RATE) == pytest.approx(band(q * [1e3, 1e-3], RATE))


def test_band_of_rest() -> None:
    """Nothing moves: the lowest frequency that a record of this length shows, not a NaN."""
    assert band(np.ones((500, 2)), RATE) == pytest.approx(2.0 * RATE / 500)


# ---- decimation


@pytest.mark.parametrize("factor", [1, 2, 7, 20])
def test_decimation_is_a_weighted_mean_about_each_kept_sample(factor: int) -> None:
    rng = np.random.default_rng(2)
    signals = rng.normal(size=(200, 3))
    weights = decimation_filter(factor)
    assert np.sum(weights) == pytest.approx(1.0)
    np.testing.assert_allclose(weights, weights[::-1], atol=1e-16)
    places = decimated_places(len(signals), factor)
    half = len(weights) // 2
    wanted = [np.einsum("t,tk->k", weights, signals[p - half : p + half + 1]) for p in places]
    np.testing.assert_allclose(decimated(signals, factor), wanted, atol=1e-13)
    assert np.all(np.diff(places) == factor)
    assert places[0] - half >= 0
    assert places[-1] + half < len(signals)


@given(st.integers(1, 12), st.integers(0, 10_000))
def test_decimation_is_linear_and_alike_on_both_sides(factor: int, seed: int) -> None:
    """(Y beta) through the filter is Y through the filter, times beta: no bias from decimation."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(60, 2, 4))
    beta = rng.normal(size=4)
    np.testing.assert_allclose(decimated(Y, factor) @ beta, decimated(Y @ beta, factor), atol=1e-12)


def test_decimation_keeps_lines_and_takes_noise_away() -> None:
    t = np.arange(3000) / RATE
    line = (0.3 + 2.0 * t)[:, None]
    np.testing.assert_allclose(decimated(line, 10), line[decimated_places(3000, 10)], atol=1e-13)
    rng = np.random.default_rng(3)
    kept = decimated(rng.normal(size=(60_000, 1)), 10)
    assert np.std(kept) == pytest.approx(np.sqrt(np.sum(decimation_filter(10) ** 2)), rel=0.05)
