"""LU factorisation and solves in native code, against LAPACK."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

from nacelle.emit.jit.library import Library, address
from nacelle.emit.jit.lu import column_stride, factor_and_solve
from nacelle.emit.jit.target import DEFAULT, compile_text, module, vector_width
from nacelle.emit.machine import host

_ENTRY = """define void @both(ptr %re, ptr %im, ptr %scales, ptr %pivots, ptr %x, ptr %y) #0 {{
call void @{kind}_factor(ptr %re, ptr %im, ptr %scales, ptr %pivots)
call void @{kind}_solve(ptr %re, ptr %im, ptr %pivots, ptr %x, ptr %y)
ret void
}}"""


@cache
def library(n: int, kind: str) -> Library:
    text = factor_and_solve(n, vector_width(DEFAULT), host().fma, f"{kind}_", complex_=kind == "complex")
    return Library(compile_text(module([text, _ENTRY.format(kind=kind)], DEFAULT)), ("both",))


def solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A⁻¹ b by native code; what is beside the matrix and the vectors is NaN, which must not come in."""
    kind, n, width = "complex" if np.iscomplexobj(A) else "real", len(A), vector_width(DEFAULT)
    matrices = []
    for part in (A.real, A.imag):
        memory = np.full(2 * width + n * column_stride(n, width), np.nan)
        memory[width : width + n * column_stride(n, width)].reshape(n, -1)[:, :n] = part.T
        matrices.append(memory)
    sides = [
        np.concatenate([np.full(width, np.nan), part, np.full(width, np.nan)]) for part in (b.real, b.imag)
    ]
    scales, pivots = np.zeros(n), np.zeros(n, dtype=np.int64)
    own = library(n, kind)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(own.address("both"))
    function(
        *(address(memory) + 8 * width for memory in matrices),
        *(address(scales), address(pivots)),
        *(address(side) + 8 * width for side in sides),
    )
    x, y = (side[width : width + n] for side in sides)
    return x + 1j * y if kind == "complex" else x.copy()


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 33])
def test_as_lapack(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    for case in range(4):
        A, b = rng.normal(size=(n, n)), rng.normal(size=n)
        if kind == "complex":
            A, b = A + 1j * rng.normal(size=(n, n)), b + 1j * rng.normal(size=n)
        if case == 1 and n > 1:
            # No diagonal to begin with: rows must be exchanged.
            A[np.arange(n), np.arange(n)] = 0.0
        if case == 2:
            A = A * 10.0 ** rng.uniform(-6.0, 6.0, (n, 1))
        if case == 3:
            A[rng.random((n, n)) < 0.6] = 0.0
            A[np.arange(n), np.arange(n)] += 3.0
        expected = np.linalg.solve(A, b)
        condition = np.linalg.cond(A / np.max(np.abs(A), axis=1, keepdims=True))
        tolerance = 1e-14 * condition * np.max(np.abs(expected))
        np.testing.assert_allclose(solved(A, b), expected, rtol=0.0, atol=tolerance)


def test_a_singular_matrix_gives_no_number() -> None:
    A = np.ones((3, 3))
    assert not np.isfinite(solved(A, np.arange(3.0))).all()
