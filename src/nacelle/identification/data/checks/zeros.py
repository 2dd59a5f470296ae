"""Check of encoder zeros: is there a shift of an encoder, or of all, with which forces are explained?

Shifts change the poses, and so the geometry of the forces; nothing else in a measurement shows them, unless
coordinates leave their limits, or encoders are redundant (`zeros_of_gaps`). Along each direction, one encoder
or all of them, the best shift s, its deviation and T, how many deviations better it explains the forces,
are estimated together with base parameters and friction (`ZeroModel`, `Shift`). A shift is reported if

    |s| > 5 deviations,     T > 5     and     |s| > 0.02 rad or robot sizes

The deviation has a floor for what the model lacks, in whose units unmodelled friction and cogging alone make
shifts up to 3. Below the last bound are errors of the geometry. Where several shifts are reported, they were
found one after the other, the best first. What would be reported, had it been there, follows from the same
deviations and costs: `ZeroSight`.

Shifts of encoder zeros by maximum likelihood, one direction at a time, and how certain they are.

Along a direction u of zeros (one encoder, or all of them) the model of `zero_model` has the slope d = D_p u.
From a fit with residuals r the best shift is s = d^T r / d^T d (Gauss-Newton), repeated until it does not
move; the start is the best of several sizes to both sides, since far away costs have other minima (`Scan`).
Its variance is the larger of

    sum over t, l of k_l g_t g_(t+l) / (d^T d)^2,    g_t = the sum of d r over the forces of instant t
    S^2 / d^T d,                                     S the deviation were 60 samples of a force independent

The first (Newey and West, k_l = 1 - |l| / L, L a tenth of the record) counts how residuals are correlated
over time; the second is the floor for what the model lacks, which a longer record of the same motion does not
average out.

Costs C(z) = |r(z)|^2 are no parabolas, so a shift is judged by what it explains, not by its size alone: with
e = sqrt(d^T d) times its deviation, what one row is uncertain by,

    T = sqrt(C(0) - C(s)) / e                        (the ratio of likelihoods; s / deviation for a parabola)

Shifts of encoder zeros that redundant encoders show by themselves, without forces.

More encoders than degrees of freedom agree on a pose only if their zeros are right. With x(t) the pose of
least squares, in units in which all encoders count alike, and J (actuators, n) = dq/dv there,

    e(t) = q - q(x),      with zeros z added to q:  e + N z,      N = 1 - J J^+

Along a direction u, one encoder or all, the best shift is s = -sum (N u)^T e / sum |N u|^2. It is reported if
it is above five deviations (those of a `Shift`: what remains is correlated over time) and 0.005 rad or
robot sizes, and leaves at most half of the disagreement: geometry that is wrong makes encoders disagree, too,
but not as a constant shift does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.identification.data.checks.findings import Finding, finding
from nacelle.identification.data.checks.judge import (
    Correction,
    HypothesisFit,
    Judge,
    Smoothed,
    offset_columns,
)
from nacelle.identification.data.checks.zero_model import ZeroFit, ZeroModel, ZeroRecord
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.poses import measured_path
from nacelle.kinematics.actuation import actuator_scales, unwound
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.spatial.scalar import Array

# Deviations from which on a shift is reported, and from which on it is looked at closely.
BELIEVED, _PROMISING = 5.0, 2.0
# Sizes from which the iteration may start, rad or robot sizes; its steps, the longest and the shortest, and
# the part of a deviation that is not worth a step.
_STARTS = (0.12, 0.25, 0.5)
_STEPS, _LARGEST, _DONE, _DONE_PART = 8, 0.2, 1e-4, 0.05
# Part of the record over which residuals may be correlated.
_CORRELATED = 0.1
# Slopes below this, forces per rad or robot size, are none.
_NONE = 1e-5


@dataclass(frozen=True, eq=False)
class Shift:
    """A shift of zeros along a direction, from a fit.

    Attributes:
        direction: u (actuators,), ones and zeros.
        fit: the fit that it is relative to.
        size: s, rad or robot sizes.
        deviation: its standard deviation; infinite where the direction has no effect.
        row: e, what one row is uncertain by, in parts of the forces.
    """

    direction: Array
    fit: ZeroFit
    size: float
    deviation: float
    row: float

    def explained(self, other: ZeroFit) -> float:
        """T: how many deviations better than another fit of the same model this one is."""
        return float(np.sqrt(max(other.cost - self.fit.cost, 0.0)) / self.row)


def linear_shift(model: ZeroModel, fit: ZeroFit, direction: Array) -> Shift | None:
    """The best shift s = d^T r / d^T d of a model that is linear about a fit; None without poses near by.

    d = D_p u is the slope along the direction u (actuators,), r the residuals; rad or robot sizes.
    """
    d = model.slope(fit, direction)
    if d is None:
        return None
    square = float(d @ d)
    if square <= _NONE**2 * fit.count:
        return Shift(direction, fit, 0.0, np.inf, model.deviation(fit))
    size = float(d @ fit.residual) / square
    r = fit.residual - size * d
    own, prior = d[: fit.count], d[fit.count :]
    variance = score_variance(model.correlated(own * r[: fit.count])) * fit.count / fit.freedom
    variance += model.prior**2 * float(prior @ prior)
    own_deviation = float(np.sqrt(variance)) / square
    # The noise of this fit, without what the shift explains.
    left = np.sqrt(min(float(np.sum(r[: fit.count] ** 2) / np.sum(fit.residual[: fit.count] ** 2)), 1.0))
    floor = model.deviation(fit) * float(left / np.sqrt(square))
    deviation = max(own_deviation, floor)
    return Shift(direction, fit, size, deviation, float(deviation * np.sqrt(square)) + 1e-300)


def score_variance(scores: Array) -> float:
    """Variance of the sum of scores (instants,) that are correlated over time (Newey and West)."""
    lags = max(2, int(_CORRELATED * len(scores)))
    total = float(scores @ scores)
    for lag in range(1, lags):
        total += 2.0 * (1.0 - lag / lags) * float(scores[:-lag] @ scores[lag:])
    return max(total, 0.0)


@dataclass(frozen=True, eq=False)
class Scan:
    """Costs along a direction of zeros, near a fit and far from it.

    Attributes:
        model: the model.
        fit: the fit.
        direction: u (actuators,).
        near: the shift of the model that is linear about it; None if coordinates have no poses near by.
        sides: fits at `_STARTS` to each side, as far as coordinates have poses.
    """

    model: ZeroModel
    fit: ZeroFit
    direction: Array
    near: Shift | None
    sides: tuple[tuple[ZeroFit, ...], tuple[ZeroFit, ...]]

    @classmethod
    def of(cls, model: ZeroModel, fit: ZeroFit, direction: Array) -> Scan:
        """Scan a direction (actuators,) from a fit."""
        below, above = (tuple(_toward(model, fit, side * direction)) for side in (-1.0, 1.0))
        return cls(model, fit, direction, linear_shift(model, fit, direction), (below, above))

    def start(self) -> ZeroFit | None:
        """The best of the fits, to search on from; None if a shift hardly explains more."""
        best = min((self.fit, *self.sides[0], *self.sides[1]), key=lambda entry: entry.cost)
        if best.cost < self.fit.cost - (_PROMISING * self.model.deviation(self.fit)) ** 2:
            return best
        near = self.near
        return best if near is None or abs(near.size) > _PROMISING * near.deviation else None

    def visible(self, certain: float) -> float:
        """The smallest shift that makes T at least `certain` to both sides, rad or robot sizes.

        T is that of the fit over one with the shift, whose zeros would be read. A shift after which
        coordinates have no poses is seen by that.
        """
        near = self.near
        if near is None or not np.isfinite(near.deviation):
            return np.inf
        size = certain * near.deviation
        lowest = min(entry.cost for entry in (self.fit, *self.sides[0], *self.sides[1]))
        for fits in self.sides:
            sizes = [0.0, *(float(np.max(np.abs(entry.zeros - self.fit.zeros))) for entry in fits)]
            T = [0.0, *(float(np.sqrt(entry.cost - lowest)) / near.row for entry in fits)]
            k = next((k for k in range(1, len(T)) if T[k] >= certain), None)
            if k is not None:
                part = (certain - T[k - 1]) / (T[k] - T[k - 1])
                size = max(size, sizes[k - 1] + part * (sizes[k] - sizes[k - 1]))
            elif fits:
                # Beyond the last fit in proportion, as far as there are poses.
                end = next((start for start in _STARTS if start > sizes[-1]), np.inf)
                size = max(size, min(sizes[-1] * certain / max(T[-1], 1e-300), end))
        return float(size)


def _toward(model: ZeroModel, fit: ZeroFit, direction: Array) -> Iterator[ZeroFit]:
    """Fits at shifts of some sizes to one side; where coordinates have no poses, half way to there."""
    last, reached = fit, 0.0
    for size in _STARTS:
        there = model.toward(last, fit.zeros + size * direction)
        if there is None:
            half = model.toward(last, fit.zeros + 0.5 * (reached + size) * direction)
            if half is not None:
                yield half
            break
        yield there
        last, reached = there, size


def best_shift(model: ZeroModel, fit: ZeroFit, direction: Array) -> Shift | None:
    """The best fit along a direction, as the linear shift that remains there; None if there is none.

    Args:
        model: the model.
        fit: the fit to start from.
        direction: u (actuators,).
    """
    shift = linear_shift(model, fit, direction)
    for _ in range(_STEPS):
        if shift is None or abs(shift.size) < max(_DONE, _DONE_PART * shift.deviation):
            return shift
        following = _step(model, shift)
        if following is None:
            return shift
        shift = linear_shift(model, following, direction)
    return shift


def _step(model: ZeroModel, shift: Shift) -> ZeroFit | None:
    """The fit after a step of Gauss-Newton, made shorter until the cost falls; None if it never does."""
    fit, step = shift.fit, float(np.clip(shift.size, -_LARGEST, _LARGEST))
    while abs(step) > _DONE:
        there = model.toward(fit, fit.zeros + step * shift.direction)
        if there is not None and there.cost < fit.cost:
            return there
        step *= 0.4
    return None


# ---- shifts of encoder zeros that redundant encoders show by themselves, without forces


# Shifts below this, rad or robot sizes, may be errors of the geometry; what one must leave at most.
_SMALLEST_OF_GAPS, _LEFT_OF_GAPS = 0.005, 0.5
# Independent samples, and the part of the samples that may have no pose.
_INDEPENDENT, _LOST_OF_GAPS = 60.0, 0.05


def zeros_of_gaps(judge: Judge, correction: Correction) -> tuple[Array, float]:
    """The shift of zeros (actuators,) that makes redundant encoders agree, rad or robot sizes.

    Returns:
        The shift, zero if none is to be reported, and the smallest one of any encoder that would be.
    """
    robot = judge.robot
    m, n = len(robot.actuators), robot.motion.n
    zeros, smallest = np.zeros(m), np.inf
    path = judge.path(correction)
    good = np.all(np.isfinite(path.x), axis=1)
    if m == n or np.mean(~good) > _LOST_OF_GAPS:
        return zeros, smallest
    units = actuator_scales(robot)
    own = inverse_kinematics(robot, path.x[good], limits=False).actuators
    e = (unwound(robot, path.q[good], own) - own) / units
    J = jacobian(robot, path.x[good]).inverse / units[:, None]
    N = np.eye(m) - J @ np.linalg.pinv(J)
    best = np.sum(e**2)
    for u in (*np.eye(m), np.ones(m)):
        d = -N @ u
        square = float(np.sum(d**2))
        if square <= 1e-6 * len(e):
            continue
        s = float(np.sum(d * e)) / square
        r = e - s * d
        freedom = max(len(e) * (m - n) - 1.0, 1.0)
        floor = np.sum(r**2) / freedom * max(len(e) / _INDEPENDENT, 1.0) / square
        deviation = float(np.sqrt(max(floor, score_variance(np.sum(d * r, axis=1)) / square**2)))
        least = max(BELIEVED * deviation, _SMALLEST_OF_GAPS)
        smallest = min(smallest, least)
        if abs(s) > least and np.sum(r**2) < min(best, _LEFT_OF_GAPS**2 * np.sum(e**2)):
            zeros, best = s * u, np.sum(r**2)
    return zeros, smallest


# ---- check of encoder zeros: is there a shift of an encoder, or of all, with which forces are explained?


# Offsets that are tried where coordinates belong to no poses as they are, rad or robot sizes.
_WIDELY = (0.08, 0.2, 0.4, 0.8, 1.6)
# Instants that are looked at.
INSTANTS = 300
# Deviations by which a shift must be above the bound to be reported nearly always.
_SURELY = 2.0
# Shifts below this, rad or robot sizes, cannot be distinguished from errors of the geometry.
_SMALLEST = 0.02
# Part of the samples that may have no pose.
_LOST = 0.05


@dataclass(frozen=True)
class ZeroSight:
    """Which shifts of encoder zeros a measurement can show.

    Attributes:
        names: of the actuators.
        sizes: the smallest shift of each encoder alone that is reported nearly always, rad or m; infinite if
            no shift has any effect.
        units: "rad" or "m", of each.
    """

    names: tuple[str, ...]
    sizes: tuple[float, ...]
    units: tuple[str, ...]

    def __str__(self) -> str:
        """In words."""
        said = []
        for unit in dict.fromkeys(self.units):
            sizes = [size for size, own in zip(self.sizes, self.units, strict=True) if own == unit]
            seen = [size for size in sizes if np.isfinite(size)]
            if seen:
                low, high = (f"{size:.2g}" for size in (min(seen), max(seen)))
                said.append(f"from {low if low == high else f'{low} to {high}'} {unit} on")
        blind = [name for name, size in zip(self.names, self.sizes, strict=True) if not np.isfinite(size)]
        words = f"a shifted encoder zero is seen {' and '.join(said)}" if said else ""
        if blind:
            words += f"{'; ' if words else ''}shifts of {', '.join(blind)} are not seen at all"
        return words


def check_zeros(
    measurement: Measurement, judge: Judge, signals: Smoothed, correction: Correction
) -> tuple[list[Finding], ZeroSight | None]:
    """Find encoders that count from another zero, and say which shifts would have been found.

    Args:
        measurement: what was measured.
        judge: its judge.
        signals: smoothed columns at so many instants.
        correction: how columns are meant.
    """
    findings: list[Finding] = []
    m = len(measurement.robot.actuators)
    directions = [*np.eye(m), *([np.ones(m)] if m > 1 else [])]
    record = ZeroRecord(judge, signals, correction)
    start = _start(record, np.zeros(m))
    if start is None:
        return [], None
    scans = [Scan.of(*start, direction) for direction in directions]
    for _ in range(m):
        following = _shifted_start(record, scans)
        if following is None:
            break
        one = _correction(judge, following[1].zeros - start[1].zeros)
        findings.append(zero_finding(measurement, one, explained(start[1].noise, following[1].noise)))
        correction, start = correction.then(one), following
        scans = [Scan.of(*start, direction) for direction in directions]
    return findings, _sight(judge, correction, scans[:m])


def check_gaps(
    measurement: Measurement, judge: Judge, correction: Correction
) -> tuple[list[Finding], Correction]:
    """Find zeros that make redundant encoders disagree; give the corrected reading, too."""
    zeros = zeros_of_gaps(judge, correction)[0]
    if not np.any(zeros):
        return [], correction
    one = _correction(judge, zeros)
    gaps = tuple(
        float(np.sqrt(np.nanmean(judge.path(c).gap ** 2))) for c in (correction, correction.then(one))
    )
    words = f"redundant encoders agree (they differ by {gaps[0]:.2g} rad or robot sizes, {gaps[1]:.2g} so)"
    return [zero_finding(measurement, one, words)], correction.then(one)


_Start = tuple[ZeroModel, ZeroFit]


def _start(record: ZeroRecord, zeros: Array) -> _Start | None:
    """The model along coordinates with zeros (actuators,) added, and its fit there."""
    path = measured_path(record.robot, record.q + zeros * record.units, most_lost=_LOST)
    if path.lost > _LOST:
        return None
    model = ZeroModel(record, zeros, path)
    fit = model.at(zeros, path.x)
    return None if fit is None else (model, fit)


def _shifted_start(record: ZeroRecord, scans: list[Scan]) -> _Start | None:
    """Model and fit with the shift that explains the forces best; None if no shift is to be reported."""
    starts = [(scan, scan.start()) for scan in scans]
    candidates = [
        best_shift(scan.model, there, scan.direction) for scan, there in starts if there is not None
    ]
    nearest = sorted((s for s in candidates if s is not None), key=lambda s: s.fit.cost)[:2]
    zeros = scans[0].fit.zeros
    believed: list[_Start] = []
    for shift in nearest:
        # Cogging and priors were those of the coordinates as read: once more from where it has led.
        moved = _start(record, shift.fit.zeros)
        again = None if moved is None else best_shift(*moved, shift.direction)
        if moved is None or again is None:
            continue
        size = float(np.max(np.abs(again.fit.zeros - zeros)))
        as_read = moved[0].toward(again.fit, zeros)
        clearly = as_read is None or again.explained(as_read) > BELIEVED
        if clearly and size > max(BELIEVED * again.deviation, _SMALLEST):
            following = _start(record, again.fit.zeros)
            if following is not None:
                believed.append(following)
    return min(believed, key=lambda entry: entry[1].noise, default=None)


def _correction(judge: Judge, zeros: Array) -> Correction:
    """The correction by zeros (actuators,), rad or robot sizes."""
    one = offset_columns(len(zeros), zeros * actuator_scales(judge.robot))
    return replace(one, kind="zero", columns=tuple(np.flatnonzero(zeros).tolist()))


def _sight(judge: Judge, correction: Correction, scans: list[Scan]) -> ZeroSight:
    """Which shifts of each encoder would be reported."""
    robot = judge.robot
    sizes = np.array([scan.visible(BELIEVED + _SURELY) for scan in scans])
    # So that it is above the smallest one in spite of its deviation.
    deviations = np.array([np.inf if scan.near is None else scan.near.deviation for scan in scans])
    sizes = np.maximum(sizes, _SMALLEST + _SURELY * deviations)
    sizes = np.minimum(sizes, zeros_of_gaps(judge, correction)[1])
    # A shift as large as a half turn or the robot is no small change of the geometry any more.
    sizes = np.where(sizes < 1.0, sizes * actuator_scales(robot), np.inf)
    turns = [robot.joints[actuator.joint].primitives[0].is_rotation for actuator in robot.actuators]
    return ZeroSight(
        tuple(actuator.name for actuator in robot.actuators),
        tuple(float(size) for size in sizes),
        tuple("rad" if turn else "m" for turn in turns),
    )


def offsets_of(measurement: Measurement) -> Iterator[Correction]:
    """Corrections by an offset of one encoder, or of all of them."""
    robot = measurement.robot
    m = len(robot.actuators)
    for size in _WIDELY:
        for sign in (1.0, -1.0):
            for chosen in (*np.eye(m), *([np.ones(m)] if m > 1 else [])):
                one = offset_columns(m, sign * size * chosen * _sizes(measurement))
                columns = tuple(np.flatnonzero(chosen).tolist())
                yield replace(one, kind="zero", columns=columns)


def refined(judge: Judge, correction: Correction, one: Correction) -> tuple[Correction, HypothesisFit]:
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


def explained(before: float, after: float) -> str:
    """What a shift is good for, from the unexplained parts of the forces without and with it."""
    if not np.isfinite(before):
        return "coordinates belong to poses, as read they do not"
    return f"forces are explained better (unexplained part {before:.4f}, {after:.4f} so)"


def zero_finding(measurement: Measurement, one: Correction, reason: str) -> Finding:
    """The finding for an offset."""
    robot = measurement.robot
    names = tuple(f"q.{robot.actuators[k].name}" for k in one.columns)
    k = one.columns[0]
    unit = "rad" if robot.joints[robot.actuators[k].joint].primitives[0].is_rotation else "m"
    words = "all encoders count" if len(one.columns) > 1 else f"{robot.actuators[k].name} counts"
    message = f"{words} from another zero: with about {one.offsets[k]:+.3g} {unit} {reason}"
    return finding(
        measurement, "zero", names, message, hint="find the zeros anew, or correct `zero` in the map"
    )


def _sizes(measurement: Measurement) -> Array:
    return actuator_scales(measurement.robot)
