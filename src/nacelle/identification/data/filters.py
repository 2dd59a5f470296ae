"""Zero-phase filters, central differences, the band of a measured motion, and sums over correlated samples.

Signals are sampled at a rate f_s (1/s), one column a signal. A Butterworth filter of order 4 runs forwards
and backwards, so that its gain is 1 / (1 + (f / f_c)^8) and its phase zero: at a fifth of the cutoff f_c it
changes a motion by 3e-6. Derivatives are central differences over five samples,

    q'  = (q_-2 - 8 q_-1 + 8 q_1 - q_2) / (12 T),    q'' = (-q_-2 + 16 q_-1 - 30 q + 16 q_1 - q_2) / (12 T^2)

with relative errors (w T)^4 / 30 and (w T)^4 / 90 at the angular frequency w. Parallel decimation passes the
regressor and the forces through one low-pass filter of finite length and keeps every d-th sample: what both
sides of Y p = force lose is the same, and noise beyond the band of the motion is gone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nacelle.spatial.scalar import Array

# Order of the Butterworth filter, on each of its two ways.
_ORDER = 4
# Half the length of the filter of the decimation, in samples that are kept: one that does not count spoils as
# few of them as possible.
HALF_LENGTH = 1
# Periods of the cutoff from an end, which is extended with a kink, until accelerations are right to 1e-5.
_SETTLING_PERIODS = 4.0
# The band holds this part of the power of the speed,
_POWER = 0.999
# in lines of the spectrum that stand this far above noise, and above its strongest line: the steps of
# encoders along a periodic motion come again with it, and are lines, too.
_ABOVE_NOISE, _ABOVE_LINES = 30.0, 3.0
# Signals come again where they are correlated by more than this, over at least this part of them.
_ALIKE, _OVERLAP = 0.9, 0.1


def low_pass(signals: Array, cutoff: float, rate: float) -> Array:
    """Filter signals (N, k) by Butterworth, forwards and backwards.

    Args:
        signals: (N, k).
        cutoff: where half of the amplitude passes, Hz.
        rate: samples a second.
    """
    if cutoff >= 0.45 * rate:
        return signals
    count, memory = len(signals), int(3.0 * rate / cutoff)
    # What the ends are extended by must be longer than the filter remembers, and shorter than the signal;
    # then the ends are held, longer than it remembers: the transform is periodic.
    padding = min(count - 1, memory)
    total = 2 ** (count + 2 * padding + 2 * memory).bit_length()
    before = (total - count) // 2 - padding
    extended = np.pad(signals, ((padding, padding), (0, 0)), "reflect", reflect_type="odd")
    extended = np.pad(extended, ((before, total - count - 2 * padding - before), (0, 0)), "edge")
    # The digital filter of the bilinear transform, on both of its ways.
    ratio = np.tan(np.pi * np.fft.rfftfreq(total)) / np.tan(np.pi * cutoff / rate)
    spectrum = np.fft.rfft(extended, axis=0) / (1.0 + ratio[:, None] ** (2 * _ORDER))
    start = before + padding
    return np.asarray(np.fft.irfft(spectrum, total, axis=0)[start : start + count])


def settling_samples(cutoff: float, rate: float) -> int:
    """How many samples at the ends of a signal the filter and the differences spoil."""
    return 2 if cutoff >= 0.45 * rate else 2 + int(np.ceil(_SETTLING_PERIODS * rate / cutoff))


def derivatives(q: Array, rate: float) -> tuple[Array, Array]:
    """First and second derivatives of q (N, k) by central differences over five samples.

    The two samples at each end are NaN.
    """
    first, second = np.full_like(q, np.nan), np.full_like(q, np.nan)
    a, b, c, d, e = (q[k : len(q) - 4 + k] for k in range(5))
    first[2:-2] = (a - 8.0 * b + 8.0 * d - e) * (rate / 12.0)
    second[2:-2] = (-a + 16.0 * b - 30.0 * c + 16.0 * d - e) * (rate**2 / 12.0)
    return first, second


def motion_band(q: Array, rate: float) -> float:
    """The frequency below which signals (N, k) have all but a thousandth of their speed's power, Hz.

    Lines of the spectrum that noise may have made do not count: noise is taken to be as strong as in the
    upper half of the spectrum, by its median and by its strongest line.
    """
    count = len(q)
    window = np.hanning(count)[:, None]
    # Without the straight line of least squares.
    line = np.linspace(-1.0, 1.0, count)[:, None]
    varying = q - np.mean(q, axis=0)
    varying -= line * (np.sum(line * varying, axis=0) / np.sum(line**2))
    power = np.abs(np.fft.rfft(varying * window, axis=0)) ** 2
    frequency = np.fft.rfftfreq(count, 1.0 / rate)
    upper = power[len(power) // 2 :]
    noise = np.maximum(np.median(upper, axis=0), _ABOVE_LINES / _ABOVE_NOISE * np.max(upper, axis=0))
    # Rounding is noise, too: of the spectrum, and of coordinates that hardly move.
    rounding = np.finfo(float).eps * count * np.max(np.abs(q), axis=0)
    noise = np.maximum(noise, np.maximum(1e-26 * np.max(power, axis=0), rounding**2))
    counted = np.where(power > _ABOVE_NOISE * noise, power, 0.0) * frequency[:, None] ** 2
    lowest = 2.0 * rate / count
    highest = [lowest]
    for column in counted.T:
        total = float(np.sum(column))
        if total > 0.0:
            index = int(np.searchsorted(np.cumsum(column), _POWER * total))
            highest.append(float(frequency[min(index, len(frequency) - 1)]))
    return max(highest)


def windows_around(values: Array, width: int) -> Array:
    """The values (N, width), an odd number, around each of N; beyond the ends they are mirrored."""
    padded = np.pad(values, width // 2, mode="symmetric")
    return np.lib.stride_tricks.sliding_window_view(padded, width)


def long_run_covariance(
    parts: Sequence[Array], lags: int, repeats: Sequence[Sequence[int]] | None = None
) -> Array:
    """Covariance (k, k) of the sum of scores that are correlated over time (Newey and West).

    B = sum over t, l of k_l s_t s_(t+l)^T with k_l = 1 - |l| / lags; with a periodic motion also over t and
    t + L + l, L multiples of its period: what a model lacks comes again with the motion.

    Args:
        parts: scores (N, k) of each uninterrupted part.
        lags: how many samples apart they are uncorrelated.
        repeats: of each part the lags L after which the motion comes again (`repeat_lags`); none if None.
    """
    B = np.sum([part.T @ part for part in parts], axis=0)
    for part, again in zip(parts, repeats or [()] * len(parts), strict=True):
        pairs = [(lag, lag) for lag in range(1, lags)]
        pairs += [(L + lag, abs(lag)) for L in again for lag in range(1 - lags, lags)]
        for lag, apart in pairs:
            if 0 < lag < len(part):
                term = part[:-lag].T @ part[lag:]
                B += (1.0 - apart / lags) * (term + term.T)
    return np.asarray(B)


def repeat_lags(signals: Array) -> list[int]:
    """Lags, in samples, after which signals (N, k) come again: multiples of the period of a motion.

    Samples of zeros do not count. The correlation of the signals with themselves, over the samples that
    overlap, falls below a half, and then has peaks close to 1.
    """
    counted = np.any(signals != 0.0, axis=1)
    if not np.any(counted):
        return []
    varying = np.where(counted[:, None], signals - np.mean(signals[counted], axis=0), 0.0)
    varying /= np.maximum(np.sqrt(np.mean(varying[counted] ** 2, axis=0)), np.finfo(float).tiny)
    count, total = len(signals), 2 ** (2 * len(signals)).bit_length()
    of_signals = np.fft.rfft(varying, total, axis=0)
    of_squares = np.fft.rfft(np.sum(varying**2, axis=1), total)
    of_counted = np.fft.rfft(counted.astype(float), total)
    product = np.fft.irfft(np.sum(np.abs(of_signals) ** 2, axis=1), total)[:count]
    later, earlier = (
        np.maximum(np.fft.irfft(part, total)[:count], 0.0)
        for part in (of_squares * np.conj(of_counted), of_counted * np.conj(of_squares))
    )
    size = np.sqrt(later * earlier)
    # What overlaps by little is alike by chance.
    correlation = np.where(size > _OVERLAP * size[0], product / np.maximum(size, np.finfo(float).tiny), 0.0)
    apart = np.flatnonzero(correlation < 0.5)
    if not apart.size:
        return []
    inner = correlation[1:-1]
    peaks = (inner > _ALIKE) & (inner >= correlation[:-2]) & (inner > correlation[2:])
    return [int(lag) for lag in np.flatnonzero(peaks) + 1 if lag > apart[0]]


def passed_noise(order: int, cutoff: float, factor: int, rate: float) -> float:
    """Deviation of white noise of deviation 1 once filtered, differentiated `order` times and decimated.

    s^2 = mean over the spectrum of |H (2 pi f)^order W|^2, H Butterworth's gain, W that of the decimation;
    in 1/s^order.
    """
    frequency = np.linspace(0.0, 0.5 * rate, 2049)
    gain = (2.0 * np.pi * frequency) ** order
    if cutoff < 0.45 * rate:
        gain = gain / (1.0 + (frequency / cutoff) ** (2 * _ORDER))
    window = np.abs(np.fft.rfft(decimation_filter(factor), 4096))
    return float(np.sqrt(np.mean((gain * window) ** 2)))


def decimation_filter(factor: int) -> Array:
    """Hann's window (2 factor + 1,), with the sum one, before every `factor`-th sample is kept."""
    if factor == 1:
        return np.ones(1)
    window = np.hanning(2 * HALF_LENGTH * factor + 1)
    return np.asarray(window / np.sum(window))


def decimate(signals: Array, factor: int) -> Array:
    """Signals (N, ...) through the filter, every `factor`-th sample where the filter fits: (M, ...)."""
    if factor == 1:
        return signals
    coefficients = decimation_filter(factor)
    windows = np.lib.stride_tricks.sliding_window_view(signals, len(coefficients), axis=0)
    return np.asarray(windows[::factor] @ coefficients)


def decimation_centres(count: int, factor: int) -> Array:
    """Places (kept,) of the samples that are kept among `count`: the centres of windows that lie within."""
    half = 0 if factor == 1 else HALF_LENGTH * factor
    return np.arange(half, count - half, factor)
