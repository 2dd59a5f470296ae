"""A body as masses where legs hold it and at one more point."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.mass_points import fit_masses
from support.compare import assert_same


def test_masses_are_the_body() -> None:
    """Masses at ends and one more point have the second moments of the body."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        ends = 0.3 * rng.normal(size=(6, 3))
        cloud = np.concatenate([0.2 * rng.normal(size=(9, 3)), np.ones((9, 1))], axis=1)
        weights = rng.uniform(0.1, 1.0, 9)
        P = np.einsum("k,ki,kj->ij", weights, cloud, cloud)
        masses = fit_masses(ends, P, 1.0)
        assert masses is not None
        b = np.concatenate([ends, np.ones((6, 1))], axis=1)
        e = np.array([*masses.place, 1.0])
        found = np.einsum("k,ki,kj->ij", masses.at_ends, b, b) + masses.mass * np.outer(e, e)
        assert_same(found + masses.isotropic * np.diag([1.0, 1.0, 1.0, 0.0]), P, 1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("size", [1e-3, 0.5, 20.0])
def test_what_legs_leave_of_a_platform_may_be_negative(size: float) -> None:
    """Numbers that legs have taken over are subtracted: no masses are sought, and nothing overflows."""
    rng = np.random.default_rng(3)
    ends = 0.3 * rng.normal(size=(6, 3))
    cloud = np.concatenate([0.2 * rng.normal(size=(9, 3)), np.ones((9, 1))], axis=1)
    P = -np.einsum("ki,kj->ij", cloud, cloud)
    assert fit_masses(ends, P, size) is None
    P[3, 3] = 0.0
    assert fit_masses(ends, P, size) is None
    assert fit_masses(ends, np.zeros((4, 4)), size) is None
