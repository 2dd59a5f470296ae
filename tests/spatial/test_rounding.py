"""Rounding: sums against exact ones, and constants that differ in their last bits are one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacelle.spatial.rounding import (
    ULPS,
    Constants,
    first_largest,
    first_smallest,
    ordered_composition,
    ordered_product,
    ordered_sum,
)


@pytest.mark.parametrize("shape", [((3, 3), (3, 4)), ((5, 4), (4, 6)), ((2, 5, 4), (4, 6))])
def test_products_are_those_of_numpy(shape: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(2)
    A, B = (rng.normal(size=size) for size in shape)
    np.testing.assert_allclose(ordered_product(A, B), A @ B, rtol=0, atol=1e-14)
    if shape[0] == (3, 3):
        R, p = ordered_composition(A, B[:, 3], B[:, :3], B[:, 0])
        np.testing.assert_allclose(R, A @ B[:, :3], rtol=0, atol=1e-14)
        np.testing.assert_allclose(p, A @ B[:, 0] + B[:, 3], rtol=0, atol=1e-14)


def test_only_rounding_cancels() -> None:
    terms = [0.1, 0.2, -0.3]
    assert sum(terms) != 0.0
    assert ordered_sum(terms) == 0.0
    assert ordered_sum([*terms, 1e-13]) == pytest.approx(math.fsum([*terms, 1e-13]), rel=1e-3)


def test_constants_within_the_margin_are_the_first_of_them() -> None:
    constants = Constants()
    first = constants.one(math.pi)
    for steps, same in ((ULPS, True), (-ULPS, True), (2 * ULPS, False), (-3 * ULPS, False)):
        near = math.pi + steps * math.ulp(math.pi)
        assert (constants.one(near) == first) is same
        assert constants.one(-near) == -constants.one(near)


def test_of_equal_candidates_the_first() -> None:
    assert first_largest([1.0, 3.0, 3.0 + 1e-12, 2.0]) == 1
    assert first_smallest([1.0, 1e-12, 0.0, 2.0]) == 1
