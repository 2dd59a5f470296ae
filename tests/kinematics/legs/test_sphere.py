"""The sphere of a leg's end: the joint at the end lies on it at every pose."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.legs.sphere import driven_joint, leg_sphere
from nacelle.kinematics.tree.configuration import configuration
from support.uncompiled import any_robot, poses_around, solve_uncompiled


@pytest.mark.parametrize("name", ["fivebar", "delta-codourey", "gough-stewart", "hexaglide"])
def test_the_end_lies_on_the_sphere(name: str) -> None:
    robot = any_robot(name)
    x = poses_around(robot, 3, 1, 0.02, 0.05)
    y = solve_uncompiled(robot, x)
    for k in range(3):
        now = configuration(robot, x[k], y[k])
        for leg in robot.legs:
            joint = driven_joint(robot, leg)
            assert joint is not None
            assert joint in {actuator.joint for actuator in robot.actuators}
            first = sum(len(other.primitives) for other in robot.joints[:joint])
            sphere = leg_sphere(robot, leg, now.steps[first])
            end = sphere.closure
            on_leg = end.predecessor in leg.bodies
            body, frame = (
                (end.predecessor, end.frame_predecessor) if on_leg else (end.successor, end.frame_successor)
            )
            place = (now.motion.poses[body] @ frame).p
            distance2 = float(np.sum((place - sphere.centre) ** 2))
            assert distance2 == pytest.approx(float(sphere.radius2), rel=1e-9)
