"""Rounding: below which size a number is taken for the rounding of its neighbours.

Sums of products differ in their last bits between machines (order of summation, fused products), and terms that
cancel leave something like 1e-17 on one machine and 0 on another. What is decided from such numbers, which
entries of a frame are zero, and so which operations a program has, must be the same on all of them. So a sum of
floats that is smaller than `CANCELLED` of its largest term is zero, everywhere where constants of a robot are
combined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Two floats that differ by no more units in the last place count as one number: 7e-15 at most, relative.
ULPS = 32
# A sum that is smaller than this part of its largest term is zero.
CANCELLED = ULPS * 2.0**-53


def total(a: float, b: float) -> float:
    """Sum of two floats; 0 where they cancel to rounding."""
    found = a + b
    return 0.0 if abs(found) < CANCELLED * max(abs(a), abs(b)) else found


def ordered_sum(terms: list[float]) -> float:
    """Sum of floats in their order; 0 where they cancel to rounding."""
    found, largest = 0.0, 0.0
    for term in terms:
        found += term
        largest = max(largest, abs(term))
    return 0.0 if abs(found) < CANCELLED * largest else found


def ordered_product(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """Product (m, k) (k, n) of matrices of floats, summed in order; what cancels to rounding is 0."""
    terms = A[:, :, None] * B
    found = terms[:, 0]
    for k in range(1, terms.shape[1]):
        found = found + terms[:, k]
    return np.where(np.abs(found) < CANCELLED * np.max(np.abs(terms), axis=1), 0.0, found)

