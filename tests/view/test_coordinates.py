from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.view.coordinates import motion_coordinates, pose_coordinates, pose_of_values


@pytest.mark.parametrize("name", ["gough-stewart", "3rps", "fivebar"])
def test_values_are_a_pose_and_back(name: str) -> None:
    robot = nacelle.load(name)
    x = nacelle.reference_pose(robot)
    values = pose_coordinates(robot, x)
    assert values.shape == (robot.motion.n,)
    np.testing.assert_allclose(pose_of_values(robot, values), x, atol=1e-14)


def test_ranges_end_just_beyond_the_reach() -> None:
    robot = nacelle.load("gough-stewart")
    start = nacelle.reference_pose(robot)
    ranges = motion_coordinates(robot)
    assert [(one.name, one.unit) for one in ranges[:4:3]] == [("x", "mm"), ("rx", "deg")]
    for k, one in enumerate(ranges[:3]):
        poses = np.repeat(start[None], 4, axis=0)
        poses[:, k] = [one.low, one.high, *(start[k] + 0.6 * (end - start[k]) for end in (one.low, one.high))]
        assert nacelle.inverse_kinematics(robot, poses).ok.tolist() == [False, False, True, True]


def test_angles_are_degrees() -> None:
    rx = next(one for one in motion_coordinates(nacelle.load("3rps")) if one.name == "rx")
    assert rx.unit == "deg"
    assert rx.factor == pytest.approx(180.0 / np.pi)
