"""Timing laws: ends, derivatives, limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.kinematics.trajectory import (
    BangBang,
    Cubic,
    Line,
    Quintic,
    Timing,
    TrajectoryError,
    Trapezoid,
    Uniform,
)

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
def test_errors(call: object, text: str) -> None:
    assert callable(call)
    with pytest.raises(TrajectoryError, match=text):
        call()
