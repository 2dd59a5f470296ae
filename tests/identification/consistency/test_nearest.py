"""The nearest point under cones: against projections in closed form; its bound holds for any answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacelle.errors import IdentificationError
from nacelle.identification.consistency import nearest
from nacelle.identification.consistency.pseudo_inertia import packed, unpacked

seeds = st.integers(0, 10**6)


@settings(max_examples=20)
@given(seeds)
def test_the_nearest_positive_semidefinite_matrix(seed):
    """To a symmetric X it is X without its negative eigenvalues."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4, 4))
    X = X + X.T
    x, half = packed(X), rng.normal(size=3)
    # X + dX with t = (d half, dX): b - A t = (half, x) + t.
    b = np.concatenate([half, x])
    answer = nearest.nearest_point(-np.eye(13), b, 3, [10])
    values, vectors = np.linalg.eigh(X)
    clipped = packed((vectors * np.maximum(values, 0.0)) @ vectors.T)
    truth = np.concatenate([np.maximum(half, 0.0), clipped]) - b
    assert np.allclose(answer.t, truth, atol=1e-6)
    bound = nearest.distance_bound(truth, answer.multipliers, -np.eye(13), b)
    assert np.linalg.norm(answer.t - truth) <= bound + 1e-6
    # Complementary: the multipliers are what was taken away.
    assert np.allclose(answer.multipliers, truth, atol=1e-5)


@given(seeds)
def test_the_bound_holds_for_points_that_are_not_nearest(seed):
    rng = np.random.default_rng(seed)
    b = rng.normal(size=3)
    best = np.maximum(b, 0.0) - b
    t = best + rng.uniform(0.0, 1.0, 3) * (b + best >= 0.0)
    y = rng.uniform(0.0, 1.0, 3)
    assert np.linalg.norm(t - best) <= nearest.distance_bound(t, y, -np.eye(3), b) + 1e-12


def test_blocks_and_duals():
    rows = np.arange(16.0)
    assert [block.tolist() for block in nearest.blocks(rows, 3, [3, 10])] == [[3, 4, 5], list(range(6, 16))]
    y = nearest.dual(np.array([-1.0, 2.0, *packed(np.diag([1.0, -3.0]))]), 2, [3])
    assert y[:2].tolist() == [0.0, 2.0]
    assert np.allclose(unpacked(y[2:]), np.diag([1.0, 0.0]))


def test_no_such_point():
    """t >= 1 and t <= -1."""
    with pytest.raises(IdentificationError, match="no parameters meet all bounds at once"):
        nearest.nearest_point(np.array([[-1.0], [1.0]]), np.array([-1.0, -1.0]), 2, [])


@pytest.mark.parametrize("status", ["NumericalError", "MaxIterations", "Unheard"])
def test_a_status_in_words(status):
    assert nearest.why(status).startswith("the cone solver")


def test_numbers_that_are_none():
    with pytest.raises(IdentificationError, match="the cone solver"):
        nearest.nearest_point(np.array([[np.nan]]), np.array([1.0]), 1, [])
