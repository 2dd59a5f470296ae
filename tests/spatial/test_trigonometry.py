"""Sine and cosine are the nearest floats, against mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np

from nacelle.spatial.trigonometry import sine_cosine


def test_nearest_floats() -> None:
    rng = np.random.default_rng(4)
    angles = [*rng.uniform(-10.0, 10.0, 300), *10.0 ** rng.uniform(-7.9, 14.9, 100), 1e-9]
    angles += [k * math.pi / 12 for k in range(-30, 31)]
    with mpmath.workdps(60):
        for angle in map(float, angles):
            expected = float(mpmath.sin(angle)), float(mpmath.cos(angle))
            assert sine_cosine(angle) == expected, angle
