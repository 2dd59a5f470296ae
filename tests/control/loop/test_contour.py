"""Contour errors."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.control.loop.contour import contour_error


def test_distance_from_a_circle() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 4001)
    path = 0.2 * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    rng = np.random.default_rng(0)
    at, off, up = rng.uniform(0.0, 2.0 * np.pi, (50,)), rng.normal(size=50) * 1e-3, rng.normal(size=50) * 1e-3
    points = np.stack([(0.2 + off) * np.cos(at), (0.2 + off) * np.sin(at), up], axis=1)
    # The polygon is nearer to the centre by up to s^2 / (8 R).
    assert contour_error(path, points) == pytest.approx(np.hypot(off, up), abs=1e-7)


def test_a_lag_is_no_contour_error_and_a_pause_no_trouble() -> None:
    t = np.linspace(0.0, 1.0, 101)
    path = np.stack([t, 2.0 * t, 0.0 * t], axis=1)
    path = np.concatenate([path, path[-1:], path[-1:]])
    late = np.stack([t - 0.003, 2.0 * (t - 0.003), 0.0 * t], axis=1)[1:]
    assert np.max(contour_error(path, late)) < 1e-15
    assert contour_error(path, np.array([[1.0, 2.0, 0.5], [2.0, 2.0, 0.0]])) == pytest.approx([0.5, 1.0])
    assert np.isnan(contour_error(path, np.full((1, 3), np.nan))).all()
