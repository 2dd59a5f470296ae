"""Second moments against sums over mass points, also about another frame."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from nacelle.dynamics.general.inertia import (
    moved_inertia,
    numbers_from_parameters,
    second_moments,
    wrench_in_own_axes,
)
from nacelle.spatial.inertia import parameters_from_com
from nacelle.spatial.rotation import skew


def parameters(masses: np.ndarray, r: np.ndarray) -> np.ndarray:
    c = masses @ r / masses.sum()
    inertia = sum(m * skew(p - c).T @ skew(p - c) for m, p in zip(masses, r, strict=True))
    return parameters_from_com(masses.sum(), c, inertia)


@pytest.mark.parametrize("seed", range(4))
def test_mass_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masses, r = rng.uniform(0.1, 1.0, 6), rng.normal(size=(6, 3))
    numbers = numbers_from_parameters(parameters(masses, r))
    np.testing.assert_allclose(second_moments(numbers), (masses * r.T) @ r, rtol=0, atol=1e-13)
    R, t = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    again = numbers_from_parameters(parameters(masses, r @ R.T + t))
    np.testing.assert_allclose(moved_inertia(numbers, R, t), again, rtol=0, atol=1e-12)
    a, w, w_dot = rng.normal(size=(3, 3))
    T = skew(w_dot) + skew(w) @ skew(w)
    forces = masses[:, None] * (a + r @ T.T)
    f, n = wrench_in_own_axes(numbers, a, w, T)
    np.testing.assert_allclose(f, forces.sum(axis=0), rtol=0, atol=1e-13)
    np.testing.assert_allclose(n, np.cross(r, forces).sum(axis=0), rtol=0, atol=1e-12)
