"""Solves: one node, lowered by structure; counts as textbooks have them."""

import mpmath
import numpy as np
import pytest

from nacelle.program.cost import count
from nacelle.program.trace import trace
from nacelle.spatial.batch import from_samples, to_samples
from nacelle.spatial.scalar import pack
from nacelle.spatial.solve import solve


def program(n, kind, columns=None):
    shape = (n,) if columns is None else (n, columns)
    return trace(lambda A, b: solve(A, b, kind), {"A": (n, n), "b": shape}).program()


@pytest.mark.parametrize("kind", ["general", "spd", "fixed"])
@pytest.mark.parametrize("n", range(1, 9))
def test_solutions(n, kind):
    rng = np.random.default_rng(n)
    for _ in range(20):
        A = rng.normal(size=(n, n))
        if kind != "general":
            A = A @ A.T + np.eye(n)
        b = rng.normal(size=n)
        x = np.array(program(n, kind).evaluate([*A.ravel(), *b]))
        reference = np.linalg.solve(A, b)
        bound = 50 * np.finfo(float).eps * np.linalg.cond(A) * np.max(np.abs(reference))
        assert np.max(np.abs(x - reference)) < bound


def test_pivoting_survives_zeros_on_the_diagonal():
    A = np.array([[0.0, 1, 0, 2, 0], [3, 0, 1, 0, 0], [0, 2, 0, 0, 1], [1, 0, 0, 0, 4], [0, 0, 5, 1, 0]])
    b = np.arange(1.0, 6.0)
    x = program(5, "general").evaluate([*A.ravel(), *b])
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=0, atol=1e-14)
    twice = [np.array([value, value]) for value in (*A.ravel(), *b)]
    np.testing.assert_allclose(program(5, "general").evaluate(twice), np.array([x, x]).T, rtol=0, atol=0)


def test_structural_zeros_cost_nothing():
    def diagonal(d, b):
        return solve(pack([[d[i] if i == j else 0.0 for j in range(5)] for i in range(5)]), b)

    counted = count(trace(diagonal, {"d": (5,), "b": (5,)}).program())
    assert (counted.add, counted.mul, counted.other) == (0, 10, 0)

    def triangular(L, b):
        return solve(pack([[L[i, j] if i >= j else 0.0 for j in range(4)] for i in range(4)]), b, "fixed")

    assert count(trace(triangular, {"L": (4, 4), "b": (4,)}).program()).add == 6


def test_several_right_hand_sides_share_the_elimination():
    one, three = count(program(6, "spd")), count(program(6, "spd", 3))
    # Each further right-hand side costs 30 additions and 36 products.
    assert (three.add, three.mul) == (one.add + 60, one.mul + 72)


@pytest.mark.parametrize(
    ("n", "kind", "add", "mul"),
    [
        # Cramer: 2 x 2 has 3 differences and 8 products with one reciprocal.
        (2, "general", 3, 9),
        # 3 x 3: nine cofactors (18, 9), the determinant (3, 2), x = C^T b / det (12, 6).
        (3, "general", 17, 34),
        # L D L^T: 35 + 15 products and 35 differences, substitution 15 + 6 + 15 and 30, 6 reciprocals.
        (6, "spd", 65, 92),
    ],
)
def test_counts_of_textbooks(n, kind, add, mul):
    counted = count(program(n, kind))
    assert (counted.add, counted.mul) == (add, mul)


def test_all_scalars_solve_alike():
    rng = np.random.default_rng(2)
    A, b = rng.normal(size=(4, 4)), rng.normal(size=4)
    reference = np.linalg.solve(A, b)
    np.testing.assert_allclose(solve(A, b), reference, rtol=1e-13)
    batch = rng.normal(size=(3, 4, 4))
    x = to_samples(solve(from_samples(batch, 2), b))
    np.testing.assert_allclose(x, np.linalg.solve(batch, np.stack([b] * 3)[..., None])[..., 0], rtol=1e-12)
    many = solve(A, np.stack([b, 2 * b], axis=1))
    np.testing.assert_allclose(many, np.stack([reference, 2 * reference], axis=1), rtol=1e-13)
    to_mp = np.vectorize(mpmath.mpf, otypes=[object])
    np.testing.assert_allclose(solve(to_mp(A), to_mp(b)).astype(float), reference, rtol=1e-13)
    spd = A @ A.T + np.eye(4)
    lower = np.tril(spd) + np.triu(np.full((4, 4), np.nan), 1)
    np.testing.assert_allclose(solve(lower, b, "spd"), np.linalg.solve(spd, b), rtol=1e-12)


def test_singular_samples_leave_the_others_alone():
    A = np.stack([np.diag([first, 1.0]) for first in (1.0, 0.0, 2.0)])
    x = to_samples(solve(from_samples(A, 2), np.ones(2)))
    np.testing.assert_array_equal(np.isnan(x).any(axis=1), [False, True, False])
    np.testing.assert_allclose(x[2], [0.5, 1.0])
