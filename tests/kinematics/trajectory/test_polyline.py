"""Polylines: segments, blends, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from nacelle.kinematics.trajectory import Polyline, TrajectoryError

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])


def test_segments_and_blends() -> None:
    line = Polyline(SQUARE, motion="xyz", times=[0, 1, 2, 3], blend=0.2)
    assert line.duration == 3.0
    np.testing.assert_allclose(line([0, 3]).x, SQUARE[[0, -1]], atol=1e-15)
    middle = line(1.5)  # on the second segment
    np.testing.assert_allclose(middle.x, [1, 0.5, 0], atol=1e-15)
    np.testing.assert_allclose(middle.v, [0, 1, 0], atol=1e-15)
    corner = line(1.0)
    u, v = np.array([1 / 0.9, 0, 0]), np.array([0, 1.0, 0])  # the first blend shortens the first segment
    np.testing.assert_allclose(corner.x, SQUARE[1] + (v - u) * 0.1 / 4, atol=1e-15)
    np.testing.assert_allclose(corner.v, (u + v) / 2, atol=1e-14)
    inside = line(np.linspace(0.9 + 1e-9, 1.1 - 1e-9, 11)).a
    np.testing.assert_allclose(inside, np.tile((v - u) / 0.2, (11, 1)), atol=1e-12)


def test_orientations_on_segments_are_those_of_slerp() -> None:
    rng = np.random.default_rng(0)
    quats = rng.normal(size=(4, 4))
    points = np.hstack([np.zeros((4, 3)), quats])
    line = Polyline(points, motion="se3", times=[0, 1, 2, 3], blend=0.2)
    t = np.concatenate([np.linspace(1.1, 1.9, 20)])
    expected = Slerp([0, 1, 2, 3], Rotation.from_quat(quats))(t)
    assert np.max((Rotation.from_quat(line(t).x[:, 3:]) * expected.inv()).magnitude()) < 1e-14


def test_turning_about_one_axis_has_constant_acceleration_in_blends() -> None:
    angles = np.array([0.0, 1.0, 0.4, 2.0])
    quats = Rotation.from_rotvec(angles[:, None] * [0.6, 0, 0.8]).as_quat()
    turning = Polyline(np.hstack([np.zeros((4, 3)), quats]), motion="se3", times=[0, 1, 2, 3], blend=0.3)
    plain = Polyline(angles[:, None], motion="rz", times=[0, 1, 2, 3], blend=0.3)
    t = np.linspace(0, 3, 400)
    np.testing.assert_allclose(turning(t).v[:, 3:], plain(t).v * [0.6, 0, 0.8], atol=1e-13)
    np.testing.assert_allclose(turning(t).a[:, 3:], plain(t).a * [0.6, 0, 0.8], atol=1e-12)


@given(st.integers(0, 10000), st.floats(0.1, 10), st.floats(0.1, 10))
def test_speed_and_acceleration_are_kept(seed: int, speed: float, acceleration: float) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, size=(rng.integers(2, 7), 3))
    line = Polyline(points, motion="xyz", speed=speed, acceleration=acceleration)
    _, (x, v, a) = line.sample(3001)
    assert np.abs(v).max() <= speed * (1 + 1e-9)
    assert np.abs(a).max() <= acceleration * (1 + 1e-9)
    fastest = max(np.abs(v).max() / speed, np.abs(a).max() / acceleration)
    assert fastest > 0.999
    np.testing.assert_allclose(x[[0, -1]], points[[0, -1]], atol=1e-12)


@given(st.integers(0, 10000))
def test_acceleration_at_given_times(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, size=(5, 2))
    times = np.cumsum(rng.uniform(1, 2, 5))
    line = Polyline(points, motion="xy", times=times, acceleration=[30.0, 40.0])
    assert line.duration == pytest.approx(times[-1] - times[0])
    t, (_, v, a) = line.sample(5001)
    assert np.all(np.abs(a).max(axis=0) <= np.array([30, 40]) * (1 + 1e-9))
    assert (np.abs(a) / [30, 40]).max() > 0.999
    np.testing.assert_allclose(np.trapezoid(v, t, axis=0), points[-1] - points[0], atol=1e-3)


def test_points_on_a_line_need_no_blend() -> None:
    line = Polyline([[0.0], [1.0], [2.0]], motion="x", speed=1.0, acceleration=2.0)
    assert line.duration == pytest.approx(2.5, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"times": [0, 1, 2, 3], "blend": 1.5}, "the blends at points 0 and 1 take 1.5 s"),
        ({"times": [0, 1, 2, 3], "blend": 0.0}, "the blend is 0"),
        ({"times": [0, 1, 2, 3], "acceleration": 1.0}, "cannot be reached in their times"),
        ({"times": [0, 1, 1, 3]}, "the time of point 2, 1 s, is not after that of point 1"),
        ({"times": [0, 1, np.nan, 3]}, "the time of point 2 is nan"),
        ({"times": [0, 1, 3]}, "there are 4 points"),
        ({"times": [0, 1, 2, 3], "duration": 1}, "one of the three"),
        ({}, "one of the three"),
        ({"duration": 1, "blend": 0.1, "acceleration": 1}, "not both"),
    ],
)
def test_errors(options: dict[str, object], text: str) -> None:
    with pytest.raises(TrajectoryError, match=text):
        Polyline(SQUARE, motion="xyz", **options)


@pytest.mark.parametrize(
    ("points", "text"),
    [
        ([[0.0, 0, 0]], "1 point"),
        ([0.0, 0, 0], r"shape \(3,\), not \(N, 3\)"),
        ([[0.0, 0], [1, 0]], r"shape \(2, 2\), not \(N, 3\): 3 numbers"),
        ([[0.0, 0, 0], [0, np.inf, 0]], "point 1: y is inf"),
        ([[0.0, 0, 0], [1, 0]], "are not rows of 3 numbers"),
        ([[0.0, 0, 0], [0, 0, 0], [1, 0, 0]], "points 0 and 1 are the same"),
    ],
)
def test_errors_name_the_point(points: object, text: str) -> None:
    with pytest.raises(TrajectoryError, match=text):
        Polyline(points, motion="xyz", speed=1.0)
