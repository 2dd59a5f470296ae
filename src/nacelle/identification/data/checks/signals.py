"""Checks of each signal alone: numbers that are missing, signals that never change, coordinates that jump.

A coordinate q_k of a motion that is sampled fast has steps that change little. A step above five times the
99.5th percentile of all steps, and above five times those beside it, is a jump: an encoder that overflows, a
lost index, a sample from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nacelle.identification.data.checks.findings import Finding, finding
from nacelle.identification.data.measurement import Measurement
from nacelle.spatial.scalar import Array

_JUMP = 5.0
# Deviation from a reference, as a part of its own, that is not a controller's error.
_FOLLOWS = 0.5


def named_signals(measurement: Measurement) -> Iterator[tuple[str, Array]]:
    """All signals (N,) by name: "time" (s), "q.NAME" (rad or m), "force.NAME" (N m or N), references."""
    yield "time", measurement.time
    groups = (("q", measurement.q), ("force", measurement.force), ("reference", measurement.reference))
    for kind, columns in groups:
        if columns is None:
            continue
        for actuator, column in zip(measurement.robot.actuators, columns.T, strict=True):
            yield f"{kind}.{actuator.name}", column


def check_missing(measurement: Measurement) -> list[Finding]:
    """Find samples that have no finite number."""
    findings = []
    for name, column in named_signals(measurement):
        samples = np.flatnonzero(~np.isfinite(column))
        if samples.size:
            share = 100.0 * samples.size / len(column)
            message = f"{samples.size} samples ({share:.2g} %) have no number"
            hint = "record them, or cut the measurement before and after"
            findings.append(finding(measurement, "missing", name, message, hint=hint, samples=samples))
    return findings


def check_constant(measurement: Measurement) -> list[Finding]:
    """Find signals that never change."""
    findings = []
    moving = _changes(measurement.q)
    if not np.any(moving):
        names = tuple(f"q.{actuator.name}" for actuator in measurement.robot.actuators)
        message = "no coordinate ever changes: nothing moves"
        return [
            finding(measurement, "constant", names, message, hint="record a motion that excites the robot")
        ]
    for k, actuator in enumerate(measurement.robot.actuators):
        if not moving[k]:
            findings.append(
                finding(
                    measurement,
                    "constant",
                    f"q.{actuator.name}",
                    f"the coordinate of {actuator.name} never changes",
                    hint="check the encoder; fine if this actuator was held",
                    severity="warning",
                )
            )
        if not _changes(measurement.force[:, k : k + 1])[0]:
            findings.append(
                finding(
                    measurement,
                    "constant",
                    f"force.{actuator.name}",
                    f"the force of {actuator.name} never changes, though the robot moves",
                    hint="check the channel: the drive was not recorded",
                )
            )
    return findings


def check_jumps(measurement: Measurement) -> list[Finding]:
    """Find coordinates that jump."""
    findings = []
    for name, column in named_signals(measurement):
        if not name.startswith("q."):
            continue
        places = np.flatnonzero(np.isfinite(column))
        if len(places) < 10:
            continue
        steps = np.abs(np.diff(column[places]) / np.diff(places))
        usual = float(np.percentile(steps, 99.5))
        padded = np.pad(steps, 2, mode="edge")
        beside = np.maximum(padded[:-4], padded[4:])
        large = steps > _JUMP * np.maximum(usual, beside)
        large &= steps > 1e-3 * np.ptp(column[places])
        if np.any(large):
            samples = places[1:][large]
            size = float(np.max(steps[large]))
            turns = size / (2.0 * np.pi)
            whole = ", about a whole turn" if abs(turns - 1.0) < 0.05 else ""
            message = (
                f"the coordinate jumps {len(samples)} times, by up to {size:.4g}{whole} within one sample"
            )
            hint = "count on over the encoder's overflow, or cut the measurement there"
            findings.append(finding(measurement, "jump", name, message, hint=hint, samples=samples))
    return findings


def check_reference(measurement: Measurement) -> list[Finding]:
    """Find references that coordinates do not follow; a warning, since they need not be used."""
    findings = []
    if measurement.reference is None:
        return []
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
            findings.append(finding(measurement, "reference", names, message, hint=hint, severity="warning"))
    return findings


def _changes(columns: Array) -> Array:
    """Whether columns (N, k) ever change (k,)."""
    with np.errstate(invalid="ignore"):
        return np.array(
            [np.ptp(c[np.isfinite(c)]) > 0.0 if np.any(np.isfinite(c)) else False for c in columns.T]
        )
