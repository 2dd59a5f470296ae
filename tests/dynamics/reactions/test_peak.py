"""Peaks of joints: the largest of the reactions at all samples."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.dynamics.reactions.peak import peak_reactions
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


def test_peaks_are_the_largest() -> None:
    robot = any_robot("fivebar")
    start = mechanism_of(robot).reference[0]
    line = nacelle.Line(start, start + np.array([0.03, 0.02]), motion="xy", duration=0.2)
    found = peak_reactions(robot, line, 100.0)
    wrench = found.reactions.wrench
    assert wrench.shape == (len(found.times), len(robot.joints), 6)
    for j, peak in enumerate(found.peaks):
        forces = np.linalg.norm(wrench[:, j, :3], axis=1)
        assert peak.force == forces.max()
        assert peak.force_time == found.times[forces.argmax()]
        assert peak.mean_force <= peak.force * (1.0 + 1e-12)
        assert found.joint(robot.joints[j].name) is peak
    largest = max(found.peaks, key=lambda peak: peak.force)
    assert largest.name in repr(found)
