"""A compiled function as its caller holds it: batches, names, fixed buffers, source."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.compile import compile_function
from nacelle.errors import CompileError


def test_batches_buffers_and_source() -> None:
    square = compile_function(
        lambda x, s: {"y": x * x + s}, inputs={"x": (3,), "s": (1,)}, target="numpy", use_cache=False
    )
    x, s = np.random.default_rng(0).normal(size=(4, 5, 3)), np.array([2.0])
    np.testing.assert_allclose(square(x, s=s), x * x + 2.0, rtol=1e-15)
    assert square.count.total == 6
    assert square.cost > 0.0
    assert "double" in square.source("c")
    with pytest.raises(CompileError, match="needs the inputs s"):
        square(x)
    held, shift, out = np.zeros(3), np.ones(1), np.empty(3)
    run = square.bind(x=held, s=shift, y=out)
    for value in (1.0, 4.0):
        held[:] = value
        run()
        np.testing.assert_array_equal(out, value * value + 1.0)


@pytest.mark.parametrize("target", ["numpy", "jit"])
def test_results_go_where_the_caller_wants_them(target: str) -> None:
    both = compile_function(
        lambda x: {"y": x * x, "s": x[0] + x[1]}, inputs={"x": (2,)}, target=target, use_cache=False
    )
    x = np.random.default_rng(0).normal(size=(3, 4, 2))
    out = {"y": np.empty((3, 4, 2)), "s": np.empty((3, 4))}
    found = both(x, out=out)
    assert all(found[name] is out[name] for name in out)
    np.testing.assert_array_equal(out["y"], x * x)
    np.testing.assert_array_equal(out["s"], x[..., 0] + x[..., 1])
    read_only = np.empty((3, 4))
    read_only.flags.writeable = False
    for wrong, message in (
        ({"y": out["y"]}, "has y, not y, s"),
        (out | {"s": np.empty(12)}, r"out 's' has shape \(12,\), not \(3, 4\)"),
        (out | {"s": np.empty((3, 4), np.float32)}, "C-contiguous float64"),
        (out | {"s": np.empty((4, 3)).T}, "C-contiguous float64"),
        (out | {"s": read_only}, "can be written to"),
        (out | {"y": x}, "shares its memory"),
    ):
        with pytest.raises(CompileError, match=message):
            both(x, out=wrong)
