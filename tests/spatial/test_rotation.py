"""Rotations against SciPy, and over every kind of scalar."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.rotation import (
    frame_from_two_axes,
    frame_with_z,
    quat_from_rotation,
    quat_from_vector,
    quat_product,
    rotation_axis_angle,
    rotation_quat,
    rotation_rpy,
    rotation_x,
    rotation_y,
    rotation_z,
    skew,
)
from support.compare import assert_same
from support.symbol import symbols, values

angles = st.floats(-7, 7)
components = st.floats(-1, 1)
vectors = st.tuples(components, components, components).map(np.array)
long_vectors = vectors.filter(lambda v: np.linalg.norm(v) > 1e-3)
unit_vectors = long_vectors.map(lambda v: v / np.linalg.norm(v))
quaternions = (
    st.tuples(components, components, components, components)
    .map(np.array)
    .filter(lambda q: np.linalg.norm(q) > 1e-3)
    .map(lambda q: q / np.linalg.norm(q))
)


def assert_rotation(R: np.ndarray) -> None:
    assert_same(R.T @ R, np.eye(3), 1e-14)
    assert np.linalg.det(R) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize(("name", "function"), [("x", rotation_x), ("y", rotation_y), ("z", rotation_z)])
@given(angle=angles)
def test_about_an_axis(name: str, function: Callable[[float], np.ndarray], angle: float) -> None:
    assert_same(function(angle), Rotation.from_euler(name, angle).as_matrix(), 1e-15)


@given(vectors, vectors)
def test_skew(v: np.ndarray, w: np.ndarray) -> None:
    np.testing.assert_allclose(skew(v) @ w, np.cross(v, w), rtol=0, atol=4e-16)
    np.testing.assert_array_equal(skew(v), -skew(v).T)


@given(unit_vectors, angles)
def test_axis_angle(axis: np.ndarray, angle: float) -> None:
    assert_same(rotation_axis_angle(axis, angle), Rotation.from_rotvec(angle * axis).as_matrix(), 2e-15)


@given(st.tuples(angles, angles, angles).map(np.array))
def test_rpy(rpy: np.ndarray) -> None:
    """About fixed axes: roll first, then pitch, then yaw."""
    assert_same(rotation_rpy(rpy), Rotation.from_euler("xyz", rpy).as_matrix(), 2e-15)


@given(quaternions)
def test_quat(quat: np.ndarray) -> None:
    R = rotation_quat(quat)
    assert_same(R, Rotation.from_quat(quat).as_matrix(), 2e-15)
    assert_same(rotation_quat(-quat), R, 0.0)


@given(quaternions, quaternions)
def test_quat_product(a: np.ndarray, b: np.ndarray) -> None:
    product = quat_product(a, b)
    assert_same(rotation_quat(product), rotation_quat(a) @ rotation_quat(b), 4e-15)
    assert np.linalg.norm(product) == pytest.approx(1.0, abs=1e-15 * 4)


@given(quaternions)
@example(np.array([1.0, 0.0, 0.0, 0.0]))
@example(np.array([0.0, 1.0, 0.0, 0.0]))
@example(np.array([0.0, 0.0, 1.0, 0.0]))
@example(np.array([0.0, 0.0, 0.0, 1.0]))
@example(np.array([0.5, 0.5, 0.5, 0.5]))
@example(np.array([0.6, 0.8, 0.0, 1e-9]) / np.linalg.norm([0.6, 0.8, 0.0, 1e-9]))
def test_quat_from_rotation(quat: np.ndarray) -> None:
    """There and back, also at half turns, where the scalar part vanishes."""
    back = quat_from_rotation(rotation_quat(quat))
    assert back[3] >= 0.0
    assert np.linalg.norm(back) == pytest.approx(1.0, abs=4e-16)
    assert_same(rotation_quat(back), rotation_quat(quat), 4e-15)
    nearest = min(np.max(np.abs(back - quat)), np.max(np.abs(back + quat)))
    assert nearest < 4e-15


@given(vectors.map(lambda v: 3.0 * v))
@example(np.zeros(3))
@example(np.array([1e-9, 0.0, 0.0]))
@example(np.array([1e-150, 1e-150, 0.0]))
@example(np.array([0.0, math.pi, 0.0]))
def test_quat_from_vector(vector: np.ndarray) -> None:
    quat = quat_from_vector(vector)
    assert np.linalg.norm(quat) == pytest.approx(1.0, abs=4e-16)
    assert_same(rotation_quat(quat), Rotation.from_rotvec(vector).as_matrix(), 2e-15)
    # Small turns keep their direction: half the vector.
    if np.linalg.norm(vector) < 1e-6:
        np.testing.assert_allclose(quat[:3], vector / 2, rtol=1e-12, atol=1e-300)


@given(long_vectors, long_vectors)
def test_frame_from_two_axes(first: np.ndarray, second: np.ndarray) -> None:
    across = np.cross(first, second)
    assume(np.linalg.norm(across) > 1e-2 * np.linalg.norm(first) * np.linalg.norm(second))
    R = frame_from_two_axes(first, second)
    # Two axes at 1/100 rad leave 14 of 16 digits of the second one.
    assert_same(R.T @ R, np.eye(3), 1e-13)
    assert_same(R[:, 0], first / np.linalg.norm(first), 1e-15)
    assert R[:, 1] @ second > 0
    assert abs(R[:, 2] @ second) < 1e-13 * np.linalg.norm(second)
    assert np.linalg.det(R) > 0


@given(long_vectors)
def test_frame_with_z(axis: np.ndarray) -> None:
    R = frame_with_z(axis)
    assert_rotation(R)
    assert_same(R[:, 2], axis / np.linalg.norm(axis), 1e-15)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("k", range(3))
def test_frames_of_coordinate_axes_are_exact(k: int, sign: float) -> None:
    """No 6e-17 where the axes are coordinate axes: every entry is 0, 1 or -1, and no -0."""
    axis = np.zeros(3)
    axis[k] = sign
    R = frame_with_z(axis)
    assert set(np.abs(R).ravel()) == {0.0, 1.0}
    assert not np.any(np.signbit(R) & (R == 0.0))
    assert_rotation(R)
    for j in range(3):
        if j != k:
            second = np.zeros(3)
            second[j] = 1.0
            assert set(np.abs(frame_from_two_axes(axis, second)).ravel()) == {0.0, 1.0}


def test_frame_with_z_of_z_is_the_identity() -> None:
    np.testing.assert_array_equal(frame_with_z(np.array([0.0, 0.0, 2.0])), np.eye(3))


# ---------------------------------------------------------------------------------------- scalars

AXIS = np.array([2.0, -1.0, 2.0]) / 3.0
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "rotation_x": (lambda u: rotation_x(u[0]), 1),
    "rotation_y": (lambda u: rotation_y(u[0]), 1),
    "rotation_z": (lambda u: rotation_z(u[0]), 1),
    "skew": (skew, 3),
    "rotation_axis_angle": (lambda u: rotation_axis_angle(AXIS, u[0]), 1),
    "rotation_rpy": (rotation_rpy, 3),
    "rotation_quat": (rotation_quat, 4),
    "quat_product": (lambda u: quat_product(u[:4], u[4:]), 8),
}


@pytest.mark.parametrize("name", FUNCTIONS)
class TestScalars:
    def test_mpmath(self, name: str) -> None:
        function, size = FUNCTIONS[name]
        x = np.random.default_rng(1).normal(size=size)
        u = np.array([mpmath.mpf(float(v)) for v in x], dtype=object)
        result = function(u)
        assert any(isinstance(entry, mpmath.mpf) for entry in np.ravel(result))
        assert_same(np.vectorize(float)(result), function(x), 1e-15)

    def test_symbols(self, name: str) -> None:
        function, size = FUNCTIONS[name]
        x = np.random.default_rng(2).normal(size=size)
        assert_same(values(function(symbols(x))), function(x), 1e-15)

    def test_batches(self, name: str) -> None:
        function, size = FUNCTIONS[name]
        x = np.random.default_rng(4).normal(size=(3, size))
        assert_same(to_samples(function(from_samples(x, 1))), [function(sample) for sample in x], 1e-15)
