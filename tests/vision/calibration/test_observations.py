"""Rows of observed edges: their values and derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.vision.calibration.observations import LENS, EdgePoints, edge_rows, lens_of, with_lens
from nacelle.vision.camera import Camera
from nacelle.vision.cylinders import tangent_normals
from nacelle.vision.measurement import EdgeMeasurement


@pytest.fixture
def edge():
    """A camera, the frame n, u, m of an edge before it, and pixels of the edge."""
    camera = Camera.looking([0.0, 0.0, 0.0], [0.0, 0.0, 2.0], distortion=(-0.2, 0.05, 1e-3, -2e-3, 0.01))
    u = np.array([0.8, 0.5, 0.33]) / np.linalg.norm([0.8, 0.5, 0.33])
    P = np.array([0.1, -0.2, 1.7])
    n = tangent_normals(P, u, 0.02)[0]
    m = np.cross(n, u)
    points = P - 0.02 * n + np.linspace(-0.2, 0.3, 7)[:, None] * u
    return camera, np.stack([n, u, m]), camera.pixels(points)


def turned(frame, a, b):
    """The frame after a change (u . dn, m . dn) = (a, b) of its normal."""
    n, u, m = frame
    n = n + a * u + b * m
    n = n / np.linalg.norm(n)
    u = u - (u @ n) * n
    u = u / np.linalg.norm(u)
    return np.stack([n, u, np.cross(n, u)])


def test_points_on_the_edge_leave_nothing(edge):
    camera, frame, pixels = edge
    rows = edge_rows(camera, EdgePoints(0, 0, pixels, 0.1), frame)
    assert np.max(np.abs(rows.r)) < 1e-9
    # A pixel off by its standard deviation across the edge is a residual of one.
    way = pixels[-1] - pixels[0]
    across = 0.1 * np.array([-way[1], way[0]]) / np.linalg.norm(way)
    off = edge_rows(camera, EdgePoints(0, 0, pixels + across, 0.1), frame).r
    np.testing.assert_allclose(np.abs(off), 1.0, rtol=1e-2)


def test_derivatives(edge):
    camera, frame, pixels = edge
    covariance = 1e-6 * (np.eye(3) - np.outer(frame[0], frame[0]))
    points = EdgePoints(0, 0, pixels + np.array([0.3, -0.2]), 0.1)
    normal = EdgeMeasurement(0.0, 0.0, 0, 0, turned(frame, 1e-4, -2e-4)[0], covariance)
    h = 1e-7
    for one in (points, normal):
        rows = edge_rows(camera, one, frame)
        for k, change in enumerate(h * np.eye(2)):
            ends = [edge_rows(camera, one, turned(frame, *(s * change))).r for s in (1.0, -1.0)]
            slope = (ends[0] - ends[1]) / (2.0 * h)
            np.testing.assert_allclose(rows.by_normal[:, k], slope, atol=5e-3 * np.max(np.abs(slope)))
    rows = edge_rows(camera, EdgePoints(0, 0, pixels, 0.1), frame)
    lens = lens_of(camera)
    for k, name in enumerate(LENS):
        step = 1e-4 * np.eye(9)[k] * (100.0 if k < 4 else 1.0)
        ends = [
            edge_rows(with_lens(camera, lens + s * step), EdgePoints(0, 0, pixels, 0.1), frame).r
            for s in (1.0, -1.0)
        ]
        slope = (ends[0] - ends[1]) / (2.0 * step[k])
        np.testing.assert_allclose(rows.by_lens[:, k], slope, rtol=1e-4, atol=1e-6, err_msg=name)
