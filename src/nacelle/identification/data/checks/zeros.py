"""Check of encoder zeros: is there a shift of an encoder, or of all, with which forces are explained?

Shifts change the poses, and so the geometry of the forces; nothing else in a measurement shows them, unless
coordinates leave their limits, or encoders are redundant (`zero_gaps`). Along each direction, one encoder or
all of them, the best shift s, its deviation and T, how many deviations better it explains the forces, are
estimated together with base parameters and friction (`zero_model`, `zero_shift`). A shift is reported if

    |s| > 5 deviations,     T > 5     and     |s| > 0.02 rad or robot sizes

The deviation has a floor for what the model lacks, in whose units unmodelled friction and cogging alone make
shifts up to 3. Below the last bound are errors of the geometry. Where several shifts are reported, they were
found one after the other, the best first. What would be reported, had it been there, follows from the same
deviations and costs: `ZeroSight`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from nacelle.identification.data.checks.correction import Correction, offset_columns
from nacelle.identification.data.checks.findings import Finding, finding
from nacelle.identification.data.checks.judge import HypothesisFit, Judge
from nacelle.identification.data.checks.smoothing import Smoothed
from nacelle.identification.data.checks.zero_gaps import zeros_of_gaps
from nacelle.identification.data.checks.zero_model import ZeroFit, ZeroModel
from nacelle.identification.data.checks.zero_record import ZeroRecord
from nacelle.identification.data.checks.zero_shift import BELIEVED, Scan, best_shift
from nacelle.identification.data.measured_path import measured_path
from nacelle.identification.data.measurement import Measurement
from nacelle.kinematics.forward.actuator_path import actuator_scales
from nacelle.spatial.scalar import Array

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
