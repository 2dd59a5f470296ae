"""Linear forms against a matrix: what is done to both is the same."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.spatial.linear_form import LinearForm, coefficients


def test_sums_and_products_are_those_of_a_matrix() -> None:
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(3, 5)), rng.normal(size=(2, 3))
    p = np.array([LinearForm({k: 1.0}) for k in range(5)], dtype=object)
    forms = B @ (A @ p - 2.0 * p[:3]) + (p[1] / 4.0) * np.ones(2)
    expected = B @ (A - 2.0 * np.eye(3, 5)) + 0.25 * np.eye(5)[1]
    np.testing.assert_allclose(coefficients(forms, 5), expected, rtol=1e-14, atol=1e-15)


def test_terms_that_cancel_are_gone() -> None:
    a, b = LinearForm({0: 2.0, 3: 1.0}), LinearForm({0: 2.0})
    assert (a - b).terms == {3: 1.0}
    assert (a * 0.0).terms == {}
    assert (0.0 - a).terms == {0: -2.0, 3: -1.0}


def test_what_is_not_linear_is_refused() -> None:
    p = LinearForm({0: 1.0})
    with pytest.raises(TypeError, match="not linear"):
        p * p
    with pytest.raises(TypeError, match="no sum"):
        p + 1.0
