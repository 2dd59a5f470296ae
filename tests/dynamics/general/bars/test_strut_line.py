"""The line of a strut: its rotation by differences of its axes, moments of products of inertia by Euler."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.general.bars.strut_line import (
    StrutMotion,
    line_of,
    residual_moments,
    strut_rotation,
)
from support.compare import assert_same
from support.mass_point_bars import AXIS, axes, form_of

R, V, A = np.array([0.3, -0.2, 0.9]), np.array([0.4, 0.7, -0.3]), np.array([-1.1, 0.5, 2.0])
FORM = form_of("strut", rod=np.zeros(10), tube=np.zeros(10), cross=0.0)


def spin(t: float, h: float = 1e-4) -> np.ndarray:
    """Angular velocity (3,) of the strut's axes, in these axes, at a time."""

    def Q(s: float) -> np.ndarray:
        return axes(R + V * s + 0.5 * A * s * s)

    W = Q(t).T @ (Q(t + h) - Q(t - h)) / (2.0 * h)
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def test_rotation_and_moments() -> None:
    line = line_of(FORM, R, V, stretched=False)
    at = StrutMotion(R, V, A, np.zeros(3), np.zeros(3))
    rotation = strut_rotation(line, at, line.b @ V, line.b @ A)
    w, dw = spin(0.0), (spin(1e-3) - spin(-1e-3)) / 2e-3
    assert_same(np.asarray(rotation.w, dtype=float), w, 1e-6)
    assert_same(np.asarray(rotation.dw, dtype=float), dw, 1e-5)
    products = np.array([0.3, -0.2, 0.5])
    I = np.zeros((3, 3))
    I[[0, 0, 1], [1, 2, 2]] = products
    I = I + I.T
    M = I @ dw + np.cross(w, I @ w)
    # The moment about the first axis: a_1 in the strut's axes is (0, rho / l, y / l).
    expected = np.array([axes(R).T @ AXIS @ M, M[0]])
    assert_same(np.array(residual_moments(products, rotation), dtype=float), expected, 1e-5)


def test_a_stretched_axis_says_the_same() -> None:
    """Lengths do not depend on the length of the axis; what has it as a factor is that much larger."""
    plain, long = (line_of(FORM, R, V, stretched=stretched) for stretched in (False, True))
    s = float(long.stretch)
    assert s == 1.0 / 0.8
    for name, power in (("l", 0), ("il", 0), ("rv", 0), ("y", 1), ("av", 1), ("rho2", 2), ("n", 2)):
        assert abs(getattr(long, name) - s**power * getattr(plain, name)) < 1e-14, name
    assert abs(plain.rho2 + plain.y**2 - R @ R) < 1e-15
