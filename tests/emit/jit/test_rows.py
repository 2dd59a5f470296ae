"""Rows into tiles and back: any size of a row, whole vectors of samples and the last few."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from nacelle.emit.jit.library import Library, address, aligned_memory
from nacelle.emit.jit.rows import move_few, move_whole
from nacelle.emit.jit.target import DEFAULT, compile_text, module

WIDTH = 4
SIZES = (1, 3, 4, 5, 8, 11)
POINTER = ctypes.c_void_p


@pytest.fixture(scope="module")
def library() -> Library:
    texts = [move_whole(size, WIDTH, pack=pack) for size in SIZES for pack in (True, False)]
    text = module([*texts, move_few(WIDTH, "v_")], DEFAULT)
    names = [f"{verb}{size}" for verb in ("pack", "unpack") for size in SIZES]
    names += ["v_pack_few", "v_unpack_few"]
    for name in names:
        text = text.replace(f"define internal void @{name}(", f"define void @{name}(")
    return Library(compile_text(text), tuple(names))


@pytest.mark.parametrize("size", SIZES)
def test_whole_vectors_are_transposed(library: Library, size: int) -> None:
    rows = np.arange(WIDTH * size, dtype=float).reshape(WIDTH, size)
    tile = aligned_memory(8 * WIDTH * (size + WIDTH))
    call = ctypes.CFUNCTYPE(None, POINTER, POINTER)
    call(library.address(f"pack{size}"))(address(rows), address(tile))
    np.testing.assert_array_equal(tile.view(np.float64)[: WIDTH * size].reshape(size, WIDTH), rows.T)
    back = np.full((WIDTH, size), np.nan)
    call(library.address(f"unpack{size}"))(address(back), address(tile))
    np.testing.assert_array_equal(back, rows)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_last_rows_fill_their_lanes(library: Library, count: int) -> None:
    size, step = 3, 5
    rows = np.arange(float(WIDTH * step)).reshape(WIDTH, step)
    tile = aligned_memory(8 * WIDTH * size)
    call = ctypes.CFUNCTYPE(None, POINTER, POINTER, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    call(library.address("v_pack_few"))(address(rows), address(tile), size, step, count)
    lanes = np.minimum(np.arange(WIDTH), count - 1)  # lanes beyond the last row repeat it
    np.testing.assert_array_equal(tile.view(np.float64).reshape(size, WIDTH), rows[lanes, :size].T)
    back = np.full((WIDTH, step), -1.0)
    call(library.address("v_unpack_few"))(address(back), address(tile), size, step, count)
    np.testing.assert_array_equal(back[:count, :size], rows[:count, :size])
    assert np.all(back[count:] == -1.0)
    assert np.all(back[:, size:] == -1.0)
