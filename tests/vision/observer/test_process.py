"""Displacements against SciPy's rotations; predicted covariances against drawn motions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import nacelle
from nacelle.vision.observer.process import Accelerations, Displacer, ObserverState, Process, pose_step


def test_displacements_of_an_orientation():
    robot = nacelle.load("gough-stewart")
    rng = np.random.default_rng(0)
    x, displaced = nacelle.reference_pose(robot), Displacer(robot)
    for scale in (1e-9, 1e-3, 0.4):
        d = scale * rng.standard_normal(6)
        moved = displaced(x, np.zeros(0), d)
        np.testing.assert_allclose(moved[:3], x[:3] + d[:3], atol=1e-15)
        expected = Rotation.from_rotvec(d[3:]) * Rotation.from_quat(x[3:])
        assert (Rotation.from_quat(moved[3:]) * expected.inv()).magnitude() < 1e-14
        np.testing.assert_allclose(pose_step(robot, moved, x, np.zeros(0)), d, atol=1e-15)


def test_tilts_move_along_the_twist():
    """3-RPS: rates of its tilts are not the angular velocity; the platform's body says what is right."""
    robot = nacelle.load("3rps")
    ik = nacelle.inverse_kinematics(robot, nacelle.reference_pose(robot))
    d = 1e-5 * np.array([0.3, -0.5, 0.8])
    moved = nacelle.inverse_kinematics(robot, Displacer(robot)(ik.x, ik.y, d), guess=ik)
    J = nacelle.body_jacobian(robot, ik.x)[1]
    assert np.allclose(moved.bodies.p[1] - ik.bodies.p[1], J[:3] @ d, atol=1e-9)
    turn = Rotation.from_matrix(moved.bodies.R[1] @ ik.bodies.R[1].T).as_rotvec()
    assert np.allclose(turn, J[3:] @ d, atol=1e-9)
    assert np.allclose(pose_step(robot, moved.x, ik.x, ik.y), d, atol=1e-12)


def test_accelerations_hold_until_the_next():
    one = Accelerations(1)
    one.add(1.0, np.array([1.0]))
    one.add(3.0, np.array([3.0]))
    one.add(2.0, np.array([2.0]))
    pieces = [(round(h, 12), float(a[0])) for h, a in one.pieces(0.5, 3.5)]
    assert pieces == [(0.5, 0.0), (1.0, 1.0), (1.0, 2.0), (0.5, 3.0)]
    one.forget(2.5)
    assert one.at(2.5)[0] == 2.0
    assert one.pieces(1.0, 1.0) == []


@pytest.mark.parametrize("rate", [0.0, 4.0])
def test_the_predicted_covariance_is_that_of_drawn_motions(rate):
    """Errors of orientation turn with the robot: 4 rad/s over 0.2 s, drawn in fine steps."""
    robot = nacelle.load("gough-stewart")
    rng = np.random.default_rng(1)
    density = np.diag([1e-4] * 3 + [4e-4] * 3)
    process, h, steps, runs = Process(robot, density, np.zeros(0)), 0.2, 8, 3000
    P0 = np.diag([1e-6] * 3 + [1e-4, 4e-6, 1e-6] + [1e-4] * 3 + [1e-3, 1e-4, 1e-3])
    x, v = nacelle.reference_pose(robot), np.array([0.1, 0.0, 0.0, 0.0, 0.0, rate])
    start = ObserverState(0.0, x, np.zeros(0), v, np.zeros(0), 0.0, P0, 0.0)
    end = process.predict(start, h)
    draws = rng.standard_normal((runs, 12)) @ np.linalg.cholesky(P0).T
    turned = Rotation.from_rotvec(draws[:, 3:6]) * Rotation.from_quat(x[3:])
    position, twist, dt = x[:3] + draws[:, :3], v + draws[:, 6:], h / steps
    root = np.linalg.cholesky(np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]]))
    for _ in range(steps):
        noise = (rng.standard_normal((runs, 6, 2)) @ root.T) * np.sqrt(np.diag(density))[:, None]
        s = dt * twist + noise[..., 0]
        position, turned = position + s[:, :3], Rotation.from_rotvec(s[:, 3:]) * turned
        twist = twist + noise[..., 1]
    off = (turned * Rotation.from_quat(end.x[3:]).inv()).as_rotvec()
    errors = np.concatenate([position - end.x[:3], off, twist - end.v], axis=1)
    white = np.linalg.solve(np.linalg.cholesky(end.P), errors.T)
    # Entries of a sampled covariance of unit variables scatter by 1 / sqrt(runs), squares by 1.4 times that.
    assert np.max(np.abs(white @ white.T / runs - np.eye(12))) < 5.0 * 1.4 / np.sqrt(runs)
