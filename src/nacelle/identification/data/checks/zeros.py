"""Check of encoder zeros: is there an offset of an encoder, or of all, with which forces are explained?

Offsets change the poses, and so the geometry of the forces; nothing else in a measurement shows them, unless
coordinates leave their limits, or encoders are redundant. The cost C of `judge` assumes that the model
explains each sample to 10 %; here the residual itself, r times the forces, says how well it does:

    D = (0.1 / r)^2 (C(0) - C(offset)),        twice the logarithm of the likelihood ratio

An offset is believed if D is above 40: unmodelled friction and cogging alone make D up to 20. How large an
offset must be for that depends on the motion: the page on data has figures. Encoders are corrected one after
the other, the best first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from nacelle.identification.data.checks.correction import Correction, shifted
from nacelle.identification.data.checks.findings import Finding, finding
from nacelle.identification.data.checks.judge import KNOWN, Judge, Verdict
from nacelle.identification.data.measurement import Measurement
from nacelle.kinematics.forward.actuator_path import actuator_units

# Offsets that are tried first, rad or robot sizes; those where coordinates belong to no poses as they are.
_TRIED = (0.2,)
_WIDELY = (0.08, 0.2, 0.4, 0.8, 1.6)
# Twice the logarithm of the likelihood ratio from which on an offset is believed.
_BELIEVED = 40.0
# What a first offset must lower the cost by to be looked at closely: one of half the size does.
_PROMISING = 0.5
# Residual below which nothing is explained better, as a part of the forces.
_LEAST = 0.01
# What must be left of the unexplained part at most.
_CLEARLY = 0.8
# Offsets below this, rad or robot sizes, cannot be distinguished from errors of the geometry.
_SMALLEST = 0.02


def check_zeros(
    measurement: Measurement, judge: Judge, correction: Correction, verdict: Verdict
) -> list[Finding]:
    """Find encoders that count from another zero."""
    findings: list[Finding] = []
    for _ in measurement.robot.actuators:
        tried = [(judge.verdict(correction.then(one)).cost, one) for one in offsets_of(measurement, _TRIED)]
        lowest, best = min(tried, key=lambda entry: entry[0])
        if lowest > verdict.cost - _PROMISING:
            break
        one, better = refined(judge, correction, best)
        gain = (KNOWN / max(better.residual, _LEAST)) ** 2 * (verdict.cost - better.cost)
        size = np.max(np.abs(np.array(one.offsets)[: len(measurement.robot.actuators)]) / _sizes(measurement))
        # Parameters nearer to the description are not enough: forces must be explained better, too.
        explained = better.residual < _CLEARLY * verdict.residual
        if not (gain > _BELIEVED and size > _SMALLEST and explained):
            break
        findings.append(zero_finding(measurement, one, (verdict, better)))
        correction, verdict = correction.then(one), better
    return findings


def offsets_of(measurement: Measurement, sizes: tuple[float, ...] = _WIDELY) -> Iterator[Correction]:
    """Corrections by an offset of one encoder, or of all of them."""
    robot = measurement.robot
    m = len(robot.actuators)
    for size in sizes:
        for sign in (1.0, -1.0):
            for chosen in (*np.eye(m), *([np.ones(m)] if m > 1 else [])):
                one = shifted(m, sign * size * chosen * _sizes(measurement))
                columns = tuple(np.flatnonzero(chosen).tolist())
                yield replace(one, kind="zero", columns=columns)


def refined(judge: Judge, correction: Correction, one: Correction) -> tuple[Correction, Verdict]:
    """The best offset along the same encoders, and how good it is."""
    from scipy.optimize import minimize_scalar

    def at(factor: float) -> Correction:
        return replace(one, offsets=tuple(factor * offset for offset in one.offsets))

    def cost(factor: float) -> float:
        return min(judge.verdict(correction.then(at(factor))).cost, 1e9)

    result = minimize_scalar(
        cost, bounds=(0.2, 2.2), method="bounded", options={"maxiter": 14, "xatol": 0.02}
    )
    best = at(float(result.x))
    return best, judge.verdict(correction.then(best))


def zero_finding(measurement: Measurement, one: Correction, costs: tuple[Verdict, Verdict]) -> Finding:
    """The finding for an offset."""
    robot = measurement.robot
    names = tuple(f"q.{robot.actuators[k].name}" for k in one.columns)
    before, after = costs
    k = one.columns[0]
    unit = "rad" if robot.joints[robot.actuators[k].joint].primitives[0].is_rotation else "m"
    words = "all encoders count" if len(one.columns) > 1 else f"{robot.actuators[k].name} counts"
    message = f"{words} from another zero: with about {one.offsets[k]:+.3g} {unit} "
    if np.isfinite(before.cost):
        message += (
            f"forces are explained better (unexplained part {before.residual:.3f}, {after.residual:.3f} so)"
        )
    else:
        message += "coordinates belong to poses, as read they do not"
    return finding(
        measurement, "zero", names, message, hint="find the zeros anew, or correct `zero` in the map"
    )


def _sizes(measurement: Measurement) -> np.ndarray:
    return actuator_units(measurement.robot)
