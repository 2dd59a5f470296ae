"""Check for clipped forces: plateaus at the extreme value, or at the limit of the actuator.

A smooth signal that enters its extreme range with the slope s and leaves it after the time T has its peak
about s T / 4 higher (a parabola). Where a signal is flat on its extreme value, though its slope outside calls
for a peak several quanta higher, it is clipped. A natural peak of a quantised signal is flat, too, but is
missing less than one quantum. At rest a force holds its value; only samples in motion count.
"""

from __future__ import annotations

import numpy as np

from nacelle.identification.data.checks.findings import Finding, finding
from nacelle.identification.data.measurement import Measurement
from nacelle.spatial.scalar import Array

# Shortest plateau, samples; quanta that must be missing; part of the limit within which a force is at it.
_SHORTEST = 3
_QUANTA = 3.0
_AT_LIMIT = 0.02
# Samples over which noise is averaged there, and how much higher a peak slopes must call for.
_SMOOTH, _HIGHER = 5, 2.5
# Samples around each in which a coordinate must change where the robot moves.
_AROUND = 21


def check_clipping(measurement: Measurement) -> list[Finding]:
    """Find forces that are cut off."""
    findings = []
    moving = _moving(measurement.q)
    for actuator, column in zip(measurement.robot.actuators, measurement.force.T, strict=True):
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
            found = _plateaus(sign * values, near, quantum)
            if not np.any(found) and abs(top / actuator.force - 1.0) <= _AT_LIMIT:
                found = _at_limit(sign * values, actuator.force)
            if np.any(found):
                levels.append(sign * top)
            clipped |= found
        if np.any(clipped):
            samples = present[clipped]
            at = " and ".join(f"{level:.4g}" for level in levels)
            known = f", the described limit is {actuator.force:.4g}" if np.isfinite(actuator.force) else ""
            findings.append(
                finding(
                    measurement,
                    "clipped",
                    f"force.{actuator.name}",
                    f"the force of {actuator.name} is clipped at {at} in {len(samples)} samples{known}",
                    hint="excite the robot less (`nacelle excite --force 80%`), or raise the drive's limit",
                    samples=samples,
                )
            )
    return findings


def _moving(q: Array) -> Array:
    """Whether the robot moves (N,): at rest a force holds its value."""
    from scipy.ndimage import maximum_filter1d

    steps = np.zeros(len(q))
    change = np.abs(np.diff(q, axis=0))
    for column in change.T:
        present = column[np.isfinite(column)]
        usual = float(np.percentile(present, 90)) if present.size else 0.0
        # Where a coordinate is missing it may have moved.
        steps[1:] = np.maximum(steps[1:], np.nan_to_num(column / (usual + 1e-300), nan=1.0))
    # Quantised coordinates stay for some samples also while they move.
    return np.asarray(maximum_filter1d(steps, _AROUND) > 0.02)


def _quantum(values: Array) -> float:
    """Smallest difference between values: the resolution of the channel."""
    distinct = np.unique(values)
    gaps = np.diff(distinct)
    scale = float(np.max(np.abs(values)))
    gaps = gaps[gaps > 1e-12 * scale]
    return float(np.percentile(gaps, 1)) if gaps.size else 0.0


def _runs(flags: Array) -> Array:
    """Begins and ends (runs, 2) of runs of true entries, ends excluded."""
    edges = np.diff(np.concatenate([[False], flags, [False]]).astype(int))
    return np.stack([np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)], axis=-1)


def _at_limit(values: Array, limit: float) -> Array:
    """Entries of plateaus, with noise, at the described limit: a natural peak may end there, too."""
    from scipy.ndimage import uniform_filter1d

    smooth = uniform_filter1d(values, _SMOOTH)
    width = 2.0 * _AT_LIMIT * limit
    # Slopes beside a natural peak that is `width` high above its foot call for 1.5 times that.
    return _plateaus(smooth, smooth >= limit - width, _HIGHER * width / _QUANTA)


def _plateaus(values: Array, near: Array, quantum: float) -> Array:
    """Entries of plateaus at the highest value whose slopes outside call for a higher peak."""
    result = np.zeros(len(values), dtype=bool)
    for begin, end in _runs(near):
        length = end - begin
        if length < _SHORTEST:
            continue
        reach = max(2, length // 2)
        slopes = []
        if begin >= reach:
            slopes.append((values[begin] - values[begin - reach]) / reach)
        if end + reach <= len(values):
            slopes.append((values[end - 1] - values[end - 1 + reach]) / reach)
        # A signal at rest that holds its highest value has no slope beside it.
        if slopes and np.mean(slopes) * length / 4.0 > _QUANTA * quantum:
            result[begin:end] = True
    return result
