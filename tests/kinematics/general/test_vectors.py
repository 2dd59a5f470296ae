"""Sums and vectors whose zeros cost nothing: values as NumPy has them, and no operation for a zero."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.kinematics.general.vectors import (
    ZERO,
    acceleration_matrix,
    add,
    all_zero,
    crossed,
    inner,
    plus_times,
    scaled,
)
from nacelle.program.cost import count
from nacelle.program.trace import trace


def test_values() -> None:
    a, b, c = np.random.default_rng(0).normal(size=(3, 3))
    np.testing.assert_allclose(crossed(a, b), np.cross(a, b), atol=1e-15)
    np.testing.assert_allclose(acceleration_matrix(a, b) @ c, np.cross(b, c) + np.cross(a, np.cross(a, c)))
    np.testing.assert_allclose(add(a, scaled(2.0, b)), a + 2.0 * b)
    assert inner(a.tolist(), b.tolist()) == pytest.approx(a @ b, rel=1e-14)
    assert plus_times(1.0, 2.0, 3.0) == 7.0


def test_zeros_leave_no_trace() -> None:
    def nothing(x: np.ndarray) -> np.ndarray:
        assert all_zero(crossed(ZERO, x))
        return add(x, scaled(3.0, crossed(x, ZERO)))

    assert count(trace(nothing, {"x": (3,)}).program()).total == 0
    # Along a coordinate axis a cross product is two products by one: none.
    along = trace(lambda x: crossed(np.array([0.0, 0.0, 1.0]), x), {"x": (3,)}).program()
    assert count(along).total == 0
