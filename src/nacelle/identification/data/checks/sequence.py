"""Checks of the sequence of samples: lost and repeated ones that the stamps do not show, outliers of forces.

Where samples are lost while the stamps count on, all coordinates advance at once as they do in several
steps. With d_k the step of a coordinate less the mean of the six around it, s_k the deviation of such d
(from the median), and v_k that mean, the number of lost samples is that of least squares,

    n = sum v_k d_k / s_k^2 / sum v_k^2 / s_k^2

and the steps are one of time if n is about whole and d_k - n v_k is small against d_k: a single encoder that
jumps is something else. A repeated sample equals the one before in all signals, though the robot moves. An
outlier of a force is one sample, or two, far from the median of the seven around it, while the samples next
to it agree: so that a step of friction does not count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nacelle.identification.data.checks.findings import Finding, make_finding
from nacelle.identification.data.checks.signals import is_moving
from nacelle.identification.data.filters import windows_around
from nacelle.identification.data.measurement import Measurement
from nacelle.spatial.scalar import Array

# Weighted squares of steps, for each coordinate, from which on one is tested; the part that time may leave;
# fewest samples lost at once.
_SEEN, _TIME_LEAVES, _FEWEST_LOST = 60.0, 0.1, 0.7
# Repeated samples that chance may give; how far off outliers are, in deviations of the noise and of the force
# (a loop that answers to its encoders makes spikes of its own, which are smaller).
_CHANCE, _OUTLYING, _FAR_OFF = 5, 9.0, 0.3
# Steps on either side of one from which the usual step follows, and samples whose median is the usual force.
_STEPS_AROUND, _FORCES_AROUND = 3, 7
_FEWEST_SAMPLES = 50


def lost_samples(measurement: Measurement) -> tuple[Array, Array]:
    """Samples behind which others are lost, by the coordinates (k,) and by the stamps (l,).

    By the coordinates only where the stamps go on equally; all coordinates advance by several steps at once.
    """
    q, steps = measurement.q, np.diff(measurement.time)
    none = np.zeros(0, dtype=int)
    if len(q) < _FEWEST_SAMPLES or not np.all(np.isfinite(q)) or not np.all(np.isfinite(steps)):
        return none, none
    late = steps > 1.5 * np.median(steps)
    # The step behind repeated samples is longer than those around it, too.
    unequal = (np.abs(steps - np.median(steps)) > 0.5 * np.median(steps)) | np.all(
        np.diff(q, axis=0) == 0.0, axis=1
    )
    near = np.convolve(unequal, np.ones(2 * _STEPS_AROUND + 1), "same") > 0.5
    advance = _steps_of_time(np.diff(q, axis=0)) >= _FEWEST_LOST
    return np.flatnonzero(advance & ~near) + 1, np.flatnonzero(late) + 1


def check_lost_samples(measurement: Measurement) -> Iterator[Finding]:
    """Find samples that are lost, which the stamps do not show."""
    samples, _ = lost_samples(measurement)
    if samples.size:
        message = (
            f"all coordinates advance {samples.size} times by several steps at once: samples are lost, and "
            "the stamps do not show it"
        )
        hint = "record the time of each sample, or cut the measurement there"
        names = tuple(f"q.{actuator.name}" for actuator in measurement.robot.actuators)
        yield make_finding(measurement, "drops", names, message, hint=hint, samples=samples)


def _steps_of_time(steps: Array) -> Array:
    """Samples (N - 1,) by which each step (N - 1, actuators) is longer than those around it; 0 if by none."""
    kernel = np.ones(2 * _STEPS_AROUND + 1)
    kernel[_STEPS_AROUND] = 0.0
    padded = np.pad(steps, ((_STEPS_AROUND, _STEPS_AROUND), (0, 0)), mode="edge")
    usual = np.stack([np.convolve(column, kernel / np.sum(kernel), "valid") for column in padded.T], axis=1)
    longer = steps - usual
    noise = np.median(np.abs(longer), axis=0) / 0.6745
    noise = np.where(noise > 0.0, noise, np.max(np.abs(longer), axis=0) + 1e-300)
    weighted, speed = longer / noise, usual / noise
    squares = np.sum(weighted**2, axis=1)
    n = np.sum(weighted * speed, axis=1) / np.maximum(np.sum(speed**2, axis=1), 1e-300)
    left = np.sum((weighted - n[:, None] * speed) ** 2, axis=1)
    count = steps.shape[1]
    is_time = (squares > _SEEN * count) & (left < _TIME_LEAVES * squares)
    # The steps next to a long one have it among those around them.
    return np.where(is_time & (squares >= np.max(windows_around(squares, len(kernel)), axis=1)), n, 0.0)


def check_repeated_samples(measurement: Measurement) -> Iterator[Finding]:
    """Find samples that equal the one before in all signals, though the robot moves."""
    signals = np.concatenate([measurement.q, measurement.tau], axis=1)
    if len(signals) < _FEWEST_SAMPLES:
        return
    same = np.diff(signals, axis=0) == 0.0
    moving = is_moving(measurement.q)[1:]
    m = measurement.q.shape[1]
    coordinates, forces = np.all(same[:, :m], axis=1)[moving], np.all(same[:, m:], axis=1)[moving]
    chance = float(np.mean(coordinates) * np.mean(forces)) if np.any(moving) else 1.0
    at = np.flatnonzero(np.all(same, axis=1) & moving)
    if len(at) > _CHANCE * (1.0 + chance * np.count_nonzero(moving)):
        message = f"{len(at)} samples equal the one before in all signals, though the robot moves"
        hint = "remove what is repeated, and give the time of each sample"
        yield make_finding(measurement, "duplicates", "time", message, hint=hint, samples=at + 1)


def check_outliers(measurement: Measurement) -> Iterator[Finding]:
    """Find forces that are far off for a sample or two."""
    for actuator, column in zip(measurement.robot.actuators, measurement.tau.T, strict=True):
        if len(column) < _FEWEST_SAMPLES or not np.all(np.isfinite(column)):
            continue
        smooth = np.median(windows_around(column, _FORCES_AROUND), axis=1)
        off = np.abs(column - smooth)
        noise = float(np.median(off)) / 0.6745
        # Medians of both sides: at a step of the force they differ.
        half = _FORCES_AROUND // 2
        before, after = np.roll(smooth, half), np.roll(smooth, -half)
        level = _OUTLYING * np.maximum(np.abs(before - after), noise)
        at = np.flatnonzero((off > np.maximum(level, _FAR_OFF * np.std(column))) & (noise > 0.0))
        at = at[(at >= half) & (at < len(column) - half)]
        if at.size:
            size = float(np.max(off[at]))
            message = f"{at.size} outliers in the force of {actuator.name}, up to {size:.3g} off"
            hint = "mend the channel, or weigh them down: method irls with outliers allowed"
            name = f"force.{actuator.name}"
            yield make_finding(measurement, "outliers", name, message, hint=hint, samples=at)
