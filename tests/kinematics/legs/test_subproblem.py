"""The small geometric problems against brute force: what is found solves them, and nothing is missed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from nacelle.kinematics.legs.subproblem import (
    angle_equation,
    angle_onto,
    circle_to_point,
    line_to_point,
    rotate,
    rotate_back,
    spherical_aim,
    stretch,
    two_angles,
)
from nacelle.kinematics.tree.spanning_tree import CosSin
from nacelle.spatial.batch import from_samples, to_samples
from support.compare import assert_same

numbers = st.floats(-2.0, 2.0, allow_nan=False)
vectors = st.lists(numbers, min_size=3, max_size=3).map(np.array)
angles = st.floats(-3.1, 3.1)
signs = st.sampled_from([1, -1])
seeds = st.integers(0, 2**32 - 1)


def turned(q: float, v: np.ndarray) -> np.ndarray:
    return Rotation.from_euler("z", q).apply(v)


def angle(turn: CosSin) -> float:
    return float(np.arctan2(turn.s, turn.c))


def roots(f: object, count: int = 721) -> list[float]:
    """All roots of a function of an angle by sampling and bisection."""
    # No simple angle is on the grid, where it would be missed.
    grid = np.linspace(-np.pi, np.pi, count) + 0.00123456789
    values = [f(q) for q in grid]
    found = []
    for a, b, fa, fb in zip(grid[:-1], grid[1:], values[:-1], values[1:], strict=True):
        if fa * fb < 0.0:
            found.append(brentq(f, a, b, xtol=1e-15, rtol=1e-14))
    return sorted(float(np.angle(np.exp(1j * q))) for q in found)


def apart(one: list[float], two: list[float]) -> float:
    """How far two sets of angles are apart, each angle of one from the nearest of the other."""
    gaps = np.abs(np.angle(np.exp(1j * (np.array(one)[:, None] - np.array(two)))))
    return float(max(np.max(np.min(gaps, axis=0)), np.max(np.min(gaps, axis=1))))


@settings(max_examples=60)
@given(numbers, numbers, numbers)
def test_balance(a: float, b: float, c: float) -> None:
    h = np.hypot(a, b)
    if h < 1e-3 or abs(abs(c) - h) < 1e-3 * h:
        return
    expected = roots(lambda q: a * np.cos(q) + b * np.sin(q) - c)
    both = [angle_equation(a, b, c, sign) for sign in (1, -1)] if abs(c) < h else []
    assert len(expected) == len(both)
    for value, margin in both:
        assert abs(value.c**2 + value.s**2 - 1.0) < 1e-13
        assert margin == pytest.approx(1.0 - (c / h) ** 2, abs=1e-12)
    # Roots close together are found less exactly.
    if both:
        assert apart([angle(value) for value, _ in both], expected) < 1e-13 / (1.0 - (c / h) ** 2)
    if abs(c) > h:
        with np.errstate(invalid="ignore"):
            value, margin = angle_equation(a, b, c, 1)
        assert margin < 0.0
        assert np.isnan(value.c)


@pytest.mark.slow
@settings(max_examples=60)
@given(vectors, angles, vectors, signs)
def test_circle_to_point(e: np.ndarray, q: float, rod: np.ndarray, sign: int) -> None:
    """An arm at q with a rod to w: both solutions keep the rod's length, and q is one of them."""
    w = turned(q, e) + rod
    # The margin counts in the rod's length: beside an arm a rod of no length has no digits left.
    if np.hypot(*e[:2]) < 0.05 or np.hypot(*w[:2]) < 0.05 or np.linalg.norm(rod) < 1e-3:
        return
    length2 = float(rod @ rod)
    h = np.hypot(*e[:2]) * np.hypot(*w[:2])
    with np.errstate(invalid="ignore"):
        value, margin, seen = circle_to_point(e, w, length2, sign)
    if not margin >= 1e-6:
        return
    assert np.linalg.norm(w - turned(angle(value), e)) ** 2 == pytest.approx(length2, abs=1e-12 * (h + 1))
    np.testing.assert_allclose(turned(angle(value), seen), w - turned(angle(value), e), atol=1e-11 / margin)
    other = circle_to_point(e, w, length2, -sign)[0]
    # Seen from axes that lie a constant angle behind.
    ahead = CosSin(np.cos(0.7), np.sin(0.7))
    again = circle_to_point(e, turned(0.7, w), length2, sign, ahead)
    np.testing.assert_allclose([*again.value, again.margin], [*value, margin], atol=1e-12 / margin)
    np.testing.assert_allclose(again.rod, seen, atol=1e-12 / margin)
    found = [angle(value), angle(other)]
    assert min(abs(np.angle(np.exp(1j * (f - q)))) for f in found) < 1e-12 / margin
    expected = roots(lambda t: np.linalg.norm(w - turned(t, e)) ** 2 - length2)
    if len(expected) == 2:
        assert apart(found, expected) < 1e-12 / margin


@settings(max_examples=60)
@given(vectors, numbers, vectors, signs)
def test_line_to_point(e: np.ndarray, q: float, rod: np.ndarray, sign: int) -> None:
    length2 = float(rod @ rod)
    if length2 < 1e-2 or abs(rod[2]) < 1e-2:
        return
    w = e + np.array([0.0, 0.0, q]) + rod
    values = {s: line_to_point(e, w, length2, s) for s in (1, -1)}
    for value, margin, seen in values.values():
        np.testing.assert_allclose(seen, w - e - [0.0, 0.0, value], atol=1e-11 / abs(rod[2]))
        assert margin == pytest.approx(rod[2] ** 2 / length2, rel=1e-9, abs=1e-12)
        assert np.linalg.norm(w - e - [0.0, 0.0, value]) ** 2 == pytest.approx(length2, rel=1e-11)
    # The sign is the side of the rod: + if the point on the slide lies beyond w.
    kept = values[-1 if rod[2] > 0 else 1].value
    assert kept == pytest.approx(q, abs=1e-11 / abs(rod[2]))
    with np.errstate(invalid="ignore"):
        out, margin, _ = line_to_point(e, e + np.array([np.sqrt(length2) + 0.1, 0.0, 0.0]), length2, sign)
    assert margin < 0.0
    assert np.isnan(out)


@settings(max_examples=60)
@given(vectors, seeds, numbers)
def test_stretch(o: np.ndarray, seed: int, length: float) -> None:
    z = np.random.default_rng(seed).normal(size=3)
    z /= np.linalg.norm(z)
    d = o + length * z
    square = float(d @ d)
    # The two lengths meet where d is perpendicular to the slide.
    if square < 1e-2 or abs(d @ z) < 1e-2:
        return
    values = {sign: stretch(o, z, square, sign) for sign in (1, -1)}
    for value, margin in values.values():
        assert np.linalg.norm(o + value * z) ** 2 == pytest.approx(square, rel=1e-11)
        assert margin == pytest.approx((d @ z) ** 2 / square, abs=1e-11)
    assert values[1 if d @ z > 0 else -1].value == pytest.approx(length, abs=1e-11 / abs(d @ z))


@settings(max_examples=80)
@given(seeds, angles, angles, vectors, signs)
def test_two_turns(seed: int, q1: float, q2: float, d: np.ndarray, sign: int) -> None:
    """Axes at any angle: the pair that was used is found by one of the two signs, and both reach u."""
    C = Rotation.random(random_state=seed).as_matrix()
    u = turned(q1, C @ turned(q2, d))
    if np.hypot(*d[:2]) < 0.1 or np.hypot(*u[:2]) < 0.1 or np.hypot(C[2, 0], C[2, 1]) < 0.1:
        return
    with np.errstate(invalid="ignore"):
        first, second, margin = two_angles(C, d, u, sign)
    if margin < 1e-4:
        return
    again = rotate(first, C @ rotate(second, d))
    assert np.max(np.abs(again - u)) < 1e-11
    assert first.c**2 + first.s**2 == pytest.approx(1.0, abs=1e-10)
    pairs = [two_angles(C, d, u, s)[:2] for s in (1, -1)]
    off = [
        max(abs(np.angle(np.exp(1j * (angle(a) - q1)))), abs(np.angle(np.exp(1j * (angle(b) - q2)))))
        for a, b in pairs
    ]
    assert min(off) < 1e-10 / margin


@settings(max_examples=40)
@given(vectors, angles)
def test_turn_onto(d: np.ndarray, q: float) -> None:
    if np.hypot(*d[:2]) < 0.05:
        return
    turn = angle_onto(d, turned(q, d))
    assert abs(turn.c - np.cos(q)) < 1e-12
    assert abs(turn.s - np.sin(q)) < 1e-12
    assert_same(rotate(turn, d), turned(q, d), 1e-13)
    assert np.max(np.abs(rotate_back(turn, turned(q, d)) - d)) < 1e-12


@settings(max_examples=60)
@given(vectors, seeds)
def test_ball_aim(d: np.ndarray, seed: int) -> None:
    """Takes d to u by the shortest turn from the reference: by the angle between the two directions."""
    if np.linalg.norm(d) < 0.05:
        return
    rng = np.random.default_rng(seed)
    reference = Rotation.random(random_state=rng)
    u = Rotation.random(random_state=rng).apply(d)
    d0 = reference.apply(d)
    cosine = float(d0 @ u / (d @ d))
    if cosine < -1.0 + 1e-4:
        return
    quat = spherical_aim(d, u, reference.as_quat())
    found = Rotation.from_quat(quat)
    assert np.linalg.norm(quat) == pytest.approx(1.0, abs=1e-13)
    assert np.max(np.abs(found.apply(d) - u)) < 1e-10
    # The size of a rotation loses digits near none and near half a turn.
    turn = float((found * reference.inv()).magnitude())
    assert turn == pytest.approx(np.arccos(np.clip(cosine, -1.0, 1.0)), abs=1e-6)


def test_over_batches() -> None:
    """The same formulas over batches, sample by sample."""
    rng = np.random.default_rng(0)
    e, w = rng.normal(size=(2, 50, 3))
    length2 = np.linalg.norm(w - e, axis=1) ** 2 * rng.uniform(0.9, 1.1, 50)
    value, margin, _ = circle_to_point(
        from_samples(e, 1), from_samples(w, 1), from_samples(length2, 0)[()], 1
    )
    c, s, g = (to_samples(part) for part in (value.c, value.s, margin))
    for k in range(50):
        with np.errstate(invalid="ignore"):
            one, its_margin, _ = circle_to_point(e[k], w[k], length2[k], 1)
        np.testing.assert_allclose([c[k], s[k], g[k]], [one.c, one.s, its_margin], rtol=1e-14, atol=1e-14)
