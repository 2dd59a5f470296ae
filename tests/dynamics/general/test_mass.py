"""The mass matrix of the general form: momentum of a body, and the matrix body by body."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.formulations import bodies
from nacelle.dynamics.general.inertia import PAIRS
from nacelle.dynamics.general.mass import momentum
from nacelle.dynamics.general.models import inertia
from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.compare import assert_same
from support.random_inertia import with_random_inertias
from support.uncompiled import any_robot


def test_momentum_is_that_of_mass_points() -> None:
    """m, h and the second moments S of some points: p = sum of m_k v_k, L = sum of r_k x m_k v_k."""
    rng = np.random.default_rng(0)
    masses, r = rng.uniform(0.1, 1.0, 5), rng.normal(size=(5, 3))
    v, w = rng.normal(size=(2, 3))
    S = np.einsum("k,ki,kj->ij", masses, r, r)
    numbers = np.array([masses.sum(), *(masses @ r), *(S[pair] for pair in PAIRS)])
    p, L = momentum(numbers, (v, w))
    each = masses[:, None] * (v + np.cross(w, r))
    assert_same(p, each.sum(axis=0), 1e-13)
    assert_same(L, np.cross(r, each).sum(axis=0), 1e-13)


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "3rps"])
def test_matrix_is_the_sum_over_bodies(name: str) -> None:
    robot = with_random_inertias(any_robot(name), 3)
    x, y = mechanism_of(robot).reference
    expected = bodies.mass_matrix(state_at(robot, x, y, np.zeros(robot.motion.n)))
    assert_same(np.asarray(inertia(robot, x, y)["M"], dtype=float), expected, 1e-9)
