"""Round and round in any two coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.control.scenario.round import Round
from nacelle.kinematics.trajectory.arguments import read_layout
from nacelle.kinematics.trajectory.timing import Trapezoid
from nacelle.spatial.rotation_path import quat_exp


def test_coordinates_and_derivatives() -> None:
    motion = read_layout("se3").motion
    axes = np.zeros((2, 6))
    axes[0, 0], axes[1, 5] = 0.1, 0.3
    path = Round(
        np.array([0.0, 0, 1, 0, 0, 0, 1]), axes, motion=motion, turns=2.0, timing=Trapezoid(2.5, 0.5)
    )
    t = np.linspace(0.6, 1.9, 30)
    x, v, a = path(t)
    # Two turns in two seconds at constant speed, and what the ramp has made.
    angle = 2.0 * np.pi * (t - 0.25)
    assert x[:, 0] == pytest.approx(0.1 * np.cos(angle))
    turn = np.zeros((30, 3))
    turn[:, 2] = 0.3 * np.sin(angle)
    assert np.abs(np.einsum("ni,ni->n", x[:, 3:], quat_exp(turn))) == pytest.approx(np.ones(30))
    h = 1e-6
    assert v[:, 0] == pytest.approx((path(t + h).x - path(t - h).x)[:, 0] / (2.0 * h), abs=1e-7)
    assert a == pytest.approx((path(t + h).v - path(t - h).v) / (2.0 * h), abs=1e-6)
    assert path.duration == 2.5
    assert not np.any(path(2.5).v)
