"""Constants in C read back as they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacelle.emit.c.parts import c_constant

# ---- Parts of a program in C: constants read back as they are, and cuts that keep all values


@pytest.mark.parametrize("value", [0.1, -1e-300, 5e-324, 1.0, -0.0, 123456789.123456789, math.pi])
def test_constants_read_back(value: float) -> None:
    text = c_constant(value, "double").strip("()")
    assert float(text) == value
    assert math.copysign(1.0, float(text)) == math.copysign(1.0, value)
    single = c_constant(value, "float").strip("()")
    assert single.endswith("f")
    with np.errstate(all="ignore"):
        assert np.float32(single[:-1]) == np.float32(value)


def test_special_constants() -> None:
    assert c_constant(math.nan, "double") == "((double)NAN)"
    assert c_constant(-math.inf, "float") == "((float)-INFINITY)"
    assert c_constant(1e300, "float") == "((float)INFINITY)"
