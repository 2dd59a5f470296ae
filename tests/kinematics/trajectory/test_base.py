"""Sampling, and tables that are read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacelle.kinematics.trajectory import BSpline, Chain, Line, TrajectoryError, read_waypoints
from nacelle.model.platform import Motion


def test_a_number_of_samples() -> None:
    line = Line([0.0], [1.0], motion="x", duration=2.0)
    times, sample = line.sample(5)
    np.testing.assert_array_equal(times, [0, 0.5, 1, 1.5, 2])
    assert sample.x.shape == (5, 1)


@pytest.mark.parametrize(("duration", "count"), [(0.3, 4), (0.35, 5), (1.0, 11), (0.7, 8)])
def test_a_rate(duration: float, count: int) -> None:
    line = Line([0.0], [1.0], motion="x", duration=duration)
    times, sample = line.sample(rate=10)
    np.testing.assert_array_equal(times, np.arange(count) / 10)
    assert sample.x[-1, 0] == pytest.approx(1.0, abs=1e-12)


def test_errors() -> None:
    line = Line([0.0], [1.0], motion="x", duration=2.0)
    for options in ({}, {"n": 3, "rate": 2.0}):
        with pytest.raises(TrajectoryError, match="one of the two"):
            line.sample(**options)
    with pytest.raises(TrajectoryError, match="do not span"):
        line.sample(1)
    for rate in (0.0, np.nan):
        with pytest.raises(TrajectoryError, match="the rate"):
            line.sample(rate=rate)


@pytest.mark.parametrize("motion", ["se3", "xy+rz", ["x", "swing"]])
def test_a_table_is_read_back_exactly(tmp_path: Path, motion: str | list[str]) -> None:
    rng = np.random.default_rng(0)
    nx = {"se3": 7, "xy+rz": 3}.get(str(motion), 2)
    spline = BSpline(rng.normal(size=(4, nx)), motion=motion, duration=1.7)
    file = tmp_path / "way.csv"
    spline.to_csv(file, n=9)
    header = file.read_text(encoding="utf-8").splitlines()[0].split(",")
    assert header[0] == "t [s]"
    assert header[1] == "x [m]"
    assert f"v_{spline.motion.coordinates[1]}" in " ".join(header)
    assert len(header) == 1 + nx + 2 * spline.motion.n
    found = read_waypoints(file, spline.motion)
    times, sample = spline.sample(9)
    assert isinstance(found.motion, Motion)
    assert found.times is not None
    np.testing.assert_array_equal(found.times, times)
    np.testing.assert_allclose(found.points, sample.x, rtol=0, atol=2e-16)


A, B, C = np.array([0.0, 0, 0]), np.array([1.0, 0, 0]), np.array([1.0, 2, 0])


def line(start: np.ndarray, end: np.ndarray, duration: float = 1.0) -> Line:
    return Line(start, end, motion="xyz", duration=duration)


def test_one_after_another() -> None:
    chain = line(A, B).then(line(B, C, 3.0))
    assert chain.duration == 4.0
    assert len(chain.parts) == 2
    for found, expected in zip(
        chain([0.3, 2.2]), zip(line(A, B)(0.3), line(B, C, 3.0)(1.2), strict=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-15)
    np.testing.assert_array_equal(chain([0, 1, 4]).x, [A, B, C])


def test_backwards() -> None:
    chain = line(A, B).then(line(B, C, 3.0))
    back = chain.reversed()
    t = np.linspace(0, 4, 41)
    np.testing.assert_allclose(back(t).x, chain(4 - t).x, atol=1e-14)
    np.testing.assert_allclose(back(t).v, -chain(4 - t).v, atol=1e-14)
    np.testing.assert_allclose(back(t).a, chain(4 - t).a, atol=1e-13)
    there_and_back = chain.then(back)
    np.testing.assert_array_equal(there_and_back(8.0).x, A)


def test_quaternions_of_either_sign_are_joined() -> None:
    q = np.array([0.5, 0.5, 0.5, 0.5])
    first = Line([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, *q], motion="se3", duration=1.0)
    second = Line([0, 0, 0, *-q], [0, 0, 0, 1, 0, 0, 0], motion="se3", duration=1.0)
    third = Line([0, 0, 0, -1, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0], motion="se3", duration=1.0)
    _, (x, _, _) = Chain(first, second, third).sample(600)
    assert np.abs(np.diff(x, axis=0)).max() < 0.02


def test_errors_of_chains() -> None:
    with pytest.raises(TrajectoryError, match="part 1 does not start where part 0 ends: y jumps by 2"):
        line(A, B).then(line(C, B))
    with pytest.raises(TrajectoryError, match="part 1 has the motion xy, not xyz"):
        line(A, B).then(Line([1, 0], [1, 1], motion="xy", duration=1.0))
    with pytest.raises(TrajectoryError, match="at least one part"):
        Chain()
