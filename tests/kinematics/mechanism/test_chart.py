"""The pose from x and back, and the maps between rates of its numbers and the twist."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from nacelle.kinematics.mechanism.chart import Chart
from nacelle.model.platform import Motion
from nacelle.model.robot import Robot
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation import skew
from nacelle.spatial.rotation_vector import left_jacobian, left_jacobian_bias, log_rotation, rotation_vector
from nacelle.spatial.scalar import Array
from support.compare import assert_same
from support.uncompiled import any_robot, difference, stencil

seeds = st.integers(0, 2**32 - 1)
# Zero, below and above the bound of the series, and large.
LENGTHS = (0.0, 1e-9, 1e-4, 0.0316, 0.0317, 0.3, 2.0, 3.1)
MOTIONS = (
    ("x", "y", "z"),
    ("x", "y", "z", "rz"),
    ("x", "y", "rz"),
    ("x", "z", "ry"),
    ("z", "rx", "ry"),
    ("z", "rx", "rz"),
    ("y", "ry", "rz"),
    ("rz",),
    ("rx", "ry", "rz"),
    ("x", "y", "z", "rx", "ry", "rz"),
)


def direction(seed: int) -> Array:
    v = np.random.default_rng(seed).normal(size=3)
    return v / np.linalg.norm(v)


@pytest.mark.parametrize("length", LENGTHS)
def test_rotation_vector(length: float) -> None:
    for seed in range(5):
        r = length * direction(seed)
        assert_same(rotation_vector(r), expm(skew(r)), 4e-15)
        assert_same(rotation_vector(r), Rotation.from_rotvec(r).as_matrix(), 1e-15)
        assert np.max(np.abs(log_rotation(rotation_vector(r)) - r)) < 1e-14


@pytest.mark.parametrize("length", LENGTHS)
def test_left_jacobian(length: float) -> None:
    """w = J(r) r' and its derivative, by differences of the rotation along r + t d + t^2 e / 2."""
    rng = np.random.default_rng(3)
    r, d, e = length * direction(1), rng.normal(size=3), rng.normal(size=3)
    t = stencil(np.zeros(1))[0]
    path = r + t[:, None] * d + 0.5 * t[:, None] ** 2 * e
    speed = d + t[:, None] * e
    w = np.stack([left_jacobian(a) @ b for a, b in zip(path, speed, strict=True)])
    R = np.stack([rotation_vector(a) for a in path])
    W = difference(R[None])[0] @ R[4].T
    assert_same(w[4], [W[2, 1], W[0, 2], W[1, 0]], 1e-12)
    dw = left_jacobian(r) @ e + left_jacobian_bias(r, d)
    assert_same(dw, difference(w[None])[0], 1e-11)


def with_motion(motion: tuple[str, ...], seed: int) -> Robot:
    """A robot that only serves for its reference pose and motion."""
    rng = np.random.default_rng(seed)
    reference = Pose(Rotation.random(random_state=rng).as_matrix(), rng.uniform(-1, 1, 3))
    return dataclasses.replace(any_robot("palida"), motion=Motion(motion), reference=reference, modes=())


@pytest.mark.parametrize("motion", MOTIONS, ids=" ".join)
@pytest.mark.parametrize("seed", range(4))
def test_reference_and_round_trip(motion: tuple[str, ...], seed: int) -> None:
    robot = with_motion(motion, seed)
    chart = Chart(robot)
    x0, rest0 = chart.reference
    assert len(rest0) == chart.dependent == 6 - len(motion)
    for given_rest in (None, rest0):
        again = chart.pose(x0, given_rest)
        assert_same(again.R, robot.reference.R, 1e-14)
        assert_same(again.p, robot.reference.p, 1e-15)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        # Any numbers near those of the reference: back to the same.
        x, rest = x0 + rng.uniform(-0.4, 0.4, x0.size), rest0 + rng.uniform(-0.4, 0.4, rest0.size)
        if chart.layout.quaternion is not None:
            x[chart.layout.quaternion] /= np.linalg.norm(x[chart.layout.quaternion])
        placed = chart.pose(x, rest)
        assert_same(placed.R @ placed.R.T, np.eye(3), 1e-14)
        x_again, rest_again = chart.coordinates(placed)
        if (
            chart.layout.quaternion is not None
            and x_again[chart.layout.quaternion] @ x[chart.layout.quaternion] < 0
        ):
            x_again[chart.layout.quaternion] *= -1.0
        turned = chart.pose(x_again, rest_again)
        assert_same(turned.R, placed.R, 1e-13)
        assert_same(turned.p, placed.p, 1e-15)
        if all(abs(value) < np.pi - 0.5 for value in (*x, *rest)):
            assert np.max(np.abs(x_again - x)) < 1e-12
            assert np.max(np.abs(rest_again - rest), initial=0.0) < 1e-12


@pytest.mark.parametrize("motion", [m for m in MOTIONS if len(m) < 6], ids=" ".join)
def test_twists_of_the_numbers(motion: tuple[str, ...]) -> None:
    """The platform's twist V = B x' + D r' and its derivative at constant rates, by differences."""
    if motion == ("rx", "ry", "rz"):
        return
    robot = with_motion(motion, 7)
    chart = Chart(robot)
    rng = np.random.default_rng(1)
    x0, rest0 = chart.reference
    x0, rest0 = x0 + rng.uniform(-0.2, 0.2, x0.size), rest0 + rng.uniform(-0.2, 0.2, rest0.size)
    dx, dr = rng.normal(size=x0.size), rng.normal(size=rest0.size)
    t = stencil(np.zeros(1))[0]
    poses = [chart.pose(x0 + s * dx, rest0 + s * dr) for s in t]
    W = difference(np.stack([p.R for p in poses])[None])[0] @ poses[4].R.T
    v = difference(np.stack([p.p for p in poses])[None])[0]
    twist = chart.twists(x0, rest0) @ dx + chart.dependent_twists(x0, rest0) @ dr
    assert_same(twist, [*v, W[2, 1], W[0, 2], W[1, 0]], 1e-11)
    twists = np.stack(
        [
            chart.twists(x0 + s * dx, rest0 + s * dr) @ dx
            + chart.dependent_twists(x0 + s * dx, rest0 + s * dr) @ dr
            for s in t
        ]
    )
    bias = chart.twist_bias(x0, rest0, dx, dr)
    assert np.max(np.abs(bias - difference(twists[None])[0])) < 1e-10


@pytest.mark.parametrize("motion", [("z", "rx", "ry"), ("x", "y", "rz"), ("x", "y", "z")], ids=" ".join)
def test_over_batches(motion: tuple[str, ...]) -> None:
    chart = Chart(with_motion(motion, 2))
    rng = np.random.default_rng(5)
    x0, rest0 = chart.reference
    x, rest = x0 + rng.uniform(-0.3, 0.3, (6, x0.size)), rest0 + rng.uniform(-0.3, 0.3, (6, rest0.size))
    placed = chart.pose(from_samples(x, 1), from_samples(rest, 1))
    R, p = to_samples(placed.R), to_samples(placed.p)
    for k in range(6):
        one = chart.pose(x[k], rest[k])
        assert_same(R[k], one.R, 1e-15)
        assert_same(p[k], one.p, 1e-15)


@given(seeds)
def test_point_nacelle_has_no_orientation(seed: int) -> None:
    robot = any_robot("fivebar")
    chart = Chart(robot)
    x = np.random.default_rng(seed).normal(size=2)
    placed = chart.pose(x)
    np.testing.assert_array_equal(placed.R, np.eye(3))
    np.testing.assert_array_equal(chart.coordinates(placed)[0], x)
    np.testing.assert_array_equal(chart.coordinates(placed)[1], robot.reference.p[2:])
