"""Angles beyond what π/2 in three parts reduces: errors against mpmath, in lanes beside small angles."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from nacelle.emit.jit.functions.trigonometry import LARGEST
from support.functions import values, worst

# Of all doubles the nearest to a multiple of π/2 (Muller 2016, 11.3.2), and the ends of the range.
HARD = (6381956970095103.0 * 2.0**797, sys.float_info.max, np.nextafter(LARGEST, np.inf), LARGEST)


@pytest.mark.parametrize("op", ["sin", "cos"])
def test_errors(op: str) -> None:
    rng = np.random.default_rng(1)
    x = np.ldexp(rng.uniform(-2.0, 2.0, 600), rng.integers(16, 1023, 600))
    assert worst(op, np.concatenate([x, HARD, -np.array(HARD)])) <= 0.9


def test_other_lanes_keep_their_values() -> None:
    x = np.linspace(-3.0, 3.0, 64)
    mixed = np.where(np.arange(64) % 3 == 0, 1e22, x)
    mixed[1] = np.inf
    for width in (2, 4, 8):
        got = values("sin", mixed, width=width)
        assert np.isnan(got[1])
        same = (mixed == x) & np.isfinite(mixed)
        assert got[same].tobytes() == values("sin", x, width=width)[same].tobytes()
        # The sine of 1e22 is -0.8522008497671888 (W. Kahan's example).
        assert np.all(got[::3] == -0.8522008497671888)
