"""Entries of a kernel: many samples in tiles, shared rows, and one sample."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.jit import target as jit
from nacelle.emit.jit.entries import batch, single, single_in_tile
from nacelle.emit.jit.target import make_plan
from nacelle.spatial.scalar import Array, pack


def affine(a: Array, x: Array) -> Array:
    return pack([a[0] * x[0] + a[1], a[1] * x[1] - a[0], x[0] * x[1]])


PROGRAM = make_program(affine, None, {"a": (2,), "x": (2,)})


def expected(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.stack([a[:, 0] * x[:, 0] + a[:, 1], a[:, 1] * x[:, 1] - a[:, 0], x[:, 0] * x[:, 1]], axis=1)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 17, 100])
@pytest.mark.parametrize("shared", [False, True])
def test_batches_of_any_length(count: int, shared: bool) -> None:
    random = np.random.default_rng(count)
    a, x = random.normal(size=(1 if shared else count, 2)), random.normal(size=(count, 2))
    out = np.full((count, 3), np.nan)
    jit.kernel(PROGRAM, jit.JitOptions(fma=False)).run([a, x], [out], 1)
    np.testing.assert_array_equal(out, expected(np.broadcast_to(a, x.shape), x))


def test_texts_define_the_entries() -> None:
    plan = make_plan(PROGRAM)
    assert "define void @nacelle_batch(" in batch(plan, (2, 2), (3,), 4, 8)
    for text, prefix in ((single(plan, (2, 2), (3,)), "s_"), (single_in_tile(plan, (2, 2), (3,), 4), "v_")):
        assert "define void @nacelle_single(ptr %call)" in text
        assert f"call void @{prefix}tiles(ptr %tile, i64 1)" in text
