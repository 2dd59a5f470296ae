"""Encoder zeros that are wrong: what redundant encoders show, and large shifts.

More encoders than degrees of freedom agree on a pose only if their zeros are right. With x(t) the pose of
least squares, in units in which all encoders count alike, and J (actuators, n) = dq/dv there,

    e(t) = q - q(x),      with zeros z added to q:  e + N z,      N = 1 - J J^+

Along a direction u, one encoder or all, the best shift is s = -sum (N u)^T e / sum |N u|^2. It is reported if
it is above five deviations and 0.005 rad or robot sizes, and leaves at most half of the disagreement:
geometry that is wrong makes encoders disagree, too, but not as a constant shift does. The variance of s is
the larger of

    sum over t, l of k_l g_t g_(t+l) / (d^T d)^2,    g_t = d_t^T r_t,  d = -N u,  r = e - s d
    what it would be were 60 samples independent

The first (Newey and West, k_l = 1 - |l| / L, L a tenth of the record) counts how residuals are correlated
over time; the second is the floor for what the geometry lacks, which a longer record does not average out.

Shifts of other encoders change the geometry, which base parameters nearly make up for: of those that leave
coordinates with poses only large ones show in the forces (`columns`, `best_shift`), and ratios of one axis:
another gear, which the force has, too, or other counts a turn. Small ones are for the residuals of the fit,
where lengths compete with them (`suspects`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.identification.data.checks.findings import Finding, make_finding
from nacelle.identification.data.checks.judge import (
    Correction,
    HypothesisFit,
    HypothesisTest,
    identity_correction,
    offset_columns,
)
from nacelle.identification.data.filters import long_run_covariance
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.poses import encoder_gaps
from nacelle.spatial.scalar import Array
from nacelle.tree.actuation import actuator_scales

# Deviations from which on a shift is reported.
_SIGNIFICANT = 5.0
# Part of the record over which residuals may be correlated.
_CORRELATED = 0.1
# Shifts below this, rad or robot sizes, may be errors of the geometry; what one must leave at most.
_SMALLEST, _REMAINING = 0.005, 0.5
# Independent samples, and the part of the samples that may have no pose.
_INDEPENDENT, _LOST = 60.0, 0.05
# Offsets that are tried, rad or robot sizes, and ratios.
_TRIED_OFFSETS = (0.08, 0.2, 0.4, 0.8, 1.6)
# Zeros below this, rad or robot sizes, may be wrong lengths.
_LIKE_A_LENGTH = 0.15
_TRIED_RATIOS = (0.5, 2.0 / 3.0, 0.75, 0.8, 1.25, 4.0 / 3.0, 1.5, 2.0)


def zeros_from_redundancy(judge: HypothesisTest, correction: Correction) -> Array:
    """The shift of zeros (actuators,) that makes redundant encoders agree, rad or robot sizes.

    Zero if none is to be reported.
    """
    robot = judge.robot
    m, n = len(robot.actuators), robot.motion.n
    zeros = np.zeros(m)
    path = judge.path(correction)
    good = np.all(np.isfinite(path.x), axis=1)
    if m == n or np.mean(~good) > _LOST:
        return zeros
    units = actuator_scales(robot)
    e = encoder_gaps(robot, path.x[good], path.q[good])
    J = jacobian(robot, path.x[good]).inverse / units[:, None]
    N = np.eye(m) - J @ np.linalg.pinv(J)
    best = np.sum(e**2)
    lags = max(2, int(_CORRELATED * len(e)))
    for u in (*np.eye(m), np.ones(m)):
        d = -N @ u
        square = float(np.sum(d**2))
        if square <= 1e-6 * len(e):
            continue
        s = float(np.sum(d * e)) / square
        r = e - s * d
        freedom = max(len(e) * (m - n) - 1.0, 1.0)
        floor = np.sum(r**2) / freedom * max(len(e) / _INDEPENDENT, 1.0) / square
        correlated = (
            float(long_run_covariance([np.sum(d * r, axis=1, keepdims=True)], lags)[0, 0]) / square**2
        )
        least = max(_SIGNIFICANT * float(np.sqrt(max(floor, correlated))), _SMALLEST)
        if abs(s) > least and np.sum(r**2) < min(best, _REMAINING**2 * np.sum(e**2)):
            zeros, best = s * u, np.sum(r**2)
    return zeros


def check_redundant_zeros(
    measurement: Measurement, judge: HypothesisTest, correction: Correction
) -> tuple[list[Finding], Correction]:
    """Find zeros that make redundant encoders disagree; give the corrected reading, too."""
    zeros = zeros_from_redundancy(judge, correction)
    if not np.any(zeros):
        return [], correction
    shift = _zero_correction(judge, zeros)
    gaps = tuple(
        float(np.sqrt(np.nanmean(judge.path(c).gap ** 2))) for c in (correction, correction.then(shift))
    )
    reason = f"redundant encoders agree (they differ by {gaps[0]:.2g} rad or robot sizes, {gaps[1]:.2g} so)"
    return [shift_finding(measurement, shift, reason)], correction.then(shift)


def _zero_correction(judge: HypothesisTest, zeros: Array) -> Correction:
    """The correction by zeros (actuators,), rad or robot sizes."""
    shift = offset_columns(len(zeros), zeros * actuator_scales(judge.robot))
    return replace(shift, kind="zero", columns=tuple(np.flatnonzero(zeros).tolist()))


def best_shift(
    judge: HypothesisTest, current: Correction, origins: Array
) -> tuple[Correction, HypothesisFit]:
    """The zero of one encoder, or of all, or the ratio of one axis with which forces are explained best.

    Args:
        judge: the judge of the measurement.
        current: the reading that it is relative to.
        origins: where coordinates are that the encoders count as zero (actuators,), rad or m.
    """
    m = len(judge.robot.actuators)
    tried = [
        _zero_correction(judge, sign * size * chosen)
        for size in _TRIED_OFFSETS
        for sign in (1.0, -1.0)
        for chosen in (*np.eye(m), *([np.ones(m)] if m > 1 else []))
    ]
    tried += [
        _ratio_correction(k, ratio, with_force, origins)
        for k in range(m)
        for ratio in _TRIED_RATIOS
        for with_force in (True, False)
    ]
    nearest = min(tried, key=lambda shift: judge.verdict(current.then(shift)).cost)
    k = nearest.columns[0]
    ratio, with_force = nearest.factors[k], len(nearest.columns) == 2

    def at(factor: float) -> Correction:
        if nearest.kind == "gear":
            return _ratio_correction(k, ratio**factor, with_force, origins)
        return replace(nearest, offsets=tuple(factor * offset for offset in nearest.offsets))

    def cost(factor: float) -> float:
        return min(judge.verdict(current.then(at(factor))).cost, 1e9)

    best = at(_golden_section(cost, 0.2, 2.2, 0.02))
    return best, judge.verdict(current.then(best))


def is_small(judge: HypothesisTest, shift: Correction) -> bool:
    """Whether a shift of one zero is so small that a wrong length may be like it."""
    sizes = np.array(shift.offsets)[: len(judge.robot.actuators)] / actuator_scales(judge.robot)
    return shift.kind == "zero" and float(np.max(np.abs(sizes))) < _LIKE_A_LENGTH


def _ratio_correction(k: int, ratio: float, with_force: bool, origins: Array) -> Correction:
    """The coordinate of an axis times a ratio about its origin, and with it the force over the ratio."""
    m = len(origins)
    start = identity_correction(m)
    factors, offsets = list(start.factors), list(start.offsets)
    factors[k], offsets[k] = ratio, (1.0 - ratio) * float(origins[k])
    if with_force:
        factors[m + k] = 1.0 / ratio
    columns = (k, m + k) if with_force else (k,)
    return replace(start, factors=tuple(factors), offsets=tuple(offsets), columns=columns, kind="gear")


def _golden_section(cost: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Where a function of one number is least between two, if it falls and then rises."""
    part = 0.5 * (math.sqrt(5.0) - 1.0)
    left, right = high - part * (high - low), low + part * (high - low)
    at_left, at_right = cost(left), cost(right)
    while high - low > tolerance:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - part * (high - low)
            at_left = cost(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + part * (high - low)
            at_right = cost(right)
    return left if at_left < at_right else right


def improvement_message(before: float, after: float) -> str:
    """What a shift is good for, from the unexplained parts of the forces without and with it."""
    if not np.isfinite(before):
        return "coordinates belong to poses, as read they do not"
    return f"forces are explained better (unexplained part {before:.4f}, {after:.4f} so)"


def shift_finding(measurement: Measurement, correction: Correction, reason: str) -> Finding:
    """The finding for a zero or a ratio."""
    robot = measurement.robot
    k = correction.columns[0]
    name = robot.actuators[k].name
    if correction.kind == "gear":
        ratio, force = correction.factors[k], len(correction.columns) == 2
        message = f"{name} has another ratio: with about {ratio:.3g} times the coordinate"
        message += f" and {1.0 / ratio:.3g} times the force" if force else ""
        concerned = (f"q.{name}", f"force.{name}") if force else (f"q.{name}",)
        hint = "check the gear ratio of the map and of the description, and counts a turn"
        return make_finding(measurement, "gear", concerned, f"{message}, {reason}", hint=hint)
    names = tuple(f"q.{robot.actuators[k].name}" for k in correction.columns)
    unit = "rad" if robot.revolute_actuators[k] else "m"
    subject = "all encoders count" if len(correction.columns) > 1 else f"{name} counts"
    message = f"{subject} from another zero: with about {correction.offsets[k]:+.3g} {unit} {reason}"
    return make_finding(
        measurement, "zero", names, message, hint="find the zeros anew, or correct `zero` in the map"
    )
