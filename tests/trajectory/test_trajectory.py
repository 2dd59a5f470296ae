"""Trajectories: times, series of Fourier, periods, tables, timing laws, scaling to limits."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from nacelle.model.platform import Motion
from nacelle.trajectory import (
    BangBang,
    BSpline,
    Chain,
    Circle,
    Cubic,
    Fourier,
    Line,
    Polyline,
    Quintic,
    Sample,
    Timing,
    Trajectory,
    TrajectoryError,
    Trapezoid,
    Uniform,
    read_waypoints,
    scale_to_limits,
    time_scaled,
)
from nacelle.trajectory.base import (
    positive_limit,
    read_layout,
    read_positive,
    read_times,
    reason_not_periodic,
)

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
    with pytest.raises(TrajectoryError, match=text):
        Fourier([0, 0, 0], a, b, motion="xyz", frequency=1.0)


# ---- Trajectories that end as they start


def test_what_does_not_end_as_it_starts() -> None:
    line = Line([0.0, 0.0], [0.1, 0.0], motion="xy", duration=2.0)
    assert reason_not_periodic(line) == "the pose is off by 0.1 at 2 s"
    assert reason_not_periodic(line.then(line.reverse())) == ""
    # A circle at constant speed does, and so does half of one only in its pose.
    circle = Circle([0.0, 0.0], 1.0, motion="xy", duration=1.0, timing="uniform")
    assert reason_not_periodic(circle) == ""
    there = Line([0.0, 0.0], [0.1, 0.0], motion="xy", duration=2.0, timing="uniform")
    assert "the twist is off by 0.1" in reason_not_periodic(there.then(there.reverse()))


def test_a_quaternion_may_end_with_the_other_sign() -> None:
    half = [Line(np.r_[0, 0, 0, a], np.r_[0, 0, 0, b], motion="se3", duration=1.0) for a, b in _turns()]
    assert reason_not_periodic(half[0].then(*half[1:])) == ""


def _turns() -> list[tuple[list[float], list[float]]]:
    """A whole turn about z in three parts: the quaternion goes from 1 to -1."""
    at = [[0.0, 0.0, float(np.sin(k * np.pi / 3.0)), float(np.cos(k * np.pi / 3.0))] for k in range(4)]
    return list(itertools.pairwise(at))


# ---- Sampling, and tables that are read back


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


def test_errors_of_samples() -> None:
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
    back = chain.reverse()
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


# ---- Timing laws: ends, derivatives, limits

LAWS = [Quintic(1.7), Cubic(1.7), BangBang(1.7), Trapezoid(1.7), Trapezoid(1.7, 0.2), Uniform(1.7)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_derivatives(law: Timing) -> None:
    t = np.random.default_rng(0).uniform(0, 1.7, 100)
    h = 1e-6
    t = t[np.min(np.abs(t[:, None] - law.knots), axis=1) > 10 * h]
    s, ds, dds = law(t)
    np.testing.assert_allclose((law(t + h).s - law(t - h).s) / (2 * h), ds, atol=1e-9)
    np.testing.assert_allclose((law(t + h).ds - law(t - h).ds) / (2 * h), dds, atol=1e-8)
    assert np.all((s > 0) & (s < 1))


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_ends(law: Timing) -> None:
    s, ds, dds = law([-1.0, 0.0, 1.7, 2.0, math.nan, math.inf])
    np.testing.assert_allclose(s, [0, 0, 1, 1, math.nan, math.nan], atol=1e-15)
    assert list(ds[[0, 3]]) == [0, 0]
    assert list(dds[[0, 3]]) == [0, 0]
    assert np.isnan(ds[4:]).all()
    assert np.isnan(dds[4:]).all()
    if not isinstance(law, Uniform):
        np.testing.assert_allclose(ds[[1, 2]], 0, atol=1e-15)
    if isinstance(law, Quintic):
        np.testing.assert_allclose(dds[[1, 2]], 0, atol=1e-15)
    assert law(np.zeros((2, 3))).s.shape == (2, 3)
    assert law(0.5).s.shape == ()


@pytest.mark.parametrize("law", [Quintic, Cubic, BangBang, Trapezoid])
@given(speed=st.floats(0.01, 100), acceleration=st.floats(0.01, 100))
def test_limits_are_reached_and_kept(law: type[Timing], speed: float, acceleration: float) -> None:
    found = law.from_limits(speed=speed, acceleration=acceleration)
    t = np.linspace(0, found.duration, 20001)
    ratios = found(t).ds.max() / speed, np.abs(found(t).dds).max() / acceleration
    assert max(ratios) <= 1 + 1e-12
    assert max(ratios) == pytest.approx(1, abs=1e-6)


def test_a_trapezoid_becomes_a_triangle() -> None:
    slow = Trapezoid.from_limits(speed=0.5, acceleration=2.0)
    assert (slow.duration, slow.ramp) == (pytest.approx(2.25), pytest.approx(0.25))
    fast = Trapezoid.from_limits(speed=10.0, acceleration=4.0)
    assert (fast.duration, fast.ramp) == (pytest.approx(1.0), pytest.approx(0.5))
    t = np.linspace(0, 1, 50)
    for found, expected in zip(fast(t), BangBang(1.0)(t), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_one_limit_is_enough() -> None:
    assert Quintic.from_limits(speed=1.0).duration == pytest.approx(1.875)
    assert BangBang.from_limits(acceleration=1.0).duration == pytest.approx(2.0)
    assert Uniform.from_limits(speed=2.0).duration == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: Quintic(0.0), "the duration is 0"),
        (lambda: Quintic(math.nan), "the duration is nan"),
        (lambda: Trapezoid(1.0, 0.6), "does not fit"),
        (Quintic.from_limits, "needs a limit"),
        (lambda: Uniform.from_limits(acceleration=1.0), "needs a limit"),
        (lambda: Trapezoid.from_limits(speed=1.0), "limit on the acceleration"),
        (lambda: Line([0], [1], motion="x", duration=1, timing="fast"), "known: quintic"),
        (lambda: Line([0], [1], motion="x"), "give the duration, or limits"),
        (lambda: Line([0], [1], motion="x", duration=1, speed=1), "give the duration, or limits"),
        (lambda: Line([0], [1], motion="x", duration=1, timing=Quintic(1.0)), "its own duration"),
    ],
)
def test_errors_of_laws(call: object, text: str) -> None:
    assert callable(call)
    with pytest.raises(TrajectoryError, match=text):
        call()


# ---- Scaling of time, and limits that are reached and never passed


def trajectory(kind: str, rng: np.random.Generator) -> Trajectory:
    points = np.hstack([rng.normal(size=(6, 3)), rng.normal(size=(6, 4))])
    if kind == "line":
        return Line(points[0], points[1], motion="se3", duration=1.0)
    if kind == "bang-bang":
        return Line(points[0], points[1], motion="se3", duration=1.0, timing="bang-bang")
    if kind == "circle":
        return Circle(points[0], 0.7, motion="se3", plane=points[1, :3], turns=2.3, duration=3.0)
    if kind == "polyline":
        return Polyline(points, motion="se3", duration=5.0, blend=0.3)
    if kind == "spline":
        return BSpline(points, motion="se3", duration=5.0)
    if kind == "chain":
        return Line(points[0], points[1], motion="se3", duration=1.0).then(
            BSpline(points[1:], motion="se3", duration=5.0)
        )
    a, b = rng.normal(size=(2, 5, 6)) * 0.3
    return Fourier(points[0], a, b, motion="se3", frequency=0.5, duration=3.1)


KINDS = ["line", "bang-bang", "circle", "polyline", "spline", "chain", "fourier"]


def highest(values: np.ndarray, limits: np.ndarray) -> float:
    return float((np.abs(values) / limits).max())


def test_time_scaled() -> None:
    spline = trajectory("spline", np.random.default_rng(0))
    slow = time_scaled(spline, 2.5)
    assert (slow.duration, slow.factor) == (12.5, 2.5)
    t = np.linspace(0, 5, 30)
    np.testing.assert_allclose(slow(2.5 * t).x, spline(t).x, atol=1e-12)
    np.testing.assert_allclose(slow(2.5 * t).v, spline(t).v / 2.5, atol=1e-11)
    np.testing.assert_allclose(slow(2.5 * t).a, spline(t).a / 6.25, atol=1e-10)
    for factor in (0.0, -1.0, np.nan):
        with pytest.raises(TrajectoryError, match="the factor is"):
            time_scaled(spline, factor)


def dense(found: Trajectory) -> Sample:
    """Very many times, with those beside the knots."""
    knots = found.knots
    beside = np.concatenate([knots * (1 - 1e-14), knots, knots * (1 + 1e-14)])
    times = np.concatenate([np.linspace(0, found.duration, 5001), beside])
    return found(np.clip(times, 0, found.duration))


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 1000))
def test_limits_are_reached_and_never_passed(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    speed, acceleration = rng.uniform(0.5, 2, 6), rng.uniform(0.5, 20, 6)
    found = scale_to_limits(trajectory(kind, rng), speed=speed, acceleration=acceleration)
    _, v, a = dense(found)
    reached = max(highest(v, speed), highest(a, acceleration))
    assert reached <= 1 + 1e-12
    assert reached > 1 - 1e-5  # as near as these times come


def test_the_limit_is_hit_to_nine_digits() -> None:
    line = Line([0.0, 0.0], [2.0, -3.0], motion="xy", duration=7.0)
    by_speed = scale_to_limits(line, speed=0.5)
    assert by_speed.duration == pytest.approx(3.0 * 1.875 / 0.5, rel=1e-9)
    assert by_speed(by_speed.duration / 2).v[1] == pytest.approx(-0.5, rel=1e-9)
    by_acceleration = scale_to_limits(line, acceleration=[4.0, 5.0])
    assert by_acceleration.duration == pytest.approx(np.sqrt(3.0 * 10 / np.sqrt(3) / 5.0), rel=1e-9)
    bang = Line([0.0], [1.0], motion="x", duration=7.0, timing="bang-bang")
    assert scale_to_limits(bang, acceleration=1.0).duration == pytest.approx(2.0, rel=1e-9)
    assert scale_to_limits(bang, speed=1.0).duration == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_peaks_against_a_bounded_search(kind: str) -> None:
    from scipy.optimize import minimize_scalar

    path = trajectory(kind, np.random.default_rng(11))
    factor = scale_to_limits(path, speed=1.0).factor
    times = np.linspace(0, path.duration, 20001)
    v = np.abs(path(times).v)
    k, i = np.unravel_index(np.argmax(v), v.shape)
    bounds = times[max(k - 1, 0)], times[min(k + 1, 20000)]
    best = minimize_scalar(
        lambda t: -abs(path(t).v[i]), bounds=bounds, method="bounded", options={"xatol": 1e-11}
    )
    assert factor == pytest.approx(max(-best.fun, v.max()), rel=1e-9)


def test_limits_of_joints() -> None:
    line = BSpline([[0.1, 0.3], [0.4, 0.2], [0.2, 0.5]], motion="xy", duration=1.0)

    def rates(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        """The rate of the length |x| and its derivative."""
        x, v, a = sample
        length = np.linalg.norm(x, axis=-1)
        rate = (x * v).sum(-1) / length
        change = ((v * v).sum(-1) + (x * a).sum(-1) - rate**2) / length
        return rate[..., None], change[..., None]

    found = scale_to_limits(line, rates=rates, rate=0.3, rate_change=[2.0])
    rate, change = rates(dense(found))
    reached = max(np.abs(rate).max() / 0.3, np.abs(change).max() / 2.0)
    assert 1 - 1e-6 < reached <= 1 + 1e-12
    assert scale_to_limits(line, speed=1e-3, rates=rates, rate=0.3).duration > found.duration


def test_what_rests_keeps_its_time() -> None:
    still = Line([1.0], [1.0], motion="x", duration=3.0)
    assert scale_to_limits(still, speed=1.0).duration == 3.0


def test_errors_of_scaling() -> None:
    line = Line([0.0], [1.0], motion="x", duration=3.0)
    with pytest.raises(TrajectoryError, match="give a limit"):
        scale_to_limits(line)
    with pytest.raises(TrajectoryError, match="limits on joints need"):
        scale_to_limits(line, rate=1.0)
    with pytest.raises(TrajectoryError, match="limits on joints need"):
        scale_to_limits(line, speed=1.0, rates=lambda sample: (sample.v, sample.a))
    with pytest.raises(TrajectoryError, match="not positive"):
        scale_to_limits(line, rate=[0.0], rates=lambda sample: (sample.v, sample.a))
    with pytest.raises(TrajectoryError, match="the rates are not finite at"):
        scale_to_limits(line, rate=1.0, rates=lambda sample: (sample.v * np.nan, sample.a))
