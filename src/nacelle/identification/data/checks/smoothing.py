"""Smoothed signals and their derivatives at a few hundred instants, for the checks alone.

The band of the motion ends at the frequency f_b above which the encoders' spectrum has no energy beyond its
own noise floor; signals pass a Butterworth filter of order four at 3 f_b, forwards and backwards, so without
phase. Derivatives are central differences. All of this is linear and acts on each column alone: swapped
columns, signs, factors and offsets can be tried on the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nacelle.spatial.scalar import Array

# Instants that are looked at, and the least number of samples from which they are taken.
_INSTANTS = 120
_FEWEST = 40
# Part of the energy of a coordinate that may lie beyond the band.
_BEYOND = 1e-6
# Cutoff, in parts of half the rate, from which on nothing is filtered.
_UNFILTERED = 0.9


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Signals at some instants.

    Attributes:
        samples: places of the instants among the samples (M,).
        time: s (M,).
        value: of all columns (M, columns).
        rate: their derivatives (M, columns).
        acceleration: their second derivatives (M, columns).
        band: frequency where the band of the motion ends, Hz.
        cutoff: of the filter, in parts of half the rate; 1 where nothing is filtered.
        all_values: all columns at all times, in equal steps (N, columns).
        all_rates: their derivatives (N, columns).
        places: the instants among these times (M,).
    """

    samples: Array
    time: Array
    value: Array
    rate: Array
    acceleration: Array
    band: float
    cutoff: float
    all_values: Array
    all_rates: Array
    places: Array

    def passed(self, signals: Array) -> Array:
        """Signals (n, k) in n equal cells of the record, through the same filter, at the instants (M, k)."""
        cells, count = len(signals), len(self.all_rates)
        filtered = _filtered(signals, self.cutoff * count / cells)
        if cells == count:
            return np.asarray(filtered[self.places])
        places = (self.places + 0.5) * cells / count - 0.5
        return np.stack([np.interp(places, np.arange(cells), column) for column in filtered.T], axis=1)


def smoothed(time: Array, columns: Array, encoders: int, instants: int = _INSTANTS) -> Smoothed:
    """Smooth signals that may lack samples and may be sampled unequally.

    Args:
        time: s (N,), ascending.
        columns: signals (N, columns); NaN is interpolated.
        encoders: how many of the first columns are coordinates, whose spectrum gives the band.
        instants: at how many instants, at most.
    """
    count = len(time)
    even = np.linspace(time[0], time[-1], count)
    signals = np.stack([_interpolated(even, time, column) for column in columns.T], axis=-1)
    step = (time[-1] - time[0]) / (count - 1)
    # The lower median: one of the columns may not be a coordinate.
    band = sorted(_band(column, step) for column in signals[:, :encoders].T)[(encoders - 1) // 2]
    cutoff = min(3.0 * band * 2.0 * step, _UNFILTERED)
    filtered = _filtered(signals, cutoff)
    rate = np.gradient(filtered, step, axis=0)
    acceleration = np.gradient(rate, step, axis=0)
    margin = min(int(np.ceil(1.0 / cutoff)) * 2 + 2, count // 4)
    places = np.unique(np.linspace(margin, count - 1 - margin, instants).round().astype(int))
    samples = np.clip(np.searchsorted(time, even[places]), 0, count - 1)
    return Smoothed(
        samples=samples,
        time=even[places],
        value=filtered[places],
        rate=rate[places],
        acceleration=acceleration[places],
        band=band,
        cutoff=cutoff,
        all_values=filtered,
        all_rates=rate,
        places=places,
    )


def enough(count: int) -> bool:
    """Whether so many samples can be smoothed."""
    return count >= _FEWEST


def _filtered(signals: Array, cutoff: float) -> Array:
    """Signals (N, k) without what is faster than the cutoff, in parts of half the rate."""
    from scipy.signal import butter, sosfiltfilt

    if cutoff >= _UNFILTERED:
        return signals
    # Both ends continue by reflection at a point; what that spoils is left out by the caller.
    return np.asarray(sosfiltfilt(butter(4, cutoff, output="sos"), signals, axis=0))


def _interpolated(even: Array, time: Array, column: Array) -> Array:
    present = np.isfinite(column)
    if not np.any(present):
        return np.zeros_like(even)
    return np.interp(even, time[present], column[present])


def _band(column: Array, step: float) -> float:
    """Frequency above which a coordinate has no energy but noise, Hz."""
    count = len(column)
    centered = column - np.polyval(np.polyfit(np.arange(count), column, 1), np.arange(count))
    power = np.abs(np.fft.rfft(centered * np.hanning(count))) ** 2
    frequency = np.fft.rfftfreq(count, step)
    floor = np.median(power[len(power) // 2 :]) * 2.0
    beyond = np.cumsum((np.maximum(power - floor, 0.0))[::-1])[::-1]
    inside = np.flatnonzero(beyond > _BEYOND * beyond[0])
    return float(frequency[inside[-1]]) if inside.size and beyond[0] > 0.0 else float(frequency[1])
