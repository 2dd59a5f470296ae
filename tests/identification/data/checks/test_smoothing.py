"""Smoothed signals: derivatives of sines, noise removed, gaps bridged, one filter for all."""

from __future__ import annotations

import numpy as np

from nacelle.identification.data.checks.smoothing import enough, smoothed

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
    found = smoothed(TIME, signals(1e-3), 2)
    assert 1.0 < found.band < 4.0
    assert len(found.time) <= 120
    np.testing.assert_allclose(TIME[found.samples], found.time, atol=1.0 / RATE)
    t, value, rate = found.time[INNER], found.value[INNER], found.rate[INNER]
    np.testing.assert_allclose(value[:, 0], np.sin(OMEGA * t), atol=2e-3)
    np.testing.assert_allclose(rate[:, 0], OMEGA * np.cos(OMEGA * t), atol=0.05)
    expected = -2.0 * OMEGA**2 * np.cos(OMEGA * t)
    np.testing.assert_allclose(found.acceleration[INNER, 1], expected, atol=0.02 * OMEGA**2)


def test_samples_that_are_missing() -> None:
    columns = signals(0.0)
    columns[700:710, 0] = np.nan
    found = smoothed(TIME, columns, 2)
    np.testing.assert_allclose(found.value[INNER, 0], np.sin(OMEGA * found.time[INNER]), atol=2e-3)
    assert enough(40)
    assert not enough(39)


def test_the_same_filter_for_other_signals() -> None:
    """A signal that is passed as it is equals its own column; cells of half the number nearly do."""
    columns = signals(1e-3)
    found = smoothed(TIME, columns, 2)
    assert found.cutoff < 0.1
    np.testing.assert_allclose(found.passed(columns), found.value, atol=1e-12)
    halved = columns.reshape(1000, 2, 3).mean(axis=1)
    np.testing.assert_allclose(found.passed(halved)[INNER], found.value[INNER], atol=0.01)
