"""The angle of a point: errors against mpmath in all octants and of all sizes, special values of C99."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from support.functions import values, worst

COUNT = 800


def points(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates y and x."""
    rng = np.random.default_rng(4)

    def sizes(least: float, most: float) -> np.ndarray:
        return rng.choice([-1.0, 1.0], COUNT) * 2.0 ** rng.uniform(least, most, COUNT)

    match kind:
        case "usual":
            return rng.normal(size=COUNT), rng.normal(size=COUNT)
        case "where the formula changes":
            eighths = np.pi / 8 * rng.integers(-8, 9, COUNT)
            angle = eighths + 1e-3 * rng.normal(size=COUNT) ** 3
            return np.sin(angle), np.cos(angle)
        case "every size":
            return sizes(-1074.0, 1023.9), sizes(-1074.0, 1023.9)
        case "largest":
            return sizes(1020.0, 1023.99), sizes(1020.0, 1023.99)
        case _:
            return sizes(-1074.0, -1020.0), sizes(-1074.0, -1020.0)


@pytest.mark.parametrize("kind", ["usual", "where the formula changes", "every size", "largest", "smallest"])
def test_errors(kind: str) -> None:
    assert worst("atan2", *points(kind)) <= 1.0


def test_special_values() -> None:
    """Zeros, infinities and NaN with every other value, as C99 Annex F and Python's `math` have it."""
    special = (
        0.0,
        -0.0,
        math.inf,
        -math.inf,
        math.nan,
        1.0,
        -1.0,
        5e-324,
        -5e-324,
        1.7e308,
        -1.7e308,
        3e-200,
    )
    grid = np.array(list(itertools.product(special, special)))
    expected = np.array([math.atan2(y, x) for y, x in grid])
    for width in (1, 2, 4, 8):
        got = values("atan2", *grid.T, width=width)
        np.testing.assert_allclose(got, expected, rtol=3e-16, atol=0.0)
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))
