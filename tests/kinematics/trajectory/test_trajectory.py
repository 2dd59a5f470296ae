"""Trajectories: times, series of Fourier, periods, steps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.interpolate import BSpline
from scipy.spatial.transform import Rotation

from nacelle.kinematics.trajectory import Fourier
from nacelle.kinematics.trajectory import TrajectoryError as FourierTrajectoryError
from nacelle.kinematics.trajectory.arguments import (
    positive_limit,
    read_layout,
    read_positive,
    read_times,
)
from nacelle.kinematics.trajectory.basis import interpolant
from nacelle.kinematics.trajectory.circle import Circle
from nacelle.kinematics.trajectory.error import TrajectoryError
from nacelle.kinematics.trajectory.line import Line
from nacelle.kinematics.trajectory.periodic import reason_not_periodic
from nacelle.kinematics.trajectory.steps import Steps, interpolating_steps

# ---- What trajectories are made of is checked: poses, signs of quaternions, limits and times


def test_times() -> None:
    layout = read_layout("xyz")
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 3.0, 0.0]])
    assert read_times(layout, points, [0.0, 1.0, 4.0], None, None).tolist() == [0.0, 1.0, 4.0]
    assert read_times(layout, points, None, 4.0, None).tolist() == [0.0, 2.0, 4.0]
    assert read_times(layout, points, None, None, 1.0)[-1] == pytest.approx(4.0)
    for times in ([0.0, 2.0, 1.0], [0.0, 1.0], [0.0, 1.0, np.inf]):
        with pytest.raises(TrajectoryError):
            read_times(layout, points, times, None, None)


def test_limits_are_above_zero() -> None:
    assert positive_limit(read_layout("xyz"), 2.0, "speed").tolist() == [2.0, 2.0, 2.0]
    for value in (0.0, -1.0, np.nan, [1.0, 2.0]):
        with pytest.raises(TrajectoryError, match="speed"):
            positive_limit(read_layout("xyz"), value, "speed")
    with pytest.raises(TrajectoryError, match="duration"):
        read_positive(float("inf"), "duration")


# ---- Fourier series: the sum, the period, rotation vectors


def test_the_series() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 3))
    center = np.array([0.1, 0.2, 0.3])
    found = Fourier(center, a, b, motion="xy+rz", frequency=0.5)
    assert found.duration == 2.0
    for t in rng.uniform(0, 2, 20):
        k = np.arange(1, 5)[:, None] * np.pi
        y = (a * np.sin(k * t) + b * np.cos(k * t)).sum(axis=0)
        ddy = -(k**2 * (a * np.sin(k * t) + b * np.cos(k * t))).sum(axis=0)
        np.testing.assert_allclose(found(t).x, center + y, atol=1e-13)
        np.testing.assert_allclose(found(t).a, ddy, rtol=1e-12, atol=1e-10)


def test_it_is_periodic() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 2, 6))
    found = Fourier([0, 0, 0, 0, 0, 0, 1], a, b, motion="se3", frequency=2.0, duration=1.3)
    for here, later in zip(found([0.1, 0.7]), found([0.6, 1.2]), strict=True):
        np.testing.assert_allclose(here, later, atol=1e-9)


def test_rotations_are_about_the_orientation_of_the_centre() -> None:
    a, b = np.random.default_rng(2).normal(size=(2, 2, 6))
    center = Rotation.from_rotvec([0.3, 0.4, -1.0])
    found = Fourier([0, 0, 0, *center.as_quat()], a, b, motion="se3", frequency=1.0)
    t = 0.37
    k = 2 * np.pi * np.arange(1, 3)[:, None]
    r = (a * np.sin(k * t) + b * np.cos(k * t)).sum(axis=0)[3:]
    turned = Rotation.from_quat(found(t).x[3:]) * (Rotation.from_rotvec(r) * center).inv()
    assert turned.magnitude() < 1e-14


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (np.zeros((2, 2)), np.zeros((2, 3)), r"a has shape \(2, 2\), not \(harmonics, 3\)"),
        (np.zeros((2, 3)), np.zeros((1, 3)), "a has 2 harmonics, b has 1"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "a has shape"),
        (np.zeros((2, 3)), np.array([[0, 0, 0], [0, np.inf, 0]]), "b of harmonic 2 is not finite"),
    ],
)
def test_errors(a: np.ndarray, b: np.ndarray, text: str) -> None:
    with pytest.raises(FourierTrajectoryError, match=text):
        Fourier([0, 0, 0], a, b, motion="xyz", frequency=1.0)


# ---- Trajectories that end as they start


def test_what_does_not_end_as_it_starts() -> None:
    line = Line([0.0, 0.0], [0.1, 0.0], motion="xy", duration=2.0)
    assert reason_not_periodic(line) == "the pose is off by 0.1 at 2 s"
    assert reason_not_periodic(line.then(line.reversed())) == ""
    # A circle at constant speed does, and so does half of one only in its pose.
    circle = Circle([0.0, 0.0], 1.0, motion="xy", duration=1.0, timing="uniform")
    assert reason_not_periodic(circle) == ""
    there = Line([0.0, 0.0], [0.1, 0.0], motion="xy", duration=2.0, timing="uniform")
    assert "the twist is off by 0.1" in reason_not_periodic(there.then(there.reversed()))


def test_a_quaternion_may_end_with_the_other_sign() -> None:
    half = [Line(np.r_[0, 0, 0, a], np.r_[0, 0, 0, b], motion="se3", duration=1.0) for a, b in _turns()]
    assert reason_not_periodic(half[0].then(*half[1:])) == ""


def _turns() -> list[tuple[list[float], list[float]]]:
    """A whole turn about z in three parts: the quaternion goes from 1 to -1."""
    at = [[0.0, 0.0, float(np.sin(k * np.pi / 3.0)), float(np.cos(k * np.pi / 3.0))] for k in range(4)]
    return list(itertools.pairwise(at))


# ---- Step functions between points: the band that is kept is the whole spline, against SciPy


def unrolled(steps: Steps, degree: int, points: int) -> np.ndarray:
    """D (control points, points - 1), with 1 before the band of a row and 0 after it."""
    count, width = steps.band.shape
    D = np.empty((count, points - 1))
    for i in range(count):
        start = i - steps.shift - steps.width - degree
        for k in range(1, points):
            c = k - start
            D[i, k - 1] = steps.band[i, c] if 0 <= c < width else float(c < 0)
    return D


@pytest.mark.parametrize("rest", [True, False])
@pytest.mark.parametrize(("points", "degree"), [(6, 3), (120, 3), (150, 5)])
def test_steps_from_zero_to_one(points: int, degree: int, rest: bool) -> None:
    times = np.cumsum(np.random.default_rng(points).uniform(0.5, 1.5, points))
    D = unrolled(interpolating_steps(times, degree, rest), degree, points)
    knots, _ = interpolant(np.zeros((points, 1)), times, degree, rest)
    F = BSpline(knots, D, degree)
    expected = (np.arange(points)[:, None] >= np.arange(1, points)).astype(float)
    np.testing.assert_allclose(F(times), expected, rtol=0, atol=1e-12)
    if rest:
        np.testing.assert_allclose(F(times[[0, -1]], 1), 0.0, atol=1e-10)
