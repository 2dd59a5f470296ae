"""Search for swapped columns, wrong signs and wrong units: which way of reading does physics explain best?

All corrections of one fault are judged (`judge`): two encoders, two forces or an encoder and a force
exchanged; the sign of a column or of all of them; a column, or all, in another unit: mm for m, deg for rad,
mA for A, the motor's side for the joint's; time in ms. The best is taken if its cost is lower by a clear
amount, and the search goes on from there, so that several faults are found one after the other. A correction
whose cost is nearly as low explains the same: with equal legs exchanged encoders cannot be distinguished from
exchanged forces. It is named with the first. An encoder is smoother than a force; only columns of which
that is not true are tried in each other's place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from nacelle.identification.data.checks.findings import Finding, make_finding
from nacelle.identification.data.checks.judge import (
    Correction,
    HypothesisFit,
    HypothesisTest,
    scale_columns,
    swap_columns,
)
from nacelle.identification.data.checks.zeros import best_shift, improvement_message, is_small, shift_finding
from nacelle.identification.data.measurement import IDENTITY_CONVERSION, Measurement, MeasurementSource
from nacelle.model.robot import Robot

# A correction is believed if its cost is lower by this much, and by this factor.
_LOWER, _FACTOR = 15.0, 0.85
# Costs within this, or this factor, of the lowest are as good.
_EQUIVALENT, _EQUIVALENT_FACTOR = 6.0, 1.15
# What a shift of zeros must leave at most of what is unexplained: parameters nearer to the description are
# not enough.
_EXPLAINED = 0.8
# Faults that are sought one after the other.
_MOST_FAULTS = 4
# Cost for each actuator above which a hypothesis explains the forces poorly, and up to which it is right.
POOR_COST, _RIGHT_COST = 60.0, 6.0
_DEGREES = 180.0 / np.pi
# How much rougher an encoder must be to be taken for a force.
_ROUGHER = 2.0


def check_columns(
    measurement: Measurement, judge: HypothesisTest, current: Correction
) -> tuple[list[Finding], Correction, HypothesisFit]:
    """Find swapped columns, wrong signs and units; give the corrected reading and how good it is, too.

    Args:
        measurement: what was measured.
        judge: its judge.
        current: the reading to start from.
    """
    robot = measurement.robot
    m = len(robot.actuators)
    verdict = judge.verdict(current)
    findings = []
    names = _signal_names(robot)[:m]
    origins = np.array([measurement.source.conversions.get(k, IDENTITY_CONVERSION).offset for k in names])
    for _ in range(_MOST_FAULTS):
        if verdict.cost <= _RIGHT_COST * m:
            break
        costs = [(judge.verdict(current.then(change)), change) for change in _single_corrections(measurement)]
        costs = [entry for entry in costs if np.isfinite(entry[0].cost)]
        lowest = min((fit.cost for fit, _ in costs), default=np.inf)
        helps = lowest < verdict.cost - _LOWER and lowest < _FACTOR * verdict.cost
        if not helps or lowest > POOR_COST * m:
            # No other reading of the columns explains the forces: zeros or ratios may be what is wrong.
            change, fit = best_shift(judge, current, origins)
            small = np.isfinite(verdict.cost) and is_small(judge, change)
            clearly = fit.residual < _EXPLAINED * verdict.residual and not small
            if clearly and fit.cost < min(lowest, verdict.cost) - _LOWER:
                findings.append(
                    shift_finding(measurement, change, improvement_message(verdict.residual, fit.residual))
                )
                current, verdict = current.then(change), fit
                continue
        if not helps:
            break
        best, correction = min(costs, key=lambda entry: entry[0].cost)
        bound = max(best.cost + _EQUIVALENT, _EQUIVALENT_FACTOR * best.cost)
        alike = [change for fit, change in costs if fit.cost <= bound and change is not correction]
        findings.append(_correction_finding(measurement, correction, alike, verdict, best))
        current, verdict = current.then(correction), best
    return findings, current, verdict


def _correction_finding(
    measurement: Measurement,
    correction: Correction,
    alike: list[Correction],
    before: HypothesisFit,
    after: HypothesisFit,
) -> Finding:
    """The finding for a correction, with those that would explain the same; how good the fit is so."""
    names = _signal_names(measurement.robot)
    columns = dict.fromkeys((*correction.columns, *(k for alternative in alike for k in alternative.columns)))
    message = correction.message
    if alike:
        message += "; or " + "; or ".join(alternative.message for alternative in alike[:5])
    if np.isfinite(before.cost):
        message += f" (unexplained part of the forces {before.residual:.2f} as read, {after.residual:.2f} so)"
    else:
        message += " (as read, the coordinates belong to no poses)"
    return make_finding(
        measurement,
        correction.kind,
        tuple(names[k] for k in columns),
        message,
        hint=correction.hint if not alike else f"{correction.hint}, or another of these",
    )


def _signal_names(robot: Robot) -> list[str]:
    """Signals by column, time last."""
    names = [f"{kind}.{actuator.name}" for kind in ("q", "force") for actuator in robot.actuators]
    return [*names, "time"]


def _single_corrections(measurement: Measurement) -> Iterator[Correction]:
    """All corrections of one fault."""
    robot, source = measurement.robot, measurement.source
    m, names = len(robot.actuators), _signal_names(robot)
    column = [source.column(name) for name in names]
    pairs = [(*pair, ": an encoder and a force") for pair in rough_encoders(measurement)]
    pairs += [(*pair, "") for first in (0, m) for pair in combinations(range(first, first + m), 2)]
    for i, j, kinds in pairs:
        # Of columns of one kind the signals are exchanged, of others the numbers of the file.
        known = [source.conversions.get(names[k], IDENTITY_CONVERSION) for k in (i, j)] if kinds else []
        message = f"columns {column[i]} and {column[j]} are swapped{kinds}"
        hint = f"take {column[j]} for {names[i]} and the other way round"
        yield replace(swap_columns(m, i, j, *known), kind="swapped", message=message, hint=hint)
    for k in range(2 * m):
        message = f"column {column[k]} has the wrong sign"
        hint = f"{_opposite_sign(source, names[k : k + 1])} for {column[k]}"
        yield replace(scale_columns(m, (k,), -1.0), kind="sign", message=message, hint=hint)
    groups = (("coordinates", tuple(range(m))), ("forces", tuple(range(m, 2 * m))))
    for name, columns in groups:
        message = f"all {name} have the wrong sign"
        hint = f"{_opposite_sign(source, [names[k] for k in columns])} for all of them"
        yield replace(scale_columns(m, columns, -1.0), kind="sign", message=message, hint=hint)
    factors = [_unit_factors(robot, k) for k in range(2 * m)]
    scaled: list[tuple[tuple[int, ...], str, str, dict[float, str]]] = [
        ((k,), f"column {column[k]} is", column[k], factors[k]) for k in range(2 * m)
    ]
    for name, columns in groups if m > 1 else ():
        common = {f: unit for f, unit in factors[columns[0]].items() if all(f in factors[k] for k in columns)}
        scaled.append((columns, f"all {name} are", name, common))
    scaled.append(((2 * m,), f"column {column[-1]} is", column[-1], {1e-3: "ms for s", 1e3: "s for ms"}))
    for columns, subject, name, units in scaled:
        for factor, unit in units.items():
            ratio = f"small by {factor:.4g}" if factor > 1.0 else f"large by {1.0 / factor:.4g}"
            changed = scale_columns(m, columns, factor)
            if columns == (2 * m,):
                changed = replace(changed, time_scale=factor)
            message, hint = f"{subject} too {ratio}: {unit}", f"check the unit of {name}"
            yield replace(changed, kind="unit", message=message, hint=hint)


def _opposite_sign(source: MeasurementSource, signals: Sequence[str]) -> str:
    """What a map has to say about signals for their signs to change; it may give some of them already."""
    signs = {source.signs.get(name, 1) for name in signals}
    return f"sign: {-signs.pop()}" if len(signs) == 1 else "the opposite sign"


def rough_encoders(measurement: Measurement) -> Iterator[tuple[int, int]]:
    """Pairs of an encoder and a force of which the encoder is the rougher one."""
    m = len(measurement.robot.actuators)
    columns = np.concatenate([measurement.q, measurement.tau], axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Physics is asked only where most samples are there, so no column is empty.
        roughness = np.nanstd(np.diff(columns, 2, axis=0), axis=0) / np.nanstd(columns, axis=0)
    for i in range(m):
        for j in range(m, 2 * m):
            if roughness[i] > _ROUGHER * roughness[j]:
                yield i, j


def _unit_factors(robot: Robot, k: int) -> dict[float, str]:
    """Factors that correct the unit of a column, with words."""
    m = len(robot.actuators)
    joint = robot.joints[robot.actuators[k % m].joint]
    if k >= m:
        factors = {1e-3: "mA for A, or mN for N", 1e3: "A for mA, or kN for N"}
    elif joint.primitives[0].is_rotation:
        factors = {1.0 / _DEGREES: "deg for rad", _DEGREES: "rad for deg"}
    else:
        factors = {1e-3: "mm for m", 1e3: "m for mm"}
    ratio = abs(joint.gear_ratio)
    if k < m and ratio != 1.0:
        # A screw's motor counts angles.
        factors = {1.0 / _DEGREES: "deg for rad", _DEGREES: "rad for deg"} | factors
    if max(ratio, 1.0 / ratio) > 4.0:
        sides = "the motor's side of the gear for the joint's", "the joint's side of the gear for the motor's"
        factors |= (
            {1.0 / ratio: sides[0], ratio: sides[1]} if k < m else {ratio: sides[0], 1.0 / ratio: sides[1]}
        )
    return factors
