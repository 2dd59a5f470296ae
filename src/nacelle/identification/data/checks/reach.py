"""Check that coordinates belong to poses on the reference's branch, within limits, away from singularities.

Where a robot passes a parallel singularity, its coordinates turn back along some direction and two poses
belong to them on either side: forward kinematics goes on along the wrong one. Its conditioning (inverse
condition number of the scaled J_r^-1) falls to zero there. Between the instants that are looked at it is
sought among the samples themselves.
"""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.jacobian import jacobian
from nacelle.identification.data.checks.correction import Correction
from nacelle.identification.data.checks.findings import Finding, finding
from nacelle.identification.data.checks.judge import Judge
from nacelle.identification.data.measured_path import Path, measured_path
from nacelle.identification.data.measurement import Measurement
from nacelle.kinematics.flags import Flag
from nacelle.spatial.scalar import Array

# Conditioning, as a part of the usual one, from which on a crossing is looked for, and at which there is one.
_DOUBTFUL, _CROSSED = 0.3, 0.03


def check_reach(measurement: Measurement, judge: Judge, correction: Correction) -> list[Finding]:
    """Find coordinates beyond limits, out of reach, or where forward kinematics leaves its branch."""
    robot = measurement.robot
    path = judge.path(correction)
    samples = judge.signals.samples
    findings = []
    for k, actuator in enumerate(robot.actuators):
        beyond = path.beyond[:, k]
        if np.any(beyond):
            low, high = actuator.position
            span = float(np.min(path.q[:, k])), float(np.max(path.q[:, k]))
            message = (
                f"the coordinate of {actuator.name} runs from {span[0]:.4g} to {span[1]:.4g}, its limits are "
                f"{low:.4g} and {high:.4g}"
            )
            hint = "check the encoder's zero, sign and unit, and the limits of the description"
            findings.append(
                finding(
                    measurement, "reach", f"q.{actuator.name}", message, hint=hint, samples=samples[beyond]
                )
            )
    names = tuple(f"q.{actuator.name}" for actuator in robot.actuators)
    away = (path.flags & int(Flag.UNREACHABLE | Flag.INVALID)) != 0
    other = ~away & ((path.flags & int(Flag.OTHER_BRANCH | Flag.SINGULAR | Flag.NEAR_SINGULAR)) != 0)
    if np.any(away) and not findings:
        message = f"{np.mean(away) * 100:.2g} % of the samples belong to no pose of {robot.name}"
        hint = "check zeros, signs and units of the encoders, and the geometry of the description"
        findings.append(finding(measurement, "reach", names, message, hint=hint, samples=samples[away]))
    crossed = _crossing(measurement, path, samples) if not np.any(other) else None
    if crossed is not None:
        message = "the path touches a parallel singularity, where forward kinematics changes its branch"
        hint = "keep the motion away from singularities"
        findings.append(finding(measurement, "branch", names, message, hint=hint, samples=crossed))
    if np.any(other):
        message = "forward kinematics leaves the branch of the reference pose, or passes a singularity"
        hint = "keep the motion away from singularities, or describe the branch where the robot is assembled"
        findings.append(finding(measurement, "branch", names, message, hint=hint, samples=samples[other]))
    return findings


def _crossing(measurement: Measurement, path: Path, samples: Array) -> Array | None:
    """Samples where the conditioning falls to zero; None if there are none."""
    good = path.good
    if np.sum(good) < 5:
        return None
    figure = np.full(len(good), np.inf)
    figure[good] = jacobian(path.robot, path.x[good]).conditioning
    usual = float(np.median(figure[good]))
    lowest = int(np.argmin(figure))
    if not figure[lowest] < _DOUBTFUL * usual:
        return None
    begin, end = samples[max(lowest - 1, 0)], samples[min(lowest + 1, len(samples) - 1)] + 1
    between = np.arange(begin, end)
    between = between[np.all(np.isfinite(measurement.q[between]), axis=1)]
    if not between.size:
        return None
    closer = measured_path(path.robot, measurement.q[between])
    near = np.zeros(len(between), dtype=bool)
    near[~closer.good] = True
    near[closer.good] = jacobian(path.robot, closer.x[closer.good]).conditioning < _CROSSED * usual
    return between[near] if np.any(near) else None
