"""Lines: ends, slerp, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from nacelle.kinematics.trajectory import Line, Quintic, TrajectoryError
from nacelle.model.platform import parse_motion


def test_from_start_to_end() -> None:
    line = Line([0, 1, 2], [1, -1, 2], motion="xyz", duration=2.0)
    assert line.motion == parse_motion("xyz")
    np.testing.assert_allclose(line([0, 1, 2]).x, [[0, 1, 2], [0.5, 0, 2], [1, -1, 2]], atol=1e-15)
    np.testing.assert_allclose(line(1.0).v, 1.875 / 2 * np.array([1, -2, 0]), atol=1e-15)
    np.testing.assert_allclose(line(1.0).a, 0.0, atol=1e-15)
    assert repr(line) == "Line(xyz, 2 s)"


@given(st.integers(0, 10000))
def test_orientations_are_those_of_slerp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 7))
    line = Line(a, b, motion="se3", timing=Quintic(3.0))
    t = np.linspace(0, 3, 20)
    s = Quintic(3.0)(t).s
    expected = Slerp([0, 1], Rotation.from_quat([a[3:], b[3:]]))(s)
    found = Rotation.from_quat(line(t).x[:, 3:])
    assert np.max((found * expected.inv()).magnitude()) < 1e-14


def test_half_a_turn_keeps_its_sign() -> None:
    for end in ([1, 0, 0, 0], [-1, 0, 0, -1e-17], [0.6, 0.8, 0, 0]):
        line = Line([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, *end], motion="se3", duration=1.0)
        x = line(np.linspace(0, 1, 100)).x
        assert np.abs(np.diff(x, axis=0)).max() < 0.1


@pytest.mark.parametrize("timing", ["quintic", "cubic", "trapezoid", "bang-bang"])
@given(st.integers(0, 10000))
def test_limits_of_each_coordinate(timing: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 7))
    speed, acceleration = rng.uniform(0.1, 2, (2, 6))
    line = Line(a, b, motion="se3", speed=speed, acceleration=acceleration, timing=timing)
    _, sample = line.sample(4001)
    reached = max((np.abs(sample.v) / speed).max(), (np.abs(sample.a) / acceleration).max())
    assert 1 - 1e-5 < reached <= 1 + 1e-12


@pytest.mark.parametrize(
    ("start", "end", "options", "text"),
    [
        (
            [0, 0],
            [1, 0, 0],
            {"duration": 1},
            r"the start has shape \(2,\), not \(3,\): 3 numbers \(x, y, z\)",
        ),
        ([0, 0, 0], [1, np.nan, 0], {"duration": 1}, "the end: y is nan"),
        ([0, 0, 0], ["a", 0, 0], {"duration": 1}, "the end is not a row"),
        ([0, 0, 0], [1, 0, 0], {"duration": -1}, "the duration is -1"),
        ([0, 0, 0], [1, 0, 0], {"speed": [1, 2]}, "the speed is neither a number nor 3"),
        ([0, 0, 0], [1, 0, 0], {"speed": 0}, "not positive"),
        ([0, 0, 0], [0, 0, 0], {"speed": 1}, "start and end are the same"),
    ],
)
def test_errors(start: list[float], end: list[float], options: dict[str, object], text: str) -> None:
    with pytest.raises(TrajectoryError, match=text):
        Line(start, end, motion="xyz", **options)


def test_errors_of_orientations_and_motions() -> None:
    unit = [0, 0, 0, 0, 0, 0, 1]
    with pytest.raises(TrajectoryError, match="the end: the quaternion"):
        Line(unit, np.zeros(7), motion="se3", duration=1)
    with pytest.raises(TrajectoryError, match="not a motion type"):
        Line(unit, unit, motion="se4", duration=1)
    with pytest.raises(TrajectoryError, match="side by side"):
        Line([0] * 4, [0] * 4, motion=["rx", "x", "ry", "rz"], duration=1)
