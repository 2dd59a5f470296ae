"""Splitting a program: prologue and body give what the whole gives, and the body is as short as with
constants."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nacelle.program.cost import count
from nacelle.program.minimise import minimise
from nacelle.program.split import split
from nacelle.program.trace import trace
from nacelle.spatial.scalar import absolute, atan2, cos, floor, maximum, sign, sin, sqrt, where
from nacelle.spatial.solve import solve


def run(parts, p, *others):
    flat = parts.prologue.evaluate(list(p))
    return np.array(parts.body.evaluate([*flat, *np.concatenate([np.ravel(o) for o in others])]))


def pendulum(p, x):
    """Numbers that meet only in constants: m l^2 x'' + m g l sin x + c x'."""
    m, length, g, c = p
    return m * length * (length * x[2]) + g * (m * length) * sin(x[0]) + c * x[1]


def test_numbers_that_meet_are_one_constant():
    parts = split(trace(pendulum, {"p": (4,), "x": (3,)}), [1.3, 0.7, 9.7, 0.11])
    assert count(parts.body).total == 5
    assert parts.body.inputs[0].shape == (3,)
    p, x = np.array([2.0, 0.5, 9.81, 0.3]), np.array([0.4, -1.0, 2.0])
    expected = 2.0 * 0.25 * 2.0 + 9.81 * 1.0 * np.sin(0.4) - 0.3
    assert np.isclose(run(parts, p, x)[0], expected, rtol=1e-14)


def kinks(p, x):
    """Functions whose side differs between samples."""
    a, b, c = p
    return {
        "abs": absolute(a) * x[0] - a * x[1],
        "sign": sign(b) * x[0] + x[1],
        "floor": floor(b) * x[0] - floor(a) * x[1],
        "max": maximum(a, b) * x[0] - a * x[0],
        "where": where(c, x[0], x[1]) + where(c, a, b) * x[0],
        "angle": atan2(a, c) * x[0],
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-3, 3).filter(lambda v: abs(v) > 0.01), min_size=5, max_size=5))
def test_kinks_do_not_follow_the_sample(values):
    traced = trace(kinks, {"p": (3,), "x": (2,)})
    parts = split(traced, [1.1, 0.7, 0.3])
    expected = traced.program().evaluate(values)
    assert np.allclose(run(parts, values[:3], values[3:]), expected, rtol=1e-13, atol=1e-13)


def test_an_identity_of_the_numbers_costs_nothing():
    def turned(p, x):
        c, s = cos(p[0]), sin(p[0])
        return (c * c + s * s) * x[0] + (c * s - s * c) * x[1]

    parts = split(trace(turned, {"p": (1,), "x": (2,)}), [0.6])
    assert count(parts.body).total == 0


def test_a_declared_zero_is_zero_for_good():
    parts = split(trace(lambda p, x: p[0] * x[0] + p[1] * x[1], {"p": (2,), "x": (2,)}), [0.0, 0.9])
    assert count(parts.body).total == 1


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["general", "spd", "fixed"]), st.integers(2, 5))
def test_body_is_as_short_as_with_constants(seed, kind, n):
    """A solve whose matrix holds numbers and states: the same operations as with the sample folded."""
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6)

    def function(p, x):
        A = B @ np.diag(p) @ B.T + np.diag(p) + np.diag(x * x)
        return {"y": solve(A, p * x + p[::-1], kind), "r": sqrt(p[0] * p[0] + 1.0) * x}

    sample = rng.uniform(0.5, 2.0, n)
    parts = split(trace(function, {"p": (n,), "x": (n,)}), sample)
    constant = minimise(trace(lambda x: function(sample, x), {"x": (n,)}).program())
    if kind != "general" or n <= 3:
        # Exchanged rows stay exchanged: which is larger depends on the numbers.
        assert count(parts.body).total <= count(constant).total
    p, x = rng.uniform(0.5, 2.0, n), rng.normal(size=n)
    expected = trace(lambda x: function(p, x), {"x": (n,)}).program().evaluate(x)
    assert np.allclose(run(parts, p, x), expected, rtol=1e-10, atol=1e-10)
