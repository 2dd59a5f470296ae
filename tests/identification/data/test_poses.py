"""The motion of the nacelle from that of the actuators, against motions that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.identification.data.poses import least_squares_twists, measured_motion, path_poses, poses_near
from nacelle.kinematics.along import along
from support.identification import fourier
from support.library import library_robot

Array = np.ndarray
ROBOTS = Path(__file__).parents[2] / "robots"


def slow(*names: str) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


def robot_of(name: str) -> nacelle.Robot:
    return nacelle.load(ROBOTS / f"{name}.yaml") if name == "redundant" else library_robot(name)


def actuators_along(robot: nacelle.Robot, x: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
    """Coordinates, rates and accelerations of the actuators, from the model of the joints."""
    motion = nacelle.joint_motion(robot, x, v, a)
    _, rates, accelerations = motion.actuators
    return np.asarray(nacelle.inverse_kinematics(robot, x).actuators), rates, accelerations


@pytest.mark.parametrize(
    "name", ["fivebar", "redundant", *slow("delta", "palida", "3rps", "quattro", "3rrr")]
)
def test_there_and_back(name: str) -> None:
    """Poses, twists and accelerations to actuators and back: quaternions, iterated legs, redundancy."""
    robot = robot_of(name)
    path = fourier(robot, 0.02, duration=5.0)
    motion = along(robot, path, np.linspace(0.0, 1.5, 160))
    found = measured_motion(robot, *actuators_along(robot, motion.x, motion.v, motion.a), start=motion.x[0])
    assert np.all(found.ok)
    np.testing.assert_allclose(found.x, motion.x, atol=1e-9)
    np.testing.assert_allclose(found.v, motion.v, atol=1e-8)
    np.testing.assert_allclose(found.a, motion.a, atol=1e-7)


def test_redundant_encoders_that_disagree() -> None:
    """The pose is that of least squares: no pose near by fits the encoders better."""
    robot = robot_of("redundant")
    x0 = nacelle.reference_pose(robot)
    rng = np.random.default_rng(0)
    x = x0 + 0.01 * rng.normal(size=(50, 2))
    q = np.asarray(nacelle.inverse_kinematics(robot, x).actuators)
    off = q + 1e-3 * rng.normal(size=q.shape)
    found = path_poses(robot, off)
    assert np.all(np.isfinite(found))

    def misfit(at: Array) -> Array:
        return np.sum((np.asarray(nacelle.inverse_kinematics(robot, at).actuators) - off) ** 2, axis=1)

    best = misfit(found)
    for step in 1e-6 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, 1]]):
        assert np.all(misfit(found + step) >= best)
    # Noise of three encoders gives errors of the pose of its own size, no more.
    assert np.max(np.abs(found - x)) < 1e-3


def test_a_sample_that_fits_nothing_is_left_out() -> None:
    """The samples before and after it have their poses."""
    for name in ("fivebar", "redundant"):
        robot = robot_of(name)
        path = fourier(robot, 0.02, duration=5.0)
        motion = along(robot, path, np.linspace(0.0, 0.5, 80))
        q, rates, accelerations = actuators_along(robot, motion.x, motion.v, motion.a)
        q[40] = np.nan
        found = measured_motion(robot, q, rates, accelerations, None)
        assert not found.ok[40]
        assert np.all(np.delete(found.ok, 40))
        np.testing.assert_allclose(np.delete(found.x, 40, axis=0), np.delete(motion.x, 40, axis=0), atol=1e-9)


def test_some_of_the_samples() -> None:
    robot = robot_of("fivebar")
    motion = along(robot, fourier(robot, 0.02), np.linspace(0.0, 0.5, 20))
    found = measured_motion(robot, *actuators_along(robot, motion.x, motion.v, motion.a), start=None)
    part = found.part(slice(3, 9))
    np.testing.assert_array_equal(part.x, found.x[3:9])
    assert len(part.ok) == 6


def test_singular_samples_harm_no_others():
    robot = library_robot("fivebar")
    J = np.array([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 2.0], [2.0, 4.0]]])
    v = least_squares_twists(robot, J, np.array([[2.0, 4.0], [1.0, 1.0]]))
    np.testing.assert_allclose(v[0], [1.0, 1.0])
    assert np.all(np.isnan(v[1]))


def test_poses_near_others() -> None:
    """Loops closed by iteration: each sample comes to its own pose, and those without one harm no other."""
    robot = library_robot("3rps")
    x0 = nacelle.reference_pose(robot)
    x = x0 + 0.02 * np.random.default_rng(0).uniform(-1.0, 1.0, (4, 3))
    q = nacelle.inverse_kinematics(robot, x).actuators
    q[1] = np.nan
    # Struts that differ by more than the platform is long.
    q[2] += [2.0 * robot.size, 0.0, 0.0]
    found = poses_near(robot, q, np.tile(x0, (4, 1)))
    np.testing.assert_allclose(found[[0, 3]], x[[0, 3]], atol=1e-12)
    assert np.all(np.isnan(found[[1, 2]]))
