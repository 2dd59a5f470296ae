"""Idle motions: rods between two spherical joints spin about themselves, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


@pytest.mark.parametrize(("name", "count"), [("delta", 6), ("h4", 8), ("gough-stewart", 0), ("fivebar", 0)])
def test_spins(name: str, count: int) -> None:
    mechanism = mechanism_of(any_robot(name))
    robot = mechanism.robot
    spins = [spin for plan in mechanism.legs for spin in plan.spins]
    assert len(spins) == count
    for spin in spins:
        # The axis runs through the spherical joints at both ends of the body.
        ends = []
        for joint in robot.joints:
            if spin.body in (joint.predecessor, joint.successor):
                frame = joint.frame_successor if joint.successor == spin.body else joint.frame_predecessor
                ends.append(np.asarray(frame.p, dtype=float))
        line = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
        assert abs(abs(line @ np.array(spin.axis)) - 1.0) < 1e-9
        assert np.linalg.norm(np.cross(line, np.array(spin.point) - ends[0])) < 1e-9
