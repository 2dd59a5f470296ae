"""All solutions of linear equations: against the null space of NumPy, exact where they can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.errors import IdentificationError
from nacelle.identification.consistency.linear_equations import all_solutions


@given(st.integers(0, 10**6), st.integers(0, 5), st.integers(1, 8))
def test_every_solution_and_no_other(seed, rank, n):
    rng = np.random.default_rng(seed)
    rank = min(rank, n)
    A = rng.normal(size=(rank + 2, rank)) @ rng.normal(size=(rank, n))
    z = rng.normal(size=n)
    found = all_solutions(A, A @ z, np.ones(n))
    assert len(found.free) == n - rank
    assert np.allclose(A @ found.Z, 0.0, atol=1e-7)
    assert np.allclose(found.nearby(z), z, atol=1e-6)


def test_equal_and_zero_unknowns_are_so_in_every_digit():
    A = np.array([[0.3, -0.3, 0, 0], [0, 0, 7.0, 0], [0.1, -0.1, 0, 0]])
    found = all_solutions(A, np.zeros(3), np.array([0.7, 0.7, 1e-5, 3.0]))
    z = found.nearby(np.array([1 / 3, 1 / 3, 5.0, 0.1]))
    assert z[0] == z[1] == 1 / 3
    assert z[2] == 0.0
    assert z[3] == 0.1


@pytest.mark.parametrize("A", [[[1.0, 0.0], [2.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]])
def test_a_contradiction_is_an_error(A):
    with pytest.raises(IdentificationError, match="contradicts itself"):
        all_solutions(np.array(A), np.array([1.0, 3.0]), np.ones(2))


def test_no_equations_leave_all_free():
    found = all_solutions(np.zeros((0, 3)), np.zeros(0), np.ones(3))
    assert found.free == (0, 1, 2)
