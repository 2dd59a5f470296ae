"""Checks of the time: does it go on, in equal steps, without holes.

With the median step h of the times t_k: t_k+1 - t_k <= 0 goes back or stands; steps above 1.5 h are gaps of
about step / h - 1 samples; other steps that differ from h by more than 5 % are unequal sampling. Times that
were written with few digits have unequal steps, too, but lie within that rounding of an equal grid.
"""

from __future__ import annotations

import numpy as np

from nacelle.identification.data.checks.findings import Finding, finding
from nacelle.identification.data.measurement import Measurement
from nacelle.spatial.scalar import Array

_GAP = 1.5
_UNEQUAL = 0.05


def check_timing(measurement: Measurement) -> list[Finding]:
    """Find time that goes back, stands still, has gaps or unequal steps."""
    time = measurement.time
    places = np.flatnonzero(np.isfinite(time))
    if len(places) < 3:
        return []
    present = time[places]
    steps = np.diff(present)
    findings = []
    for wrong, words in ((steps < 0.0, "goes back"), (steps == 0.0, "stands still")):
        if np.any(wrong):
            samples = places[1:][wrong]
            first = int(np.flatnonzero(wrong)[0])
            message = (
                f"time {words}: {present[first + 1]:.9g} s after {present[first]:.9g} s, {len(samples)} times"
            )
            hint = "sort or remove these rows, or join the runs as measurements of their own"
            findings.append(finding(measurement, "time", "time", message, hint=hint, samples=samples))
    forward = steps[steps > 0.0]
    if not forward.size:
        return findings
    step = float(np.median(forward))
    # A time that is missing leaves a step over its own place, which is no gap.
    own = np.diff(places)
    gaps = (steps > _GAP * step) & (steps > (own + 0.5) * step)
    if np.any(gaps):
        lost = int(np.sum(np.round(steps[gaps] / step) - own[gaps]))
        samples = places[1:][gaps]
        widest = float(np.max(steps[gaps]))
        message = f"{len(samples)} gaps in time, about {lost} samples are lost; the widest is {widest:.4g} s"
        hint = f"samples follow in steps of {step:.4g} s"
        findings.append(finding(measurement, "gap", "time", message, hint=hint, samples=samples))
    uneven = (steps > 0.0) & (own == 1) & ~gaps & (np.abs(steps - step) > _UNEQUAL * step)
    if np.any(uneven) and not (np.all(steps > 0.0) and not np.any(gaps) and _only_rounded(present, step)):
        samples = places[1:][uneven]
        spread = float(np.std(steps[(steps > 0.0) & ~gaps]) / step)
        message = (
            f"unequal sampling: {len(samples)} of {len(steps)} steps differ from {step:.4g} s by more than "
            f"5 %, their standard deviation is {100 * spread:.2g} %"
        )
        hint = "record in equal steps, or interpolate to them"
        findings.append(finding(measurement, "sampling", "time", message, hint=hint, samples=samples))
    return findings


def _only_rounded(time: Array, step: float) -> bool:
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
