"""The parts of an implicit step in native code: the Jacobian by differences, the size of its memory."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.irk5 import STAGES
from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.library import Library, address, aligned_memory
from nacelle.emit.jit.lu import column_stride
from nacelle.emit.jit.stages import StageLayout, Stages
from nacelle.emit.jit.target import DEFAULT, compile_text, make_plan, module, vector_width
from nacelle.emit.machine import host
from nacelle.spatial.scalar import Array, cos, pack, sin

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


@pytest.mark.parametrize("width", [2, 8])
def test_arrays_do_not_overlap(width: int) -> None:
    layout = StageLayout(7, 3, width)
    names = ["wholes", "x", "u", "z0", "r2"]
    begins = sorted([layout.vector(name) for name in names] + [layout.matrix(name) for name in ("J", "E2i")])
    assert begins[0] >= width
    assert min(np.diff(begins)) >= max(3 * 3, 10) + width
    assert layout.matrix("E1") - layout.matrix("J") >= 7 * column_stride(7, width) + width
    assert layout.size >= layout.matrix("E2i") + 7 * column_stride(7, width) + width
