"""Constants of vectors, bit for bit."""

from __future__ import annotations

import math
import struct

from nacelle.emit.jit.vectors import constant, splat


def test_constants_are_bits() -> None:
    for value in (0.1, -0.0, math.inf, 5e-324):
        assert struct.pack(">Q", int(constant(value), 16)) == struct.pack(">d", value)
    assert splat(1.0, 1) == constant(1.0)
    assert splat(1.0, 4) == f"splat (double {constant(1.0)})"
