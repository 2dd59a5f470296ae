"""The nearest parameters in cones: an estimate inside stays, one outside goes to the boundary."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.identification.consistency.cone_program import nearest_in_cones
from nacelle.identification.consistency.feasible_set import feasible_set
from support.library import library_robot

BASE = nacelle.base_parameters(library_robot("fivebar"))
PRIOR = BASE.choice.values
SPACE = feasible_set(BASE, np.eye(len(BASE)), prior=PRIOR, margin=0.01)
UNITS = np.diag(1.0 / np.maximum(np.abs(PRIOR), 1e-3))


def test_an_estimate_inside_stays() -> None:
    solution = nearest_in_cones(SPACE, UNITS, UNITS @ SPACE.inside, 1e-12)
    np.testing.assert_allclose(UNITS @ solution.z, UNITS @ SPACE.inside, atol=1e-5)
    assert max(solution.pushes) < 1e-4
    assert solution.accuracy < 1e-4


def test_a_negative_mass_meets_the_boundary() -> None:
    """No feasible point on the way to the middle of the cones is nearer to the estimate."""
    wanted = PRIOR.copy()
    wanted[BASE.choice.names.index("left.distal.m")] = -0.5
    h = UNITS @ wanted
    solution = nearest_in_cones(SPACE, UNITS, h, 1e-12)
    assert min(SPACE.eigenvalues(solution.z)) > -1e-9
    assert min(SPACE.eigenvalues(solution.z)) < 1e-3
    assert max(solution.pushes) > 0.1
    distance = np.linalg.norm(UNITS @ solution.z - h)
    random = np.random.default_rng(0)
    for _ in range(200):
        other = SPACE.into_cones(solution.z + 0.05 * random.normal(size=len(PRIOR)) * np.abs(PRIOR))
        assert np.linalg.norm(UNITS @ other - h) > distance - 1e-6
