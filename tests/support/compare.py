"""Comparison of sets of numbers by one measure."""

from __future__ import annotations

from typing import Any

import numpy as np


def relative_error(actual: Any, expected: Any) -> float:
    """Largest difference over the largest entry of the expected set; absolute if that is below 1e-300."""
    a, e = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert a.shape == e.shape, f"shapes differ: {a.shape} and {e.shape}"
    if a.size == 0:
        return 0.0
    assert np.all(np.isfinite(a)), "the actual values are not finite"
    assert np.all(np.isfinite(e)), "the expected values are not finite"
    scale = float(np.max(np.abs(e)))
    return float(np.max(np.abs(a - e))) / (scale if scale > 1e-300 else 1.0)


def assert_same(actual: Any, expected: Any, tolerance: float = 1e-12, what: str = "") -> None:
    """Demand that the relative error is at most the tolerance."""
    error = relative_error(actual, expected)
    assert error <= tolerance, f"{what or 'values'} differ by {error:.3g} of the largest entry\n" + (
        f"actual   {np.asarray(actual, dtype=float)}\nexpected {np.asarray(expected, dtype=float)}"
    )
