"""Native code: elimination against LAPACK, the Jacobian of stages, and what LLVM makes of programs."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.irk5 import STAGES
from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.library import Library, address, aligned_memory
from nacelle.emit.jit.lu import column_stride, factor_and_solve
from nacelle.emit.jit.stages import Stages
from nacelle.emit.jit.target import DEFAULT, compile_text, make_plan, module, vector_width
from nacelle.emit.machine import host
from nacelle.spatial.scalar import Array, cos, pack, sin

# ---- LU factorisation and solves in native code, against LAPACK

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


# ---- stages
#
# The parts of an implicit step in native code: the Jacobian by differences, the size of its memory.

N = 5


def coupled(x: Array, u: Array, p: Array) -> Array:
    return pack([x[(k + 1) % N] * sin(x[k]) + 1e3 * p[0] * u[0] * x[0] * (k == 2) for k in range(N)])


def exact(x: np.ndarray, u: float, p: float) -> np.ndarray:
    J = np.diag([x[(k + 1) % N] * cos(x[k]) for k in range(N)])
    for k in range(N):
        J[k, (k + 1) % N] += sin(x[k])
    J[2, 0] += 1e3 * p * u
    return J


@pytest.mark.parametrize("begin", [0.0, 0.4])
def test_the_jacobian(begin: float) -> None:
    """At inputs on the parabola through those of the stages, which may be of any time of the step."""
    program = make_program(coupled, None, {"x": (N,), "u": (1,), "p": (1,)})
    width, plan = vector_width(DEFAULT), make_plan(program)
    stages = Stages(plan, (N, 1, 1), width, host().fma)
    text = module([evaluation(plan, width, "v_"), *stages.texts()], DEFAULT)
    text = text.replace("define internal void @irk5_jacobian", "define void @irk5_jacobian")
    library = Library(compile_text(text), ("irk5_jacobian",))
    tile, work = aligned_memory(stride(plan, width)), np.zeros(stages.layout.size)
    x, p = np.array([0.3, -2.0, 0.0, 40.0, 1e-4]), 0.7
    tile.view(np.float64)[(N + 1) * width : (N + 2) * width] = p
    at = stages.layout.vector
    work[at("x") : at("x") + N] = x
    work[at("u") : at("u") + 3] = 1.0 + 2.0 * STAGES - 3.0 * STAGES**2
    pointer = ctypes.c_void_p
    function = ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.c_double)(library.address("irk5_jacobian"))
    function(address(tile), address(work), begin)
    first = stages.layout.matrix("J")
    found = work[first : first + N * column_stride(N, width)].reshape(N, -1)[:, :N].T
    expected = exact(x, 1.0 + 2.0 * begin - 3.0 * begin**2, p)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=2e-4)
    # What does not depend on a state has exact zeros, which elimination leaves out.
    assert np.all(found[expected == 0.0] == 0.0)


# ---- How code is laid out for families of machines


@pytest.mark.slow
def test_what_llvm_writes_for_each_family() -> None:
    """Next to no negations on NEON, and few values on the stack: LLVM holds what the plan holds.

    The programs have 730, 1400 and 12 000 operations. One negation is the mask of signs; on NEON the Jacobian
    has results that are negations of others. On x86 exclusive or makes masks and zeros, too.
    """
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "benchmarks/emitted_code.py", "--json"],
        cwd=root,
        stdout=subprocess.PIPE,
        check=True,
        timeout=600,
    )
    rows = json.loads(done.stdout)
    assert len(rows) == 9
    for row in rows:
        operations = {"PaLiDA's inverse dynamics": 730, "a hexapod's inverse dynamics": 1400}
        size = operations.get(row["program"], 12_000)
        if row["family"] == "Neoverse-N1":
            assert row["negations"] <= 1 + size // 1000
        assert row["stores to the stack"] <= 0.03 * size, row
        assert row["instructions"] < 2.4 * size, row
