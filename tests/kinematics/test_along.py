"""Along a trajectory: times with both ends, samples that were solved, rates of parasitic coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError, UnreachableError
from nacelle.kinematics.along import motion_samples, solved_samples
from nacelle.kinematics.flags import Flag
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


def test_both_ends_are_sampled() -> None:
    robot = any_robot("delta")
    start = mechanism_of(robot).reference[0]
    way = np.array([0.02, 0.0, 0.01])
    line = nacelle.Line(start, start + way, motion="xyz", duration=0.55)
    times, sample = motion_samples(robot, line, 10.0)
    assert (times[0], times[-1]) == (0.0, 0.55)
    assert np.all(np.diff(times) <= 0.1 + 1e-12)
    np.testing.assert_allclose(sample.x[[0, -1]], [start, start + way], atol=1e-15)
    h = times[1] - times[0]
    np.testing.assert_allclose(np.trapezoid(sample.v, dx=h, axis=0), way, rtol=0.05, atol=1e-12)
    with pytest.raises(KinematicsError, match="above zero"):
        motion_samples(robot, line, 0.0)


def test_some_sample_must_be_solved() -> None:
    robot = any_robot("delta")
    flags = np.array([0, int(Flag.UNREACHABLE), int(Flag.NEAR_SINGULAR)])
    assert solved_samples(robot, flags).tolist() == [True, False, True]
    with pytest.raises(UnreachableError, match="reaches no pose"):
        solved_samples(robot, flags[1:2])


def test_rates_of_dependent_orientations() -> None:
    """Where a platform tilts by itself the twist along given coordinates is that of the whole motion."""
    robot = any_robot("3rps")
    start = mechanism_of(robot).reference[0]
    line = nacelle.Line(start, start + np.array([0.02, 0.03, -0.02]), motion=robot.motion, duration=1.0)
    times, sample = motion_samples(robot, line, 2000.0)
    k = len(times) // 2
    q = nacelle.inverse_kinematics(robot, sample.x[k - 1 : k + 2]).actuators
    rate = nacelle.joint_motion(robot, sample.x[k], sample.v[k], sample.a[k]).actuators[1]
    np.testing.assert_allclose(rate, (q[2] - q[0]) / (times[k + 1] - times[k - 1]), rtol=1e-5, atol=1e-8)
