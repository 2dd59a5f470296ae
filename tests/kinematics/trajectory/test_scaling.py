"""Scaling of time, and limits that are reached and never passed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.kinematics.trajectory import (
    BSpline,
    Circle,
    Fourier,
    Line,
    Polyline,
    Sample,
    Trajectory,
    TrajectoryError,
    scale_to_limits,
    time_scaled,
)


def trajectory(kind: str, rng: np.random.Generator) -> Trajectory:
    points = np.hstack([rng.normal(size=(6, 3)), rng.normal(size=(6, 4))])
    if kind == "line":
        return Line(points[0], points[1], motion="se3", duration=1.0)
    if kind == "bang-bang":
        return Line(points[0], points[1], motion="se3", duration=1.0, timing="bang-bang")
    if kind == "circle":
        return Circle(points[0], 0.7, motion="se3", normal=points[1, :3], turns=2.3, duration=3.0)
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


def test_errors() -> None:
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
