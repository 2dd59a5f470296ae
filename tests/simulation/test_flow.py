"""The flow of a rigid robot: rotations as SciPy's, rates by differences, forward dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.simulation.flow import (
    coordinates_of,
    flow,
    half_turn,
    pose_from_coordinates,
    reference_orientation,
    state_size,
    turn_from,
)
from support.library import library_robot


@pytest.mark.parametrize("length", [0.0, 1e-9, 1e-3, 1.0, 3.0])
def test_rotation_vectors(length: float) -> None:
    r = length * np.array([2.0, -1.0, 2.0]) / 3.0
    quat = np.asarray(half_turn(r), dtype=float)
    expected = Rotation.from_rotvec(r)
    assert (expected.inv() * Rotation.from_quat(quat)).magnitude() < 1e-14
    assert np.linalg.norm(quat) == pytest.approx(1.0, abs=1e-15)
    start = Rotation.from_rotvec([0.3, 0.2, -0.5])
    back = turn_from(start.as_quat(), (expected * start).as_quat())
    np.testing.assert_allclose(np.asarray(back, dtype=float), r, atol=1e-14)


def test_coordinates_and_poses() -> None:
    robot = library_robot("gough-stewart")
    mechanism = mechanism_of(robot)
    quat_0 = reference_orientation(mechanism)
    c = np.array([0.1, -0.2, 0.9, 0.3, -0.4, 0.2])
    x = pose_from_coordinates(mechanism, c, quat_0)
    assert len(x) == 7
    np.testing.assert_allclose(np.asarray(coordinates_of(mechanism, x, quat_0), dtype=float), c, atol=1e-14)


@pytest.mark.parametrize("name", ["fivebar", "gough-stewart"])
def test_derivative_of_the_state(name: str) -> None:
    robot = library_robot(name)
    mechanism = mechanism_of(robot)
    quat_0, n = reference_orientation(mechanism), robot.motion.n
    random = np.random.default_rng(0)
    x = np.asarray(mechanism.reference[0])
    c = np.asarray(coordinates_of(mechanism, x, quat_0), dtype=float) + 0.01 * random.normal(size=n)
    v, tau = 0.2 * random.normal(size=n), 10.0 * random.normal(size=len(robot.actuators))
    s = np.concatenate([c, v])
    assert state_size(robot) == s.shape
    change = np.asarray(flow(robot, s, tau, quat_0, smooth=0.1), dtype=float)
    x = np.asarray(pose_from_coordinates(mechanism, c, quat_0), dtype=float)
    expected = nacelle.forward_dynamics(robot, x, v, tau, smooth=0.1).acceleration
    np.testing.assert_allclose(change[n:], expected, rtol=1e-8)
    # Along the change of the coordinates the pose moves with the twist v.
    h = 1e-6
    ahead, behind = (
        np.asarray(pose_from_coordinates(mechanism, c + k * h * change[:n], quat_0), dtype=float)
        for k in (1, -1)
    )
    np.testing.assert_allclose((ahead[:2] - behind[:2]) / (2.0 * h), v[:2], atol=1e-8)
    if n == 6:
        turn = Rotation.from_quat(ahead[3:]) * Rotation.from_quat(behind[3:]).inv()
        np.testing.assert_allclose(turn.as_rotvec() / (2.0 * h), v[3:], atol=1e-7)
