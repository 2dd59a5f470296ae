"""Loops and branches in native code, against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from nacelle.emit.jit.library import Library, address
from nacelle.emit.jit.loops import Lines
from nacelle.emit.jit.target import DEFAULT, compile_text, module, vector_width
from nacelle.emit.machine import host


def written() -> str:
    """A function of (x, n, out): largest |x|, sum of positive x, x reversed; the first place above 5."""
    c = Lines(vector_width(DEFAULT), host().fma, "define i64 @f(ptr %x, i64 %n, ptr %out)")
    with c.loop(0, "%n") as loop:
        largest, total = loop.carry(c.number(0.0)), loop.carry(c.number(0.0))
        value = c.load("%x", loop.index)
        loop.hand(largest, c.larger(largest, c.size(value)))
        positive = c.real("fcmp ogt", value, c.number(0.0))
        more = c.product_sum(value, c.number(1.0), total)
        loop.hand(total, c.value(f"select i1 {positive}, double {more}, double {total}"))
        c.store(value, "%out", c.whole("sub", c.whole("add", "%n", 1), loop.index))
    c.store(largest, "%out", 0)
    c.store(total, "%out", 1)
    with c.loop(0, "%n") as loop, c.when(c.real("fcmp ogt", c.load("%x", loop.index), c.number(5.0))):
        c.leave(loop.index)
    return c.text("i64 -1")


@pytest.mark.parametrize("n", [0, 1, 7])
def test_loops(n: int) -> None:
    library = Library(compile_text(module([written()], DEFAULT)), ("f",))
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(
        library.address("f")
    )
    x = np.random.default_rng(n).normal(size=max(n, 1)) * 4.0
    out = np.full(n + 2, np.nan)
    place = f(address(x), n, address(out))
    x = x[:n]
    assert out[0] == np.max(np.abs(x), initial=0.0)
    assert out[1] == pytest.approx(np.sum(x[x > 0.0]))
    np.testing.assert_array_equal(out[2:], x[::-1])
    assert place == (np.argmax(x > 5.0) if (x > 5.0).any() else -1)
    if n:
        bad = x.copy()
        bad[0] = np.nan
        f(address(bad), n, address(out))
        assert np.isnan(out[0])
