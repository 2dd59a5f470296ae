"""Exponential and hyperbolic tangent: errors against mpmath over all ranges, special values."""

from __future__ import annotations

import numpy as np
import pytest

from support.functions import values, worst

COUNT = 800
# Units in the last place.
BOUNDS = {"exp": 0.9, "tanh": 1.0}


def sizes(least: float, most: float) -> np.ndarray:
    """Numbers of both signs, evenly over the exponents of two."""
    rng = np.random.default_rng(2)
    return rng.choice([-1.0, 1.0], COUNT) * 2.0 ** rng.uniform(least, most, COUNT)


@pytest.mark.parametrize(
    ("op", "least", "most"),
    [
        ("exp", -1.0, 1.0),
        ("exp", -709.0, 709.7),
        ("exp", -745.1, -707.0),  # subnormal results
        ("exp", 707.5, 709.78),
        ("tanh", -0.4, 0.4),
        ("tanh", 0.1, 0.7),  # where the power of two begins to count
        ("tanh", -20.0, 20.0),
    ],
)
def test_errors(op: str, least: float, most: float) -> None:
    assert worst(op, np.random.default_rng(3).uniform(least, most, COUNT)) <= BOUNDS[op]


@pytest.mark.parametrize("op", ["exp", "tanh"])
def test_errors_of_every_size(op: str) -> None:
    assert worst(op, sizes(-1074.0, 4.5)) <= BOUNDS[op]


def test_exp_of_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 709.782712893384, 709.7827128933841, 1e300])
    expected = [1.0, 1.0, np.inf, 0.0, np.nan, 1.797693134862273e308, np.inf, np.inf]
    np.testing.assert_allclose(values("exp", x), expected, rtol=2e-16, atol=0.0)
    x = np.array([-745.1332191019411, -745.1332191019412, -746.0, -1e300, -1e5, 5e-324, -5e-324, 711.0])
    np.testing.assert_array_equal(values("exp", x), [5e-324, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, np.inf])


def test_tanh_of_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e300])
    expected = np.array([0.0, -0.0, 1.0, -1.0, np.nan, 5e-324, -1e-310, 1.0])
    np.testing.assert_array_equal(values("tanh", x), expected)
    np.testing.assert_array_equal(np.signbit(values("tanh", x)[:4]), [False, True, False, True])
    x = sizes(-1000.0, 10.0)
    assert values("tanh", -x).tobytes() == (-values("tanh", x)).tobytes()
    assert np.all(np.abs(values("tanh", x)) <= 1.0)
