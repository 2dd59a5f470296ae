"""Poses from exact edges are exact; their covariance is that of many noisy ones, too few are refused."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import UnobservableError
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import contour_normals, visible_cylinders
from nacelle.vision.measurement import EdgeMeasurement
from nacelle.vision.pose_from_edges import pose_from_edges

SIGMA = 1e-5


@pytest.fixture(scope="module")
def robot() -> nacelle.Robot:
    return nacelle.load("gough-stewart")


CAMERA = Camera.looking([0.0, 0.0, 0.5], [1.8, 1.1, 0.4])


def edges_at(robot: nacelle.Robot, x: np.ndarray, rng: np.random.Generator | None) -> list[EdgeMeasurement]:
    """Edges of all cylinders, with noise of SIGMA in both directions across each normal."""
    bodies = nacelle.inverse_kinematics(robot, x).bodies
    found = []
    for k, cylinder in enumerate(visible_cylinders(robot)):
        A, B = cylinder.placed(*bodies)
        for side, n in enumerate(contour_normals(CAMERA, A, B - A, cylinder.radius)):
            if rng is not None:
                n = n + SIGMA * rng.normal(size=3)
                n = n / np.linalg.norm(n)
            C = SIGMA**2 * (np.eye(3) - np.outer(n, n))
            found.append(EdgeMeasurement(0.0, 0.0, k, side, n, C))
    return found


def test_exact_edges_give_the_exact_pose(robot: nacelle.Robot) -> None:
    x = nacelle.reference_pose(robot)
    start = x.copy()
    start[:3] += [3e-3, -2e-3, 4e-3]
    seen = pose_from_edges(robot, CAMERA, edges_at(robot, x, None), start, visible_cylinders(robot))
    np.testing.assert_allclose(seen.x, x, atol=1e-10)
    assert seen.misfit < 1e-6


def test_the_covariance_is_that_of_the_errors(robot: nacelle.Robot) -> None:
    x, rng = nacelle.reference_pose(robot), np.random.default_rng(5)
    squares = []
    for _ in range(30):
        seen = pose_from_edges(robot, CAMERA, edges_at(robot, x, rng), x, visible_cylinders(robot))
        d = np.concatenate([seen.x[:3] - x[:3], 2.0 * (seen.x[3:6] - x[3:6])])
        squares.append(float(d @ np.linalg.solve(seen.covariance, d)) / 6.0)
    assert 0.75 < np.mean(squares) < 1.3  # 180 degrees of freedom


def test_too_few_edges_are_refused(robot: nacelle.Robot) -> None:
    x = nacelle.reference_pose(robot)
    edges = edges_at(robot, x, None)
    with pytest.raises(UnobservableError, match=r"2 edges leave . of 6 motions undetermined"):
        pose_from_edges(robot, CAMERA, edges[:2], x, visible_cylinders(robot))
    with pytest.raises(UnobservableError, match="no edge was measured"):
        pose_from_edges(robot, CAMERA, [], x, visible_cylinders(robot))
