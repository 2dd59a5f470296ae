"""Pieces of loops over vectors, compiled: choices, finite lanes, bits of any lane."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from nacelle.emit.jit.library import Library, address, aligned_memory
from nacelle.emit.jit.target import DEFAULT, compile_text, module
from nacelle.emit.jit.vector_text import Text


@pytest.mark.parametrize("width", [1, 4])
def test_lanes(width: int) -> None:
    """b = 2 a + 1 where a is finite, else -1; and whether any lane is not finite, as a number."""
    text = Text(width, "t_")
    text("define void @lanes(ptr %tile) #0 {", "entry:")
    a = text.load("%tile", 0)
    finite = text.finite(a)
    two, one = text.spread("2.0"), text.spread("1.0")
    b = text.choose(finite, text.add(text.mul(two, a), one), text.spread("-1.0"))
    text.store(b, "%tile", 1)
    ones = "1" if width == 1 else "splat (i1 1)"
    every = text.value(f"or {text.bit} {ones}, {ones}")
    bad = text.any(text.unless(every, finite))
    flag = text.value(f"select i1 {bad}, double 1.0, double 0.0")
    text.store(text.spread(flag), "%tile", 2)
    text("ret void", "}")
    library = Library(compile_text(module(["\n".join(text.lines)], DEFAULT)), ("lanes",))
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address("lanes"))
    for values in ([0.5, -3.0, 1e300, 0.0], [math.inf, 1.0, math.nan, -2.0]):
        tile = aligned_memory(8 * 3 * width)
        numbers = tile.view(np.float64).reshape(3, width)
        given = np.array(values[:width])
        numbers[0] = given
        run(address(tile))
        good = np.isfinite(given)
        np.testing.assert_array_equal(
            numbers[1], np.where(good, 2.0 * np.where(good, given, 0.0) + 1.0, -1.0)
        )
        np.testing.assert_array_equal(numbers[2], float(not np.all(good)))
