"""Sums of scalars that leave out nothing and add no zero: terms of programs."""

from __future__ import annotations

from nacelle.spatial.scalar import Scalar


def summed(terms: list[Scalar]) -> Scalar:
    """The sum of scalars in order; 0 if there are none."""
    total: Scalar = 0.0
    for term in terms:
        total = term if isinstance(total, float) and total == 0.0 else total + term
    return total
