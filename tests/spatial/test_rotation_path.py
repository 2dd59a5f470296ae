"""Rotations in motion against SciPy, mpmath and differences."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from nacelle.spatial.rotation import (
    RotationMotion,
    compose_motions,
    fixed_axis_motion,
    make_quat_continuous,
    quat_conjugate,
    quat_exp,
    quat_log,
    quat_multiply,
    quat_rotate,
    rotation_vector_motion,
)

components = st.floats(-1, 1)
vectors = st.tuples(components, components, components).map(np.array)
lengths = st.one_of(st.floats(-12, 0).map(lambda p: 10.0**p), st.floats(0, 9), st.just(0.0))


def random_quats(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    quats = np.random.default_rng(seed).normal(size=(*shape, 4))
    return quats / np.linalg.norm(quats, axis=-1, keepdims=True)


def test_products_and_turned_vectors_are_those_of_scipy() -> None:
    a, b = random_quats(0, (50,)), random_quats(1, (50,))
    u = np.random.default_rng(2).normal(size=(50, 3))
    product = (Rotation.from_quat(a) * Rotation.from_quat(b)).as_matrix()
    np.testing.assert_allclose(Rotation.from_quat(quat_multiply(a, b)).as_matrix(), product, atol=1e-15)
    np.testing.assert_allclose(quat_rotate(a, u), Rotation.from_quat(a).apply(u), atol=3e-15)
    np.testing.assert_allclose(quat_rotate(quat_conjugate(a), quat_rotate(a, u)), u, atol=3e-15)


def test_batches_broadcast() -> None:
    a, b = random_quats(3, (4, 1)), random_quats(4, (5,))
    assert quat_multiply(a, b).shape == (4, 5, 4)
    assert quat_rotate(a, np.ones(3)).shape == (4, 1, 3)
    assert quat_exp(np.zeros((2, 0, 3))).shape == (2, 0, 4)


@given(vectors, st.floats(-300, 0))
def test_the_logarithm_undoes_the_exponential_at_every_size(v: np.ndarray, power: float) -> None:
    r = v * 10.0**power
    np.testing.assert_allclose(quat_log(quat_exp(r)), r, rtol=4e-15, atol=1e-310)


def test_the_logarithm_of_the_shorter_turn() -> None:
    quats = random_quats(5, (200,))
    expected = Rotation.from_quat(quats).as_rotvec()
    np.testing.assert_allclose(quat_log(quats), expected, atol=1e-14)
    np.testing.assert_allclose(quat_log(-quats), expected, atol=1e-14)
    np.testing.assert_allclose(quat_exp(quat_log(quats, shorter=False)), quats, atol=1e-15)


def test_signs_become_continuous() -> None:
    angles = np.linspace(0, 20, 300)
    quats = quat_exp(angles[:, None] * np.array([0.6, 0.0, 0.8]))
    signs = np.where(np.random.default_rng(6).uniform(size=300) < 0.5, -1.0, 1.0)
    signs[0] = 1.0
    np.testing.assert_array_equal(make_quat_continuous(signs[:, None] * quats), quats)


def exact_motion(r: list[float], dr: list[float], ddr: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """w and w' of exp(skew(r + dr t + ddr t^2 / 2)) at t = 0, by differentiating matrices in 60 digits."""
    with mpmath.workdps(60):

        def matrix(t: mpmath.mpf) -> mpmath.matrix:
            x, y, z = (
                mpmath.mpf(a) + mpmath.mpf(b) * t + mpmath.mpf(c) * t * t / 2
                for a, b, c in zip(r, dr, ddr, strict=True)
            )
            K = mpmath.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
            angle = mpmath.sqrt(x * x + y * y + z * z)
            if angle == 0:
                return mpmath.eye(3)
            return mpmath.eye(3) + mpmath.sin(angle) / angle * K + (1 - mpmath.cos(angle)) / angle**2 * K * K

        # Differences with a tiny step are exact to 20 digits here.
        h = mpmath.mpf(10) ** -12
        before, here, after = matrix(-h), matrix(mpmath.mpf(0)), matrix(h)
        dR = (after - before) / (2 * h)
        ddR = (after - 2 * here + before) / h**2
        W, A = dR * here.T, ddR * here.T  # R'' R^T = skew(w') + skew(w)^2
        w = np.array(
            [float((W[2, 1] - W[1, 2]) / 2), float((W[0, 2] - W[2, 0]) / 2), float((W[1, 0] - W[0, 1]) / 2)]
        )
        dw = np.array(
            [float((A[2, 1] - A[1, 2]) / 2), float((A[0, 2] - A[2, 0]) / 2), float((A[1, 0] - A[0, 1]) / 2)]
        )
        return w, dw


@given(vectors.filter(lambda v: np.linalg.norm(v) > 1e-2), lengths, vectors, vectors)
def test_angular_velocity_of_a_rotation_vector(
    direction: np.ndarray, length: float, dr: np.ndarray, ddr: np.ndarray
) -> None:
    r = direction / np.linalg.norm(direction) * length
    motion = rotation_vector_motion(r, dr, ddr)
    w, dw = exact_motion(list(r), list(dr), list(ddr))
    np.testing.assert_allclose(motion.quat, quat_exp(r), atol=0)
    np.testing.assert_allclose(motion.w, w, rtol=0, atol=4e-15)
    np.testing.assert_allclose(motion.dw, dw, rtol=0, atol=2e-14)


@pytest.mark.parametrize("angle", [np.sqrt(10.0) - 1e-9, np.sqrt(10.0) + 1e-9])
def test_series_and_closed_form_meet(angle: float) -> None:
    r, dr, ddr = angle * np.array([0.48, 0.6, 0.64]), np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, 2.0])
    motion = rotation_vector_motion(r, dr, ddr)
    w, dw = exact_motion(list(r), list(dr), list(ddr))
    np.testing.assert_allclose(motion.w, w, atol=1e-14)
    np.testing.assert_allclose(motion.dw, dw, atol=1e-13)


def test_a_turn_is_a_rotation_vector_along_a_line() -> None:
    r = np.array([0.3, -1.2, 0.7])
    s, ds, dds = np.random.default_rng(7).normal(size=(3, 20))
    turn = fixed_axis_motion(r, s, ds, dds)
    full = rotation_vector_motion(s[:, None] * r, ds[:, None] * r, dds[:, None] * r)
    for found, expected in zip(turn, full, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_composition_differentiates_the_product() -> None:
    rng = np.random.default_rng(8)
    c, d = rng.normal(size=(2, 3, 3))

    def motion(t: np.ndarray) -> RotationMotion:
        def part(k: np.ndarray) -> RotationMotion:
            return rotation_vector_motion(
                k[0] + k[1] * t[:, None] + k[2] * t[:, None] ** 2,
                k[1] + 2 * k[2] * t[:, None],
                2 * k[2] + 0 * t[:, None],
            )

        return compose_motions(part(c), part(d))

    h = 1e-3
    times = 0.2 + h * np.arange(-4, 5)
    weights = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840 / h
    all_of_it = motion(times)
    here = motion(np.array([0.2]))
    w = 2 * quat_multiply(weights @ all_of_it.quat, quat_conjugate(here.quat[0]))[:3]
    np.testing.assert_allclose(w, here.w[0], atol=1e-11)
    np.testing.assert_allclose(weights @ all_of_it.w, here.dw[0], atol=1e-10)
