"""Variables of the element state at a pose: directions of unit length, lengths between joints."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.elements.from_pose import element_arrays, element_shapes
from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.kinematic_model import body_poses
from support.compare import assert_same
from support.library import library_robot


@pytest.mark.parametrize("name", ["fivebar", "3rps", "c5"])
def test_directions_have_unit_length(name: str) -> None:
    robot = library_robot(name)
    x, y = plan_of(robot).samples[1]
    v, a = np.random.default_rng(0).normal(size=(2, robot.motion.n))
    found = element_arrays(robot, x, y, v, a)
    assert {key: value.shape for key, value in found.items()} == element_shapes(robot)
    for key, value in found.items():
        if value.ndim == 2 and not key.endswith("_point"):
            u, rate, second = value
            assert abs(u @ u - 1.0) < 1e-12
            assert abs(u @ rate) < 1e-12
            assert abs(u @ second + rate @ rate) < 1e-10


def test_lengths_are_those_between_the_joints() -> None:
    robot = library_robot("3rps")
    x, y = plan_of(robot).samples[1]
    zero = np.zeros(robot.motion.n)
    found, poses = element_arrays(robot, x, y, zero, zero), body_poses(robot, x, y)
    for leg in robot.legs:
        first, end = robot.joints[leg.joints[0]], robot.joints[leg.closures[0]]
        A = first.frame_predecessor.p
        body, frame = (
            (end.successor, end.frame_successor)
            if end.successor in robot.nacelle.bodies
            else (end.predecessor, end.frame_predecessor)
        )
        B = poses["p"][body] + poses["R"][body] @ frame.p
        assert_same(found[f"{leg.name}_length"][0], np.linalg.norm(B - A), 1e-12)
        assert_same(found[f"{leg.name}_strut"][0], (B - A) / np.linalg.norm(B - A), 1e-12)
