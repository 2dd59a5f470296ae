"""The line of two edges against the true one, its covariance against finite differences and samples."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import KinematicsError
from nacelle.vision.cylinders import tangent_normals
from nacelle.vision.measurement import EdgeMeasurement, LineMeasurement, line_from_edges

U = np.array([0.3, -0.8, 0.4]) / np.linalg.norm([0.3, -0.8, 0.4])
P = np.array([0.2, 0.1, 1.5])
RADIUS = 0.02


def edges(normals: np.ndarray, sigma: float = 1e-6) -> list[EdgeMeasurement]:
    return [
        EdgeMeasurement(0.0, 0.0, 4, side, n, sigma**2 * (np.eye(3) - np.outer(n, n)))
        for side, n in enumerate(normals)
    ]


def test_exact_edges_give_the_line() -> None:
    first, second = edges(tangent_normals(P, U, RADIUS))
    nearest = P - (P @ U) * U
    for line in (line_from_edges(first, second, RADIUS), line_from_edges(second, first, RADIUS)):
        assert np.allclose(line.direction, U, atol=1e-12)
        assert np.allclose(line.point, nearest, atol=1e-12)


def test_covariance_of_samples() -> None:
    rng = np.random.default_rng(5)
    normals = tangent_normals(P, U, RADIUS)
    line = line_from_edges(*edges(normals), RADIUS)

    def sample() -> LineMeasurement:
        noisy = normals + 1e-6 * rng.standard_normal((2, 3))
        return line_from_edges(*edges(noisy / np.linalg.norm(noisy, axis=1)[:, None]), RADIUS)

    values = np.array([np.concatenate([s.direction, s.point]) for s in (sample() for _ in range(1500))])
    measured = np.cov(values.T)
    scale = np.sqrt(np.diag(line.covariance))
    assert np.max(np.abs(measured - line.covariance) / np.outer(scale, scale)) < 0.12
    # u is of unit length, P perpendicular to u: two null directions.
    assert np.linalg.matrix_rank(line.covariance / np.outer(scale, scale), tol=1e-9) == 4


def test_what_gives_no_line() -> None:
    first = edges(tangent_normals(P, U, RADIUS))[0]
    with pytest.raises(KinematicsError, match="both edges"):
        line_from_edges(first, first, RADIUS)
    same = EdgeMeasurement(0.0, 0.0, 4, 1, first.normal, first.covariance)
    with pytest.raises(KinematicsError, match="parallel"):
        line_from_edges(first, same, RADIUS)
