"""Pseudo-inertia matrices: sums over particles, the format's own check, frames and units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.identification.consistency import pseudo_inertia as pi
from nacelle.spatial.inertia import inertia_faults, parameters_from_com, transform_parameters
from nacelle.spatial.rotation import skew

seeds = st.integers(0, 10**6)
ALL = (0, 1, 2)


def _cloud(rng, count=6):
    """Ten parameters and particles of a body."""
    dm, r = rng.uniform(0.1, 1.0, count), rng.normal(size=(count, 3))
    I = sum(-m * skew(p) @ skew(p) for m, p in zip(dm, r, strict=True))
    ten = np.array([dm.sum(), *(dm @ r), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])
    return ten, dm, r


@given(seeds)
def test_a_sum_over_particles(seed):
    ten, dm, r = _cloud(np.random.default_rng(seed))
    points = np.column_stack([r, np.ones(len(r))])
    assert np.allclose(pi.pseudo_inertia(ten), (points * dm[:, None]).T @ points, rtol=1e-12)


@given(seeds)
def test_positive_where_the_format_accepts(seed):
    """Random principal moments, possible or not: both checks say the same."""
    rng = np.random.default_rng(seed)
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    ten = parameters_from_com(
        rng.uniform(0.1, 2), rng.normal(size=3), R @ np.diag(rng.uniform(-0.2, 1, 3)) @ R.T
    )
    least = np.linalg.eigvalsh(pi.pseudo_inertia(ten))[0]
    if abs(least) > 1e-6:
        assert (least > 0.0) == (not inertia_faults(ten))


@given(seeds)
def test_the_normaliser_takes_the_body_to_the_unit_matrix(seed):
    ten, *_ = _cloud(np.random.default_rng(seed))
    B = pi.normaliser(ten, ALL)
    assert np.allclose(B @ pi.pseudo_inertia(ten) @ B.T, np.eye(4), atol=1e-8)


@given(seeds, st.floats(0.01, 100.0), st.floats(0.01, 100.0))
def test_the_distance_depends_on_no_frame_and_no_unit(seed, length, mass):
    rng = np.random.default_rng(seed)
    (ten, *_), (other, *_) = _cloud(rng), _cloud(rng)
    R, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    R = R * np.sign(np.linalg.det(R))
    p = rng.normal(size=3)
    unit = mass * length ** np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])

    def distance(a, b):
        B = pi.normaliser(a, ALL)
        return np.linalg.norm(B @ (pi.pseudo_inertia(b) - pi.pseudo_inertia(a)) @ B.T)

    moved = [transform_parameters(R, p, body) * unit for body in (ten, other)]
    assert distance(*moved) == pytest.approx(distance(ten, other), rel=1e-6)
    # The same by traces, without a factor: tr((P^-1 D)^2).
    P, D = pi.pseudo_inertia(ten), pi.pseudo_inertia(other - ten)
    X = np.linalg.solve(P, D)
    assert distance(ten, other) ** 2 == pytest.approx(np.trace(X @ X), rel=1e-6)


@given(seeds, st.sampled_from([1, 2, 3, 4]))
def test_packed_matrices_keep_the_scalar_product(seed, n):
    rng = np.random.default_rng(seed)
    A, B = (M + M.T for M in rng.normal(size=(2, n, n)))
    assert pi.packed(A) @ pi.packed(B) == pytest.approx(np.trace(A @ B))
    assert np.allclose(pi.unpacked(pi.packed(A)), A)
    assert pi.packed_order(len(pi.packed(A))) == n


def test_thickness_of_flat_thin_and_full_bodies():
    rod = parameters_from_com(2.0, np.array([0.1, 0, 0]), np.diag([0.0, 0.02, 0.02]))
    plate = parameters_from_com(2.0, np.zeros(3), np.diag([0.01, 0.02, 0.03]))
    box = parameters_from_com(2.0, np.zeros(3), np.diag([0.02, 0.02, 0.03]))
    point = np.array([2.0, *np.zeros(9)])
    assert pi.added_thickness(box, ALL, 1.0) == 0.0
    for body in (rod, plate, point):
        more = pi.added_thickness(body, ALL, 1.0)
        assert more > 0.0
        full = pi.thickened(body, ALL, more)
        assert np.linalg.eigvalsh(pi.central_second_moments(full))[0] == pytest.approx(more, rel=1e-6)
        assert pi.normaliser(full, ALL).shape == (4, 4)
    along = pi.thickened(point, (0,), 0.5)
    assert along[4:].tolist() == [0.0, 0.0, 0.5, 0.0, 0.0, 0.5]
    assert pi.added_thickness(point, (), 1.0) == 0.0
