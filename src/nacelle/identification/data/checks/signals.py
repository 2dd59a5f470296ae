"""Checks of each signal alone: the time, missing numbers, constants, jumps, clipped forces.

Numbers that are missing, signals that never change, coordinates that jump.

A coordinate q_k of a motion that is sampled fast has steps that change little. A step above five times the
99.5th percentile of all steps, and above five times those next to it, is a jump: an encoder that overflows, a
lost index, a sample from elsewhere.

Checks of the time: does it go on, in equal steps, without holes.

With the median step h of the times t_k: t_k+1 - t_k <= 0 goes back or stands; steps above 1.5 h are gaps of
about step / h - 1 samples; other steps that differ from h by more than 5 % are unequal sampling. Times that
were written with few digits have unequal steps, too, but lie within that rounding of an equal grid.

Check for clipped forces: plateaus at the extreme value, or at the limit of the actuator.

A smooth signal that enters its extreme range with the slope s and leaves it after the time T has its peak
about s T / 4 higher (a parabola). Where a signal is flat on its extreme value, though its slope outside calls
for a peak several quanta higher, it is clipped. A natural peak of a quantised signal is flat, too, but is
missing less than one quantum. At rest a force holds its value; only samples in motion count.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nacelle.identification.data.checks.findings import Finding, make_finding
from nacelle.identification.data.filters import windows_around
from nacelle.identification.data.measurement import Measurement
from nacelle.spatial.scalar import Array

_GAP = 1.5
_UNEQUAL = 0.05


def check_timing(measurement: Measurement) -> Iterator[Finding]:
    """Find time that goes back, stands still, has gaps or unequal steps."""
    time = measurement.time
    indices = np.flatnonzero(np.isfinite(time))
    if len(indices) < 3:
        return
    present = time[indices]
    steps = np.diff(present)
    for wrong, what in ((steps < 0.0, "goes back"), (steps == 0.0, "stands still")):
        if np.any(wrong):
            samples = indices[1:][wrong]
            first = int(np.flatnonzero(wrong)[0])
            message = (
                f"time {what}: {present[first + 1]:.9g} s after {present[first]:.9g} s, {len(samples)} times"
            )
            hint = "sort or remove these rows, or join the runs as measurements of their own"
            yield make_finding(measurement, "time", "time", message, hint=hint, samples=samples)
    forward = steps[steps > 0.0]
    if not forward.size:
        return
    step = float(np.median(forward))
    # A time that is missing leaves a step over its own place, which is no gap.
    counts = np.diff(indices)
    gaps = (steps > _GAP * step) & (steps > (counts + 0.5) * step)
    if np.any(gaps):
        lost = int(np.sum(np.round(steps[gaps] / step) - counts[gaps]))
        samples = indices[1:][gaps]
        widest = float(np.max(steps[gaps]))
        message = f"{len(samples)} gaps in time, about {lost} samples are lost; the widest is {widest:.4g} s"
        hint = f"samples follow in steps of {step:.4g} s"
        yield make_finding(measurement, "gap", "time", message, hint=hint, samples=samples)
    uneven = (steps > 0.0) & (counts == 1) & ~gaps & (np.abs(steps - step) > _UNEQUAL * step)
    if np.any(uneven) and not (np.all(steps > 0.0) and not np.any(gaps) and _is_rounded_grid(present, step)):
        samples = indices[1:][uneven]
        spread = float(np.std(steps[(steps > 0.0) & ~gaps]) / step)
        message = (
            f"unequal sampling: {len(samples)} of {len(steps)} steps differ from {step:.4g} s by more than "
            f"5 %, their standard deviation is {100 * spread:.2g} %"
        )
        hint = "record in equal steps, or interpolate to them"
        yield make_finding(measurement, "sampling", "time", message, hint=hint, samples=samples)


def _is_rounded_grid(time: Array, step: float) -> bool:
    """Whether steps differ only because times were written with few digits."""
    grid = (time[-1] - time[0]) / (len(time) - 1)
    off = float(np.max(np.abs(time - time[0] - grid * np.arange(len(time)))))
    for digits in range(10):
        unit = 10.0**-digits
        if unit > step:
            continue
        if np.max(np.abs(time / unit - np.round(time / unit))) < 1e-4:
            return off <= 1.01 * unit
    return False


# ---- checks of each signal alone: numbers that are missing, signals that never change, coordinates that jump


_JUMP = 5.0
# Deviation from a reference, as a part of its own, that is not a controller's error.
_FOLLOWS = 0.5


def named_signals(measurement: Measurement) -> Iterator[tuple[str, Array]]:
    """All signals (N,) by name: "time" (s), "q.NAME" (rad or m), "force.NAME" (N m or N), references."""
    yield "time", measurement.time
    groups = (("q", measurement.q), ("force", measurement.tau), ("reference", measurement.reference))
    for kind, columns in groups:
        if columns is None:
            continue
        for actuator, column in zip(measurement.robot.actuators, columns.T, strict=True):
            yield f"{kind}.{actuator.name}", column


def check_missing(measurement: Measurement) -> Iterator[Finding]:
    """Find samples that have no finite number."""
    for name, column in named_signals(measurement):
        samples = np.flatnonzero(~np.isfinite(column))
        if samples.size:
            share = 100.0 * samples.size / len(column)
            message = f"{samples.size} samples ({share:.2g} %) have no number"
            hint = "record them, or cut the measurement before and after"
            yield make_finding(measurement, "missing", name, message, hint=hint, samples=samples)


def check_constant(measurement: Measurement) -> Iterator[Finding]:
    """Find signals that never change."""
    moving = _has_variation(measurement.q)
    if not np.any(moving):
        names = tuple(f"q.{actuator.name}" for actuator in measurement.robot.actuators)
        message = "no coordinate ever changes: nothing moves"
        yield make_finding(
            measurement, "constant", names, message, hint="record a motion that excites the robot"
        )
        return
    for k, actuator in enumerate(measurement.robot.actuators):
        if not moving[k]:
            message = f"the coordinate of {actuator.name} never changes"
            hint = "check the encoder; fine if this actuator was held"
            names = (f"q.{actuator.name}",)
            yield make_finding(measurement, "constant", names, message, hint=hint, severity="warning")
        if not _has_variation(measurement.tau[:, k : k + 1])[0]:
            message = f"the force of {actuator.name} never changes, though the robot moves"
            hint = "check the channel: the drive was not recorded"
            yield make_finding(measurement, "constant", f"force.{actuator.name}", message, hint=hint)


def check_jumps(measurement: Measurement, lost: Array | None = None) -> Iterator[Finding]:
    """Find coordinates that jump, elsewhere than behind samples that are lost (k,)."""
    for name, column in named_signals(measurement):
        if not name.startswith("q."):
            continue
        indices = np.flatnonzero(np.isfinite(column))
        if len(indices) < 10:
            continue
        steps = np.abs(np.diff(column[indices]) / np.diff(indices))
        usual = float(np.percentile(steps, 99.5))
        padded = np.pad(steps, 2, mode="edge")
        next_to = np.maximum(padded[:-4], padded[4:])
        large = steps > _JUMP * np.maximum(usual, next_to)
        large &= (steps > 1e-3 * np.ptp(column[indices])) & ~np.isin(
            indices[1:], [] if lost is None else lost
        )
        if np.any(large):
            samples = indices[1:][large]
            size = float(np.max(steps[large]))
            turns = size / (2.0 * np.pi)
            whole = ", about a whole turn" if abs(turns - 1.0) < 0.05 else ""
            message = (
                f"the coordinate jumps {len(samples)} times, by up to {size:.4g}{whole} within one sample"
            )
            hint = "count on over the encoder's overflow, or cut the measurement there"
            yield make_finding(measurement, "jump", name, message, hint=hint, samples=samples)


def check_reference(measurement: Measurement) -> Iterator[Finding]:
    """Find references that coordinates do not follow; a warning, since they need not be used."""
    if measurement.reference is None:
        return
    for k, actuator in enumerate(measurement.robot.actuators):
        q, reference = measurement.q[:, k], measurement.reference[:, k]
        both = np.isfinite(q) & np.isfinite(reference)
        if np.sum(both) < 10 or np.ptp(reference[both]) == 0.0:
            continue
        off = q[both] - reference[both]
        # An encoder with another zero follows all the same.
        if np.std(off) > _FOLLOWS * np.std(reference[both]):
            message = f"the coordinate of {actuator.name} does not follow its reference"
            hint = "check column, sign and unit of the reference, and of the encoder"
            names = (f"reference.{actuator.name}", f"q.{actuator.name}")
            yield make_finding(measurement, "reference", names, message, hint=hint, severity="warning")


def _has_variation(columns: Array) -> Array:
    """Whether columns (N, k) ever change (k,)."""
    with np.errstate(invalid="ignore"):
        return np.array(
            [np.ptp(c[np.isfinite(c)]) > 0.0 if np.any(np.isfinite(c)) else False for c in columns.T]
        )


# ---- check for clipped forces: plateaus at the extreme value, or at the limit of the actuator


# Shortest plateau, samples; quanta that must be missing; part of the limit within which a force is at it.
_SHORTEST = 3
_QUANTA = 3.0
_AT_LIMIT = 0.02
# Samples over which noise is averaged there, and how much higher a peak slopes must call for.
_SMOOTH, _HIGHER = 5, 2.5
# Steps of a force over its deviation from which on they are coarse.
_COARSE = 0.04
# Samples around each in which a coordinate must change where the robot moves.
_AROUND = 21


def check_clipping(measurement: Measurement) -> Iterator[Finding]:
    """Find forces that are cut off."""
    moving = is_moving(measurement.q)
    for actuator, column in zip(measurement.robot.actuators, measurement.tau.T, strict=True):
        present = np.flatnonzero(np.isfinite(column))
        values = column[present]
        if len(values) < 20 or np.ptp(values) == 0.0:
            continue
        quantum = _quantum(values)
        clipped = np.zeros(len(values), dtype=bool)
        levels = []
        for sign in (1.0, -1.0):
            top = float(np.max(sign * values))
            near = sign * values >= top - 0.5 * quantum
            near &= moving[present]
            plateau = _plateaus(sign * values, near, quantum)
            if not np.any(plateau) and abs(top / actuator.force - 1.0) <= _AT_LIMIT:
                plateau = _plateaus_at_limit(sign * values, actuator.force)
            if np.any(plateau):
                levels.append(sign * top)
            clipped |= plateau
        if np.any(clipped):
            samples = present[clipped]
            at = " and ".join(f"{level:.4g}" for level in levels)
            known = f", the described limit is {actuator.force:.4g}" if np.isfinite(actuator.force) else ""
            name = f"force.{actuator.name}"
            message = f"the force of {actuator.name} is clipped at {at} in {len(samples)} samples{known}"
            hint = "excite the robot less (`nacelle excite --force 80%`), or raise the drive's limit"
            yield make_finding(measurement, "clipped", name, message, hint=hint, samples=samples)


def check_resolution(measurement: Measurement) -> Iterator[Finding]:
    """Find forces that are counted in coarse steps: a warning, since their error depends on the motion."""
    for actuator, column in zip(measurement.robot.actuators, measurement.tau.T, strict=True):
        values = column[np.isfinite(column)]
        if not values.size:
            continue
        quantum, deviation = _quantum(values), float(np.std(values))
        # Few samples have few values whatever the channel.
        if quantum > _COARSE * deviation and len(np.unique(values)) < 0.1 * len(values):
            name = f"force.{actuator.name}"
            message = (
                f"the force of {actuator.name} is counted in steps of {quantum:.3g}, "
                f"{100.0 * quantum / deviation:.2g} % of its deviation"
            )
            hint = "record the current with more digits, or excite the robot more"
            yield make_finding(measurement, "resolution", name, message, hint=hint, severity="warning")


def is_moving(q: Array) -> Array:
    """Whether the robot moves (N,): at rest a force holds its value."""
    steps = np.zeros(len(q))
    change = np.abs(np.diff(q, axis=0))
    for column in change.T:
        present = column[np.isfinite(column)]
        usual = float(np.percentile(present, 90)) if present.size else 0.0
        # Where a coordinate is missing it may have moved.
        steps[1:] = np.maximum(steps[1:], np.nan_to_num(column / (usual + 1e-300), nan=1.0))
    # Quantised coordinates stay for some samples also while they move.
    half = _AROUND // 2
    before = np.cumsum(np.pad(steps > 0.02, (half + 1, half)))
    return np.asarray(before[_AROUND:] > before[:-_AROUND])


def _quantum(values: Array) -> float:
    """Smallest difference between values: the resolution of the channel."""
    distinct = np.unique(values)
    gaps = np.diff(distinct)
    scale = float(np.max(np.abs(values)))
    gaps = gaps[gaps > 1e-12 * scale]
    return float(np.percentile(gaps, 1)) if gaps.size else 0.0


def _run_bounds(flags: Array) -> Array:
    """Begins and ends (runs, 2) of runs of true entries, ends excluded."""
    edges = np.diff(np.concatenate([[False], flags, [False]]).astype(int))
    return np.stack([np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)], axis=-1)


def _plateaus_at_limit(values: Array, limit: float) -> Array:
    """Entries of plateaus, with noise, at the described limit: a natural peak may end there, too."""
    smooth = np.mean(windows_around(values, _SMOOTH), axis=1)
    width = 2.0 * _AT_LIMIT * limit
    # Slopes next to a natural peak that is `width` high above its foot call for 1.5 times that.
    return _plateaus(smooth, smooth >= limit - width, _HIGHER * width / _QUANTA)


def _plateaus(values: Array, near: Array, quantum: float) -> Array:
    """Entries of plateaus at the highest value whose slopes outside call for a higher peak."""
    result = np.zeros(len(values), dtype=bool)
    for begin, end in _run_bounds(near):
        length = end - begin
        if length < _SHORTEST:
            continue
        reach = max(2, length // 2)
        slopes = []
        if begin >= reach:
            slopes.append((values[begin] - values[begin - reach]) / reach)
        if end + reach <= len(values):
            slopes.append((values[end - 1] - values[end - 1 + reach]) / reach)
        # A signal at rest that holds its highest value has no slope next to it.
        if slopes and np.mean(slopes) * length / 4.0 > _QUANTA * quantum:
            result[begin:end] = True
    return result
