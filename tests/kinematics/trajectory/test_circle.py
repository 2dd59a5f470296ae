"""Circles: planes, turns, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nacelle.kinematics.trajectory import Chain, Circle, TrajectoryError

UNIT = [0.0, 0.0, 0.0, 1.0]


def test_in_a_plane() -> None:
    circle = Circle([1, 2, 3], 0.5, motion="xyz", plane="zx", duration=1.0, timing="uniform")
    expected = [[1, 2, 3.5], [1.5, 2, 3], [1, 2, 2.5], [1, 2, 3.5]]
    np.testing.assert_allclose(circle([0, 0.25, 0.5, 1]).x, expected, atol=1e-15)
    v = circle(np.linspace(0.01, 0.99, 20)).v
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), math.pi, rtol=1e-14)
    a = circle(np.linspace(0.01, 0.99, 20)).a
    np.testing.assert_allclose(np.linalg.norm(a, axis=1), 2 * math.pi**2, rtol=1e-14)


@given(*(st.floats(-1, 1) for _ in range(3)))
def test_about_a_normal(a: float, b: float, c: float) -> None:
    normal = np.array([a, b, c])
    assume(np.linalg.norm(normal) > 1e-3)
    circle = Circle([1, 2, 3, *UNIT], 0.5, motion="se3", normal=normal, duration=1.0)
    x, v, _ = circle(np.linspace(0, 1, 30))
    out = x[:, :3] - [1, 2, 3]
    np.testing.assert_allclose(np.linalg.norm(out, axis=1), 0.5, rtol=1e-13)
    np.testing.assert_allclose(out @ normal, 0.0, atol=1e-14)
    assert np.all(np.cross(out[1:-1], v[1:-1, :3]) @ normal > 0)  # right-handed about the normal
    np.testing.assert_array_equal(x[:, 3:], np.tile(UNIT, (30, 1)))


def test_speed_along_the_circle() -> None:
    circle = Circle(
        [0, 0, 0.3], 0.2, motion="xy+rz", speed=1.5, acceleration=4.0, timing="trapezoid", turns=3
    )
    _, (x, v, _) = circle.sample(2001)
    assert np.linalg.norm(v, axis=1).max() == pytest.approx(1.5, rel=1e-12)
    np.testing.assert_array_equal(x[:, 2], 0.3)


def test_whole_turns_repeat() -> None:
    circle = Circle([0, 0], 1.0, motion="xy", duration=1.0, timing="uniform", start_angle=0.3)
    twice = Chain(circle, circle)
    assert twice.duration == 2.0
    np.testing.assert_allclose(twice(1.3).x, circle(0.3).x, atol=1e-14)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"plane": "xx"}, "'xx' is not a plane"),
        ({"plane": "xz"}, r"two of x, y\)"),
        ({"normal": [0, 0, 1]}, "has not all of x, y, z"),
        ({"normal": [0, 0, 0]}, "with a direction"),
        ({"normal": [0, 0, 1], "plane": "xy"}, "one of the two"),
        ({"turns": 0}, "is no way"),
        ({"radius": -1}, "the radius is -1"),
    ],
)
def test_errors(options: dict[str, object], text: str) -> None:
    arguments = {"radius": 1.0, "duration": 1.0} | options
    with pytest.raises(TrajectoryError, match=text):
        Circle([0, 0], motion="xy", **arguments)


def test_a_circle_needs_two_translations() -> None:
    with pytest.raises(TrajectoryError, match="no two translations"):
        Circle([0, 0, 0], 1.0, motion="z+rx+ry", duration=1.0)
