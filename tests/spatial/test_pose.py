"""Poses: a group, over every kind of scalar."""

from __future__ import annotations

import mpmath
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.pose import Pose
from support.compare import assert_same
from support.random_robots.numbers import random_pose
from support.symbol import symbols, values

generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def homogeneous(pose: Pose) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = pose.R, pose.p
    return T


@given(generators)
def test_composition_is_that_of_matrices(rng: np.random.Generator) -> None:
    a, b = random_pose(rng), random_pose(rng)
    assert_same(homogeneous(a @ b), homogeneous(a) @ homogeneous(b), 1e-15)


@given(generators)
def test_inverse(rng: np.random.Generator) -> None:
    a = random_pose(rng)
    assert_same(homogeneous(a.inverse()), np.linalg.inv(homogeneous(a)), 4e-15)
    assert_same(homogeneous(a @ a.inverse()), np.eye(4), 1e-15)
    assert_same(homogeneous(a.inverse() @ a), np.eye(4), 1e-15)


def test_batches() -> None:
    rng = np.random.default_rng(2)
    first, second = ([random_pose(rng) for _ in range(4)] for _ in range(2))
    still = random_pose(rng)
    a, b = (
        Pose(from_samples([p.R for p in poses], 2), from_samples([p.p for p in poses], 1))
        for poses in (first, second)
    )
    turning = Pose(a.R, np.zeros(3))
    sliding = Pose(np.eye(3), a.p)
    for many, single in (
        (a @ b, lambda p, q: p @ q),
        (a.inverse(), lambda p, q: p.inverse()),
        (still @ a, lambda p, q: still @ p),
        (a @ still, lambda p, q: p @ still),
        (still @ turning @ still, lambda p, q: still @ Pose(p.R, np.zeros(3)) @ still),
        (sliding @ turning @ b, lambda p, q: p @ q),
    ):
        expected = [single(p, q) for p, q in zip(first, second, strict=True)]
        assert_same(to_samples(many.R), [e.R for e in expected], 1e-15)
        assert_same(to_samples(many.p), [e.p for e in expected], 1e-15)


def test_mpmath_and_symbols() -> None:
    rng = np.random.default_rng(5)
    a, b = random_pose(rng), random_pose(rng)
    expected = a @ b.inverse()
    made = Pose(symbols(a.R), symbols(a.p)) @ Pose(symbols(b.R), symbols(b.p)).inverse()
    assert_same(values(made.R), expected.R, 1e-15)
    assert_same(values(made.p), expected.p, 1e-15)
    precise = np.vectorize(lambda v: mpmath.mpf(float(v)), otypes=[object])
    made = Pose(precise(a.R), precise(a.p)) @ b.inverse()
    assert all(isinstance(v, mpmath.mpf) for v in np.ravel(made.R))
    assert_same(np.vectorize(float)(made.R), expected.R, 1e-15)
    assert_same(np.vectorize(float)(made.p), expected.p, 1e-15)
