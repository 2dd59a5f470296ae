"""Small solves in a fixed order: solutions are those of LAPACK, pivots pure numbers that show weakness."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.general.solve import (
    constant_columns,
    constant_rows,
    determinant,
    multiplied,
    pivot_order,
    solve_in_order,
    without_constant_rows,
)

ONES = (np.ones(4), np.ones(4))


def test_solutions_in_the_order_of_the_samples() -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(20, 4, 4))
    order = pivot_order(samples)
    assert sorted(row for row, _ in order) == sorted(column for _, column in order) == [0, 1, 2, 3]
    for A in samples[:5]:
        b = rng.normal(size=4)
        found = solve_in_order(A.tolist(), b.tolist(), order, ONES)
        np.testing.assert_allclose(found.f.astype(float), np.linalg.solve(A, b), rtol=1e-8)
        # The product of the pivots is the determinant.
        assert abs(multiplied(found.pivots)) == pytest.approx(abs(np.linalg.det(A)), rel=1e-9)


def test_a_zero_on_the_diagonal_is_no_pivot() -> None:
    samples = np.tile([[0.0, 1.0], [1.0, 0.0]], (5, 1, 1)) + 1e-3 * np.random.default_rng(1).normal(
        size=(5, 2, 2)
    )
    assert all(row != column for row, column in pivot_order(samples))


def test_units_do_not_change_the_figure() -> None:
    A = np.random.default_rng(2).normal(size=(3, 3))
    rows, columns = np.array([1.0, 10.0, 100.0]), np.array([2.0, 3.0, 0.5])
    plain = determinant(A.tolist(), (np.ones(3), np.ones(3)))
    scaled = determinant((A * rows[:, None] * columns).tolist(), (rows, columns))
    assert abs(float(scaled)) == pytest.approx(abs(float(plain)), rel=1e-12)


def test_constant_rows_are_taken_out() -> None:
    rng = np.random.default_rng(3)
    samples = rng.normal(size=(6, 4, 4))
    samples[:, 1] = [0.0, 1.0, 0.0, 0.0]
    samples[:, :, 2] = samples[0, :, 2]
    assert constant_columns(samples).tolist() == [False, False, True, False]
    constant = constant_rows(samples)
    assert constant is not None
    assert 1 in constant.rows
    A, b = samples[2], rng.normal(size=4)
    smaller, right, whole = without_constant_rows(A.tolist(), b.tolist(), constant)
    assert len(smaller) == 4 - len(constant.rows)
    part = np.linalg.solve(np.array(smaller, dtype=float), np.array(right, dtype=float))
    np.testing.assert_allclose(whole(part).astype(float), np.linalg.solve(A, b), rtol=1e-9)
