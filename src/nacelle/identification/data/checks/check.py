"""All checks of a measurement, from the cheap to the physical.

    missing, constant -> time -> lost, repeated -> jumps -> outliers -> clipping
    -> zeros, columns (swapped, sign, unit) -> reach, branch

Later checks are left out, with words, where earlier findings make them impossible.

Check that coordinates belong to poses on the reference's branch, within limits, away from singularities.

Where a robot passes a parallel singularity, its coordinates turn back along some direction and two poses
belong to them on either side: forward kinematics goes on along the wrong one. Its conditioning (inverse
condition number of the scaled J_r^-1) falls to zero there. Between the instants that are looked at it is
sought among the samples themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.identification.data.checks.columns import POOR_COST, check_columns, rough_encoders
from nacelle.identification.data.checks.findings import Finding, Findings, make_finding
from nacelle.identification.data.checks.judge import (
    FEWEST,
    Correction,
    HypothesisFit,
    HypothesisTest,
    identity_correction,
    smooth_signals,
)
from nacelle.identification.data.checks.sequence import (
    check_lost_samples,
    check_outliers,
    check_repeated_samples,
    lost_samples,
)
from nacelle.identification.data.checks.signals import (
    check_clipping,
    check_constant,
    check_jumps,
    check_missing,
    check_reference,
    check_resolution,
    check_timing,
)
from nacelle.identification.data.checks.zeros import check_redundant_zeros
from nacelle.identification.data.measurement import Measurement
from nacelle.identification.data.poses import MeasuredPath, measured_path
from nacelle.kinematics.flags import Flag
from nacelle.one_thread import one_blas_thread
from nacelle.spatial.scalar import Array

# Conditioning, as a part of the usual one, from which on a crossing is looked for, and at which there is one.
_SUSPICIOUS, _SINGULAR = 0.3, 0.03


def check_reach(measurement: Measurement, judge: HypothesisTest, correction: Correction) -> Iterator[Finding]:
    """Find coordinates beyond limits, out of reach, or where forward kinematics leaves its branch."""
    robot = measurement.robot
    path = judge.path(correction)
    samples = judge.signals.samples
    for k in np.flatnonzero(np.any(path.beyond, axis=0)):
        actuator, beyond = robot.actuators[k], samples[path.beyond[:, k]]
        low, high = actuator.position
        span = float(np.min(path.q[:, k])), float(np.max(path.q[:, k]))
        message = (
            f"the coordinate of {actuator.name} runs from {span[0]:.4g} to {span[1]:.4g}, its limits are "
            f"{low:.4g} and {high:.4g}"
        )
        hint = "check the encoder's zero, sign and unit, and the limits of the description"
        yield make_finding(measurement, "reach", f"q.{actuator.name}", message, hint=hint, samples=beyond)
    names = tuple(f"q.{actuator.name}" for actuator in robot.actuators)
    away = (path.flags & int(Flag.UNREACHABLE | Flag.INVALID)) != 0
    off_branch = ~away & ((path.flags & int(Flag.OTHER_BRANCH | Flag.SINGULAR | Flag.NEAR_SINGULAR)) != 0)
    if np.any(away) and not np.any(path.beyond):
        message = f"{np.mean(away) * 100:.2g} % of the samples belong to no pose of {robot.name}"
        hint = "check zeros, signs and units of the encoders, and the geometry of the description"
        yield make_finding(measurement, "reach", names, message, hint=hint, samples=samples[away])
    crossed = _singular_samples(measurement, path, samples) if not np.any(off_branch) else None
    if crossed is not None:
        message = "the path touches a parallel singularity, where forward kinematics changes its branch"
        hint = "keep the motion away from singularities"
        yield make_finding(measurement, "branch", names, message, hint=hint, samples=crossed)
    if np.any(off_branch):
        message = "forward kinematics leaves the branch of the reference pose, or passes a singularity"
        hint = "keep the motion away from singularities, or describe the branch where the robot is assembled"
        yield make_finding(measurement, "branch", names, message, hint=hint, samples=samples[off_branch])


def _singular_samples(measurement: Measurement, path: MeasuredPath, samples: Array) -> Array | None:
    """Samples where the conditioning falls to zero; None if it does so nowhere."""
    good = path.good
    if np.sum(good) < 5:
        return None
    figure = np.full(len(good), np.inf)
    figure[good] = jacobian(path.robot, path.x[good]).conditioning
    usual = float(np.median(figure[good]))
    lowest = int(np.argmin(figure))
    if not figure[lowest] < _SUSPICIOUS * usual:
        return None
    begin, end = samples[max(lowest - 1, 0)], samples[min(lowest + 1, len(samples) - 1)] + 1
    between = np.arange(begin, end)
    between = between[np.all(np.isfinite(measurement.q[between]), axis=1)]
    if not between.size:
        return None
    closer = measured_path(path.robot, measurement.q[between])
    near = np.zeros(len(between), dtype=bool)
    near[~closer.good] = True
    near[closer.good] = jacobian(path.robot, closer.x[closer.good]).conditioning < _SINGULAR * usual
    return between[near] if np.any(near) else None


# ---- all checks of a measurement, from the cheap to the physical


# Part of a column that may be missing where physics is still asked.
_MISSING = 0.2
# Part of the forces that may remain unexplained.
_MISFIT = 0.5


@one_blas_thread
def check_measurement(measurement: Measurement, *, physics: bool = True) -> Findings:
    """Find what is wrong with a measurement.

    Cheap checks look at each signal alone. Physical ones take the robot's description as the judge: poses by
    forward kinematics, forces by the linear form in the base parameters, whose values may differ from the
    description's; so they work although parameters are not known yet.

    Args:
        measurement: what was measured.
        physics: whether to make the physical checks, too.
    """
    findings = [*check_missing(measurement), *check_constant(measurement), *check_timing(measurement)]
    findings += [*check_lost_samples(measurement), *check_repeated_samples(measurement)]
    findings += [*check_jumps(measurement, np.concatenate(lost_samples(measurement)))]
    findings += [*check_outliers(measurement), *check_clipping(measurement), *check_reference(measurement)]
    findings += check_resolution(measurement)
    skipped = []
    reason = _reason_without_physics(measurement, findings) if physics else "not wanted"
    if reason:
        skipped.append(f"swapped columns, signs, units, zeros and branches: {reason}")
    else:
        physical = _check_physics(measurement)
        findings = [entry for entry in findings if not _is_explained(entry, physical)] + physical
    return Findings(measurement.source.file, tuple(findings), tuple(skipped))


def _is_explained(entry: Finding, others: list[Finding]) -> bool:
    """Whether a coordinate jumps only since its column is another one."""
    swapped = {signal for finding in others if finding.kind == "swapped" for signal in finding.signals}
    return entry.kind == "jump" and swapped.issuperset(entry.signals)


def _reason_without_physics(measurement: Measurement, findings: list[Finding]) -> str:
    """Why physics cannot be asked; empty if it can."""
    kinds = {entry.kind for entry in findings}
    if len(measurement) < FEWEST:
        return f"{len(measurement)} samples are too few"
    if "time" in kinds:
        return "time does not go on"
    if kinds & {"drops", "duplicates"}:
        return "samples are lost or repeated"
    if any(entry.kind == "constant" and entry.severity == "error" for entry in findings):
        return "signals never change"
    columns = np.concatenate([measurement.time[:, None], measurement.q, measurement.tau], axis=1)
    if np.max(np.mean(~np.isfinite(columns), axis=0)) > _MISSING:
        return "too many samples have no number"
    # A force in the place of an encoder jumps, too: then columns are what is wrong.
    rough = {f"q.{measurement.robot.actuators[i].name}" for i, _ in rough_encoders(measurement)}
    if any(entry.kind == "jump" and not rough.issuperset(entry.signals) for entry in findings):
        return "coordinates jump"
    return ""


def _check_physics(measurement: Measurement) -> list[Finding]:
    """Findings that the robot's physics makes."""
    robot = measurement.robot
    present = np.isfinite(measurement.time)
    columns = np.concatenate([measurement.q, measurement.tau], axis=1)[present]
    signals = smooth_signals(measurement.time[present], columns, len(robot.actuators))
    judge = HypothesisTest(robot, signals)
    gaps, read = check_redundant_zeros(measurement, judge, identity_correction(len(robot.actuators)))
    reach = list(check_reach(measurement, judge, read))
    findings, correction, verdict = check_columns(measurement, judge, read)
    if any(entry.kind == "branch" for entry in reach) and verdict.cost > POOR_COST * len(robot.actuators):
        # No other reading explains the forces either: the path itself is at fault.
        return gaps + reach
    findings = gaps + findings
    findings += check_reach(measurement, judge, correction) if findings else reach
    if findings or not np.isfinite(verdict.cost):
        return findings
    return _check_misfit(measurement, verdict)


def _check_misfit(measurement: Measurement, verdict: HypothesisFit) -> list[Finding]:
    """Say so where the model explains little of the forces, whichever way columns are read."""
    if verdict.residual < _MISFIT:
        return []
    names = tuple(f"force.{actuator.name}" for actuator in measurement.robot.actuators)
    percent = 100 * verdict.residual
    message = f"the model leaves {percent:.0f} % of the forces unexplained, and no other reading helps"
    hint = "check that robot, map and data belong together, and that the robot was in motion"
    return [make_finding(measurement, "misfit", names, message, hint=hint)]
