"""Modes on a subspace against SciPy's generalised eigenvalues."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from nacelle.elastic.linear.eigen import modes_of


def spd(random: np.random.Generator, n: int) -> np.ndarray:
    A = random.normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


def test_modes_are_those_of_the_reduced_matrices() -> None:
    random = np.random.default_rng(0)
    M, K, N = spd(random, 7), spd(random, 7), random.normal(size=(7, 4))
    modes = modes_of(M, K, N, np.zeros((7, 0)))
    expected = scipy.linalg.eigh(N.T @ K @ N, N.T @ M @ N, eigvals_only=True)
    np.testing.assert_allclose(modes.values, expected, rtol=1e-10)
    np.testing.assert_allclose(modes.shapes.T @ M @ modes.shapes, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(modes.shapes.T @ K @ modes.shapes, np.diag(expected), atol=1e-9)


def test_rigid_motions_are_exact_zeros() -> None:
    """Three masses on a line between two springs: w = 0, sqrt(k/m), sqrt(3 k/m)."""
    m, k = 2.0, 50.0
    K = k * np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    modes = modes_of(m * np.eye(3), K, np.eye(3), np.ones((3, 1)))
    assert modes.rigid == 1
    assert modes.values[0] == 0.0
    np.testing.assert_allclose(modes.values[1:], [k / m, 3.0 * k / m], rtol=1e-12)
    np.testing.assert_allclose(modes.shapes[:, 0], modes.shapes[0, 0])


def test_directions_without_mass_follow_statically() -> None:
    """A massless point between two springs in series: k1 k2 / (k1 + k2) on the mass."""
    k1, k2, m = 30.0, 60.0, 1.5
    K = np.array([[k1 + k2, -k2], [-k2, k2]])
    modes = modes_of(np.diag([0.0, m]), K, np.eye(2), np.zeros((2, 0)))
    np.testing.assert_allclose(modes.values, [k1 * k2 / (k1 + k2) / m], rtol=1e-12)
    np.testing.assert_allclose(modes.shapes[0] / modes.shapes[1], [k2 / (k1 + k2)], rtol=1e-12)


def test_only_rigid_motions() -> None:
    modes = modes_of(np.eye(2), np.zeros((2, 2)), np.eye(2), np.eye(2))
    assert modes.rigid == 2
    np.testing.assert_array_equal(modes.values, [0.0, 0.0])
