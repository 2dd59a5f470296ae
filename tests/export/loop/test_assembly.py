"""The number that says whether a pose is reached."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.poses import sample_poses
from nacelle.export.loop.assembly import assembly_entry
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.library import library_robot


def test_reached_and_not() -> None:
    robot = library_robot("quattro")
    program = assembly_entry(robot, "p").program
    x = sample_poses(robot, 20, seed=1)
    joints = inverse_kinematics(robot, x)
    for pose, y, margins in zip(x, joints.y, joints.margins, strict=True):
        (margin,) = program.evaluate([*pose.tolist(), *y.tolist()])
        assert 0.0 < margin <= np.min(margins) * (1.0 + 1e-12)
    pose, y = mechanism_of(robot).reference
    with np.errstate(all="ignore"):
        (away,) = program.evaluate([np.float64(pose[0] + 5.0), *pose[1:].tolist(), *y.tolist()])
    assert not away > 0.0
