"""The wrench of a body against the sum over its mass points."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.wrench import Wrench, inertial_wrench
from nacelle.spatial.inertia import parameters_from_com


@pytest.mark.parametrize("seed", range(5))
def test_a_body_is_its_mass_points(seed: int) -> None:
    """Newton for every point: a + w' x r + w x (w x r)."""
    rng = np.random.default_rng(seed)
    masses, r = rng.uniform(0.1, 1.0, 7), rng.normal(size=(7, 3))
    m, c = masses.sum(), masses @ r / masses.sum()
    from_c = r - c
    inertia = np.sum(masses * np.sum(from_c**2, axis=1)) * np.eye(3) - (masses * from_c.T) @ from_c
    a, w, w_dot = rng.normal(size=(3, 3))
    forces = masses[:, None] * (a + np.cross(w_dot, r) + np.cross(w, np.cross(w, r)))
    found = inertial_wrench(parameters_from_com(m, c, inertia), a, w, w_dot)
    np.testing.assert_allclose(found.f, forces.sum(axis=0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.n, np.cross(r, forces).sum(axis=0), rtol=0, atol=1e-12)


def test_power_does_not_hang_on_the_point() -> None:
    rng = np.random.default_rng(1)
    wrench, (v, w, arm) = Wrench(*rng.normal(size=(2, 3))), rng.normal(size=(3, 3))
    moved = wrench.about(arm)
    there = v - np.cross(w, arm)
    assert moved.f @ there + moved.n @ w == pytest.approx(wrench.f @ v + wrench.n @ w, rel=1e-13)
