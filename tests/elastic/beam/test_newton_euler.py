"""The generalised Newton-Euler model of a beam against Lagrange's equations in forty digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import nacelle
from nacelle.elastic.beam.newton_euler import (
    ElasticMotion,
    FrameMotion,
    beam_forces,
    elastic_forces,
    kinetic_energy,
    mass_matrix,
    strain_energy,
)
from nacelle.elastic.beam.shapes import Shapes
from nacelle.elastic.extended import extended
from support.beam_lagrangian import FreeBeam, numbers, rotation, turning
from support.flexible_robots import flexible, prrrp

Array = np.ndarray
GRAVITY = np.array([3.0, -5.0, 7.0])


def beam_of(word: str, **beam: object) -> Shapes:
    """A beam of a robot: in the plane, or in space with moments about all axes at both ends."""
    if word == "plane":
        return extended(prrrp(**beam)).shapes[0]
    if word == "clamped-plane":
        return extended(flexible("fivebar", ("proximal",), **beam)).shapes[0]
    section = {"rectangle": (0.012, 0.02)}
    robot = flexible(
        nacelle.load("delta"), ("leg1.arm",) if word == "arm" else ("leg1.rod-a",), section=section, **beam
    )
    return extended(robot).shapes[0]


CASES = {
    "plane-modes": ("plane", {}),
    "plane-hermite-clamped": (
        "plane",
        {"shapes": "hermite", "number": 1, "frame": "clamped", "geometric": False},
    ),
    "plane-end-modes": ("clamped-plane", {"number": 1}),
    "arm-modes": ("arm", {"number": 1}),
    "arm-modes-clamped": ("arm", {"number": 1, "frame": "clamped", "shear": True}),
    "arm-hermite": ("arm", {"shapes": "hermite", "number": 2, "shear": True}),
    "arm-hermite-clamped": ("arm", {"shapes": "hermite", "number": 1, "frame": "clamped"}),
    "rod-modes": ("rod", {}),
}


def states(shapes: Shapes) -> tuple[Array, Array, Array]:
    """Coordinates [x; angles; q] with large deflections, their rates and accelerations."""
    random = np.random.default_rng(shapes.n)
    X, V, A = random.standard_normal((3, 6 + shapes.n))
    X[6:] *= 0.05
    return X, V, A


@pytest.mark.costly
@pytest.mark.parametrize("case", CASES)
def test_lagrange(case: str) -> None:
    word, options = CASES[case]
    shapes = beam_of(word, **options)
    assert shapes.n >= 2
    X, V, A = states(shapes)
    with mpmath.workdps(50):
        free = FreeBeam(shapes, numbers(GRAVITY))
        x, v, a = numbers(X), numbers(V), numbers(A)
        expected = free.required(x, v, a)
        energy, strain = free.kinetic(x, v), FreeBeam(shapes, numbers(np.zeros(3))).potential(x)
        R, E = rotation(x[3:6]), turning(x[3:6])
        h = mpmath.mpf(10) ** -14
        E_dot = (turning(x[3:6] + h * v[3:6]) - turning(x[3:6] - h * v[3:6])) / (2 * h)
        w, w_dot = E @ v[3:6], E @ a[3:6] + E_dot @ v[3:6]
        # The model in forty digits: what differs are its integrals, rounded to sixteen.
        frame = FrameMotion(R.T @ (a[:3] - numbers(GRAVITY)), w, w_dot)
        f, n, s = beam_forces(shapes, frame, ElasticMotion(x[6:], v[6:], a[6:]))
        own = elastic_forces(shapes, x[6:], v[6:])
        found = np.concatenate([R @ f, E.T @ n, s + own])
        for part in (slice(0, 3), slice(3, 6), slice(6, None)):
            size = max(abs(value) for value in expected[part])
            assert max(abs(found[part] - expected[part])) < 1e-12 * size
        elastic = ElasticMotion(x[6:], v[6:], a[6:])
        assert abs(kinetic_energy(shapes, R.T @ v[:3], w, elastic) - energy) < 1e-13 * energy
        assert abs(strain_energy(shapes, x[6:]) - strain) < 1e-12 * strain


@pytest.mark.parametrize("case", ["plane-modes", "arm-modes-clamped", "arm-hermite"])
def test_mass_matrix_is_that_of_the_energy(case: str) -> None:
    word, options = CASES[case]
    shapes = beam_of(word, **options)
    X, V, A = states(shapes)
    q = X[6:]
    M = mass_matrix(shapes, q)
    np.testing.assert_allclose(M, M.T, rtol=1e-14)
    assert np.min(np.linalg.eigvalsh(M / np.sqrt(np.outer(np.diag(M), np.diag(M))))) > 0.0
    energy = kinetic_energy(shapes, V[:3], V[3:6], ElasticMotion(q, V[6:], A[6:]))
    np.testing.assert_allclose(0.5 * V @ M @ V, energy, rtol=1e-14)
    still = np.zeros(3)
    f, n, s = beam_forces(shapes, FrameMotion(A[:3], still, A[3:6]), ElasticMotion(q, 0.0 * q, A[6:]))
    np.testing.assert_allclose(
        np.concatenate([f, n, s]), M @ A, rtol=1e-12, atol=1e-14 * np.max(np.abs(M @ A))
    )


@pytest.mark.parametrize("damping", [{"ratio": 0.02}, {"rayleigh": {"mass": 3.0, "stiffness": 1e-5}}])
def test_damping(damping: dict[str, object]) -> None:
    shapes = beam_of("arm", number=2, damping=damping)
    own = shapes.damping
    np.testing.assert_allclose(own, own.T, rtol=1e-9, atol=1e-12 * np.max(np.abs(own)))
    values, vectors = np.linalg.eig(np.linalg.solve(shapes.mass, shapes.linear_stiffness))
    w = np.sqrt(values.real)
    for k in range(shapes.n):
        mode = vectors[:, k].real
        ratio = (mode @ own @ mode) / (2.0 * w[k] * (mode @ shapes.mass @ mode))
        expected = 0.02 if "ratio" in damping else 0.5 * (3.0 / w[k] + 1e-5 * w[k])
        assert ratio == pytest.approx(expected, rel=1e-9)
    q, rate = np.full(shapes.n, 1e-3), np.linspace(-1.0, 1.0, shapes.n)
    extra = elastic_forces(shapes, q, rate) - elastic_forces(shapes, q, 0.0 * rate)
    np.testing.assert_allclose(extra, own @ rate, rtol=1e-9, atol=1e-9 * np.max(np.abs(own @ rate)))
