"""The platform from the encoders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nacelle.control.fields import Fields
from nacelle.control.kind import Tuning
from nacelle.control.pieces.pose import (
    at_rest,
    by_twist,
    displaced,
    estimated,
    least_forces,
    platform_after,
    platform_gains,
    platform_memory,
    pose_difference,
)
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.kinematic_model import coordinate_motions
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.robot import Robot
from support.uncompiled import any_robot

T = 5e-4
Array = np.ndarray


def reference(robot: Robot) -> tuple[Array, Array]:
    x, y = mechanism_of(robot).reference
    return np.asarray(x, dtype=float), np.asarray(y, dtype=float)


# ---- displacements


@pytest.mark.parametrize("name", ["fivebar", "palida", "3rps"])
def test_a_displacement_and_back(name: str) -> None:
    robot = any_robot(name)
    x, y = reference(robot)
    w = 1e-5 * (1.0 + np.arange(robot.motion.n))
    there = displaced(robot, x, y, w)
    np.testing.assert_allclose(pose_difference(robot, there, x, y), w, rtol=1e-9)
    if mechanism_of(robot).layout.quaternion is not None:
        quat = there[mechanism_of(robot).layout.quaternion]
        np.testing.assert_allclose(np.linalg.norm(quat), 1.0, rtol=1e-14)
        # Half a turn of the sign of a quaternion is no rotation.
        flipped = there.copy()
        flipped[mechanism_of(robot).layout.quaternion] *= -1.0
        np.testing.assert_allclose(pose_difference(robot, flipped, x, y), w, rtol=1e-9)


def test_parasitic_motion_is_along_the_twist() -> None:
    """Rates of coordinates are not the entries of the twist; another function of the package says which."""
    robot = any_robot("3rps")
    x, y = reference(robot)
    x = x + np.array([0.01, 0.08, -0.05])
    y = inverse_kinematics(robot, x).y
    dx = np.array([1e-3, 2e-3, -1e-3])
    v = coordinate_motions(robot, x, y, dx, np.zeros(3))["v"]
    assert np.max(np.abs(v - dx)) > 1e-6
    np.testing.assert_allclose(pose_difference(robot, x + dx, x, y), v, rtol=1e-9)
    np.testing.assert_allclose(displaced(robot, x, y, v), x + dx, rtol=1e-9)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3)])
def test_between_actuators_and_twist(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    J, v, load = rng.normal(size=shape), rng.normal(size=3), rng.normal(size=3)
    np.testing.assert_allclose(by_twist(J, J @ v), v)
    np.testing.assert_allclose(least_forces(J, load), np.linalg.pinv(J.T) @ load)


# ---- the observer


class Follower:
    """The observer on readings of a pose that moves as is given."""

    def __init__(self, name: str, *, bandwidth: float = 100.0, delay: float = 0.0) -> None:
        self.robot = any_robot(name)
        self.x, self.y = reference(self.robot)
        tuning = Tuning(T, 10.0, 1.0, delay, np.ones(2), np.ones(2))
        gains = platform_gains(tuning, bandwidth)
        self.k = {part: np.array([value]) for part, value in gains.items()}
        fields = Fields(**platform_memory(self.robot))
        self.z = fields.split(fields.join(at_rest(self.x, self.y)))

    def sample(self, x: Array, acceleration: Any, missing: int | None = None) -> Any:
        q = np.array(inverse_kinematics(self.robot, x, limits=False).actuators)
        if missing is not None:
            q[missing] = np.nan
        platform = estimated(self.robot, self.z, q, self.k)
        self.z = platform_after(self.z, platform, np.asarray(acceleration, dtype=float))
        return platform


@pytest.mark.parametrize("name", ["fivebar", "redundant", "quattro"])
def test_a_motion_as_the_model_has_it_has_no_lag(name: str) -> None:
    """Constant acceleration from rest, from 1 mm beside where the platform is thought to be."""
    follower = Follower(name)
    n = follower.robot.motion.n
    a, off = 4.0 * (1.0 + np.arange(n)), np.full(n, 1e-3)
    for k in range(8):
        t = T * k
        platform = follower.sample(follower.x + off + 0.5 * t * t * a, a)
        if k >= 2:
            np.testing.assert_allclose(platform.v, t * a, rtol=1e-6)
            np.testing.assert_allclose(platform.x, follower.x + off + 0.5 * t * t * a, atol=1e-11)
            np.testing.assert_allclose(platform.unmodelled, 0.0, atol=1e-4)
    np.testing.assert_allclose(platform.y, inverse_kinematics(follower.robot, platform.x).y, atol=1e-9)


@pytest.mark.parametrize("delay", [0.0, 2e-4, T])
def test_forces_act_after_their_delay(delay: float) -> None:
    """Accelerations that change with every sample, each from the delay on."""
    follower = Follower("fivebar", delay=delay)
    rng = np.random.default_rng(2)
    x, v, before = follower.x, np.zeros(2), np.zeros(2)
    for _ in range(8):
        a = 10.0 * rng.normal(size=2)
        platform = follower.sample(x, a)
        np.testing.assert_allclose(platform.v, v, atol=1e-9)
        for time, acting in ((delay, before), (T - delay, a)):
            x, v = x + time * v + 0.5 * time * time * acting, v + time * acting
        before = a


def test_what_the_model_lacks_is_found_with_the_stated_poles() -> None:
    """u of a constant acceleration that is not asked for: 1 - (1 + k (1 - p)) p^k, up to a sample's shift."""
    bandwidth = 40.0
    follower = Follower("fivebar", bandwidth=bandwidth)
    lacking = np.array([2.0, -1.0])
    for _ in range(5):
        follower.sample(follower.x, np.zeros(2))
    found = []
    for k in range(1, 50):
        t = T * k
        found.append(follower.sample(follower.x + 0.5 * t * t * lacking, np.zeros(2)).unmodelled / lacking)
    p = np.exp(-2.0 * np.pi * bandwidth * T)
    # The error of (v, u) from (0, 1) by its own matrix, of which both poles are p.
    b, c = follower.k["correction"][0], follower.k["learning"][0]
    A = np.array([[1.0 - b, 1.0 - 0.5 * b], [-c, 1.0 - 0.5 * c]])
    np.testing.assert_allclose(np.poly(A), [1.0, -2.0 * p, p * p], atol=1e-12)
    expected = [1.0 - (np.linalg.matrix_power(A, k) @ [0.0, 1.0])[1] for k in range(1, 50)]
    np.testing.assert_allclose(found, np.column_stack([expected, expected]), atol=1e-6)
    np.testing.assert_allclose(found[-1], 1.0, atol=0.02)


def test_missing_readings_are_bridged_and_then_stop() -> None:
    follower = Follower("fivebar")
    a = np.array([3.0, -2.0])
    patience = int(follower.k["patience"][0])
    for k in range(5 + patience + 1):
        t = T * k
        platform = follower.sample(follower.x + 0.5 * t * t * a, a, missing=1 if k >= 5 else None)
        np.testing.assert_allclose(platform.x, follower.x + 0.5 * t * t * a, atol=1e-9)
        assert (platform.stopped[0] > 0.0) == (k >= 5 + patience)
    assert follower.sample(follower.x, a).stopped[0] > 0.0
