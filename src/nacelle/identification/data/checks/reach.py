"""Check that coordinates belong to poses on the reference's branch, within limits."""

from __future__ import annotations

import numpy as np

from nacelle.identification.data.checks.correction import Correction
from nacelle.identification.data.checks.findings import Finding, finding
from nacelle.identification.data.checks.judge import Judge
from nacelle.identification.data.measurement import Measurement
from nacelle.kinematics.flags import Flag


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
    if np.any(other):
        message = "forward kinematics leaves the branch of the reference pose, or passes a singularity"
        hint = "keep the motion away from singularities, or describe the branch where the robot is assembled"
        findings.append(finding(measurement, "branch", names, message, hint=hint, samples=samples[other]))
    return findings
