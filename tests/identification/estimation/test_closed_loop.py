"""Recorded motions as trajectories, and the motion of a robot that is like its model."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.data.poses import PlatformMotion
from nacelle.identification.estimation.closed_loop import (
    SampledTrajectory,
    closed_loop_motion,
    estimated_robot,
)
from nacelle.identification.experiment.settings import JointServo
from nacelle.model.linear_parameters import linear_parameters
from support.library import library_robot


def test_quaternions_that_change_their_sign_are_one_path() -> None:
    robot = library_robot("gough-stewart")
    angles = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    turns = Rotation.from_rotvec(angles[:, None] * [0.6, 0.0, 0.8])
    x = np.concatenate([np.zeros((6, 3)), turns.as_quat()], axis=1)
    x[[1, 2, 4], 3:] *= -1.0
    zero = np.zeros((6, 6))
    path = SampledTrajectory(robot, PlatformMotion(x, zero, zero, np.ones(6, dtype=bool)), 1.0)
    middle = 0.5 + np.arange(5)
    found = Rotation.from_quat(path(middle).x[:, 3:])
    assert np.max((Slerp(angles, turns)(0.1 * middle).inv() * found).magnitude()) < 1e-12


def test_a_robot_like_its_model_follows() -> None:
    @dataclasses.dataclass
    class Samples:
        instruments: PlatformMotion
        rate: float

    robot = library_robot("fivebar")
    t = np.arange(400) / 1000.0
    A = 0.01 * np.ones((1, 2))
    circle = nacelle.trajectory.Fourier(
        nacelle.reference_pose(robot), A, -A, motion=robot.motion, frequency=2.5
    )
    sample = circle(t)
    reference = PlatformMotion(*sample, np.ones(400, dtype=bool))
    made = closed_loop_motion(robot, robot, Samples(reference, 1000.0), JointServo(bandwidth=20.0))
    assert not made.ok[0]
    assert made.ok[-1]
    np.testing.assert_allclose(made.x, reference.x[: len(made.x)], atol=2e-4)
    gap = dataclasses.replace(reference, ok=np.arange(400) != 7)
    with pytest.raises(IdentificationError, match="sample 7 of the reference has no pose"):
        closed_loop_motion(robot, robot, Samples(gap, 1000.0), JointServo())


def test_the_robot_of_exact_estimates_is_the_described_one() -> None:
    robot = library_robot("fivebar")
    base = nacelle.base_parameters(robot)
    made = estimated_robot(base, base.values, 1e-12 * np.diag(np.maximum(np.abs(base.values), 1e-3) ** 2))
    own, values = linear_parameters(robot).values, linear_parameters(made).values
    np.testing.assert_allclose(values, own, atol=1e-5 * np.max(np.abs(own)))
