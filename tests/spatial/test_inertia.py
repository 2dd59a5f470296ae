"""Inertia: ten parameters against clouds of mass points, and what cannot be a body."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.inertia import (
    inertia_about_com,
    inertia_faults,
    inertia_matrix,
    is_axisymmetric,
    parameters_from_com,
    parameters_from_frame,
    transform_parameters,
)
from support.compare import assert_same
from support.random_robots.loads import spatial_inertia
from support.random_robots.numbers import random_pose
from support.symbol import symbols, values

generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)


class Cloud:
    """Mass points: their sums are what the parameters must be."""

    def __init__(self, rng: np.random.Generator, count: int = 5) -> None:
        self.masses = rng.uniform(0.1, 2.0, count)
        self.points = rng.uniform(-1, 1, (count, 3)) + rng.uniform(-1, 1, 3)

    def moved(self, R: np.ndarray, p: np.ndarray) -> Cloud:
        cloud = object.__new__(Cloud)
        cloud.masses, cloud.points = self.masses, self.points @ R.T + p
        return cloud

    @property
    def mass(self) -> float:
        return float(self.masses.sum())

    @property
    def com(self) -> np.ndarray:
        return self.masses @ self.points / self.mass

    def inertia(self, about: np.ndarray) -> np.ndarray:
        arms = self.points - about
        return sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(self.masses, arms, strict=True))

    @property
    def ten(self) -> np.ndarray:
        I = self.inertia(np.zeros(3))
        first = self.mass * self.com
        return np.array([self.mass, *first, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


@given(generators)
def test_parameters(rng: np.random.Generator) -> None:
    cloud = Cloud(rng)
    about_com = cloud.inertia(cloud.com)
    assert_same(parameters_from_com(cloud.mass, cloud.com, about_com), cloud.ten, 1e-14)
    about_frame = cloud.inertia(np.zeros(3))
    assert_same(parameters_from_frame(cloud.mass, cloud.mass * cloud.com, about_frame), cloud.ten, 1e-15)
    assert_same(inertia_matrix(cloud.ten), about_frame, 1e-15)
    # Taken about the frame and brought back to the centre of mass: relative to the former.
    assert np.max(np.abs(inertia_about_com(cloud.ten) - about_com)) < 1e-14 * np.max(about_frame)


@given(generators)
def test_spatial_momentum(rng: np.random.Generator) -> None:
    cloud = Cloud(rng)
    v, w = rng.normal(size=(2, 3))
    momenta = cloud.masses[:, None] * (v + np.cross(w, cloud.points))
    expected = np.concatenate([momenta.sum(axis=0), np.cross(cloud.points, momenta).sum(axis=0)])
    assert_same(spatial_inertia(cloud.ten) @ np.concatenate([v, w]), expected, 1e-13)


@given(generators)
def test_transform(rng: np.random.Generator) -> None:
    """The same mass points seen from another frame."""
    cloud, pose = Cloud(rng), random_pose(rng)
    assert_same(transform_parameters(pose.R, pose.p, cloud.ten), cloud.moved(pose.R, pose.p).ten, 1e-14)


@given(generators)
def test_transform_by_a_reflection(rng: np.random.Generator) -> None:
    """Mirrored legs: the mass points are reflected."""
    cloud = Cloud(rng)
    for axis in range(3):
        M = np.eye(3)
        M[axis, axis] = -1.0
        expected = cloud.moved(M, np.zeros(3)).ten
        assert_same(transform_parameters(M, np.zeros(3), cloud.ten), expected, 1e-14)


def test_massless() -> None:
    nothing = np.zeros(10)
    assert inertia_faults(nothing) == []
    np.testing.assert_array_equal(inertia_about_com(nothing), np.zeros((3, 3)))
    assert not np.any(transform_parameters(np.eye(3), np.ones(3), nothing))


# ------------------------------------------------------------------------------------------ faults


@given(generators, st.integers(1, 6))
def test_clouds_are_bodies(rng: np.random.Generator, count: int) -> None:
    """Any cloud of mass points is a body: one point, a rod, a plate and all others, from any frame."""
    cloud, pose = Cloud(rng, count), random_pose(rng)
    assert inertia_faults(cloud.ten) == []
    assert inertia_faults(transform_parameters(pose.R, pose.p, cloud.ten)) == []


def body(
    *moments: float, com: tuple[float, ...] = (0.2, -0.1, 0.3), R: np.ndarray | None = None
) -> np.ndarray:
    R = np.eye(3) if R is None else R
    return parameters_from_com(2.0, np.array(com), R @ np.diag(moments) @ R.T)


@given(generators)
def test_triangle_inequality(rng: np.random.Generator) -> None:
    R = random_pose(rng).R
    assert inertia_faults(body(1.0, 2.0, 3.0, R=R)) == []
    assert inertia_faults(body(1.0, 2.0, 2.9, R=R)) == []
    words = inertia_faults(body(1.0, 2.0, 3.001, R=R))
    assert len(words) == 1
    assert "triangle" in words[0]


@given(generators)
def test_negative_moments(rng: np.random.Generator) -> None:
    words = inertia_faults(body(-0.1, 2.0, 2.0, R=random_pose(rng).R))
    assert len(words) == 1
    assert "not positive" in words[0]


def test_mass_too_large_for_the_inertia() -> None:
    """I about the frame is fine by itself, but less than what m c c demands."""
    ten = parameters_from_frame(2.0, np.array([1.0, 0.0, 0.0]), np.diag([0.1, 0.4, 0.4]))
    assert "not positive" in inertia_faults(ten)[0]


def test_negative_mass() -> None:
    assert "negative" in inertia_faults(np.array([-1.0, *[0.0] * 9]))[0]


@pytest.mark.parametrize("k", range(1, 10))
def test_moments_without_mass(k: int) -> None:
    ten = np.zeros(10)
    ten[k] = 0.1
    assert "mass is zero" in inertia_faults(ten)[0]


# ----------------------------------------------------------------------------------------- scalars


def test_symbols_and_mpmath() -> None:
    """Parameters may be run-time inputs: the matrices take any scalar."""
    cloud = Cloud(np.random.default_rng(3))
    pose = random_pose(np.random.default_rng(4))
    precise = np.vectorize(lambda v: mpmath.mpf(float(v)), otypes=[object])
    expected = transform_parameters(pose.R, pose.p, cloud.ten)
    assert_same(values(inertia_matrix(symbols(cloud.ten))), inertia_matrix(cloud.ten), 0.0)
    assert_same(values(spatial_inertia(symbols(cloud.ten))), spatial_inertia(cloud.ten), 0.0)
    assert_same(values(transform_parameters(pose.R, pose.p, symbols(cloud.ten))), expected, 1e-14)
    moving = transform_parameters(symbols(pose.R), symbols(pose.p), cloud.ten)
    assert_same(values(moving), expected, 1e-14)
    exact = transform_parameters(precise(pose.R), precise(pose.p), precise(cloud.ten))
    assert_same(np.vectorize(float)(exact), expected, 1e-14)
    exact_matrix = spatial_inertia(precise(cloud.ten))
    assert_same(np.vectorize(float)(exact_matrix), spatial_inertia(cloud.ten), 1e-15)


def test_batches() -> None:
    """Many sets of parameters at once, as in identification."""
    rng = np.random.default_rng(6)
    clouds = [Cloud(rng) for _ in range(3)]
    poses = [random_pose(rng) for _ in range(3)]
    ten = from_samples([cloud.ten for cloud in clouds], 1)
    R, p = from_samples([pose.R for pose in poses], 2), from_samples([pose.p for pose in poses], 1)
    assert_same(to_samples(inertia_matrix(ten)), [inertia_matrix(cloud.ten) for cloud in clouds], 0.0)
    assert_same(to_samples(spatial_inertia(ten)), [spatial_inertia(cloud.ten) for cloud in clouds], 0.0)
    expected = [
        transform_parameters(pose.R, pose.p, cloud.ten) for cloud, pose in zip(clouds, poses, strict=True)
    ]
    assert_same(to_samples(transform_parameters(R, p, ten)), expected, 1e-14)
    fixed = [transform_parameters(pose.R, pose.p, clouds[0].ten) for pose in poses]
    assert_same(to_samples(transform_parameters(R, p, clouds[0].ten)), fixed, 1e-14)


@pytest.mark.parametrize("off", [0.0, 1e-14, 1e-9])
def test_axisymmetric_bodies(off: float) -> None:
    """A rod about a slanted axis through its end, in axes of its own that are anywhere."""
    rng = np.random.default_rng(4)
    R = Rotation.random(random_state=rng).as_matrix()
    axis = R[:, 2]
    for com, about_com in (
        (np.array([off, 0.0, 0.2]), np.diag([0.03, 0.03, 0.001])),
        (np.array([0.0, 0.0, 0.2]), np.diag([0.03 * (1.0 + off), 0.03, 0.001])),
        (np.array([0.0, 0.0, 0.2]), np.diag([0.03, 0.03, 0.001]) + 0.03 * off * (np.eye(3)[[2, 1, 0]])),
    ):
        parameters = parameters_from_com(1.3, R @ com, R @ about_com @ R.T)
        assert is_axisymmetric(parameters, axis, 0.4, 1e-12) == (off < 1e-12)
    assert is_axisymmetric(np.zeros(10), axis, 0.4, 1e-12)
