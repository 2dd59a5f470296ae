"""Newton in C against the same loop in Python."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest

from nacelle.emit.c.interface import COptions
from nacelle.emit.c.newton import newton_source
from nacelle.emit.newton import CONVERGED, ITERATION_CAP, NOT_FINITE
from nacelle.program.program import Program
from support.c_drivers import FLAGS, circle_and_line
from support.cc import COMPILERS, compile_shared, pointer

# A machine with Python, pip and make alone has no C compiler; the other targets are tested all the same.
pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


Array = np.ndarray


def newton(program: Program, y: Array, p: Array, tolerance: float, cap: int) -> tuple[Array, int, int, float]:
    """The loop in Python."""
    y, k = y.copy(), 0
    while True:
        with np.errstate(all="ignore"):
            *step, error = (float(value) for value in program.evaluate([*map(float, y), *map(float, p)]))
        if error <= tolerance:
            return y, CONVERGED, k, error
        if not all(map(math.isfinite, (*step, error))):
            return y, NOT_FINITE, k, error
        if k >= cap:
            return y, ITERATION_CAP, k, error
        y += step
        k += 1


@pytest.fixture(scope="module", params=COMPILERS)
def library(request: pytest.FixtureRequest) -> Any:
    files = newton_source(circle_and_line(), COptions(name="meet_it"))
    files |= newton_source(circle_and_line(), COptions(name="meet_float", real="float", batch=False))
    return compile_shared(files, request.param, FLAGS)


STARTS = [
    ([1.0, 0.5], [4.0, 0.7], 1e-12, 30),
    ([1.0, 0.5], [4.0, 0.7], 1e-12, 2),  # cap
    ([1.0, 0.5], [4.0, 0.7], 1e-12, 0),  # no step at all
    ([2.0, 0.0], [4.0, math.inf], 1e-12, 5),  # not finite
    ([0.0, 0.0], [4.0, 0.7], 1e-12, 5),  # singular
    ([math.nan, 1.0], [4.0, 0.7], 1e-12, 5),
    ([2.0, 0.0], [4.0, 0.0], 10.0, 5),  # good enough
    ([1.0, 0.5], [-4.0, 0.7], 1e-12, 50),  # no solution
]


@pytest.mark.parametrize(("start", "parameters", "tolerance", "cap"), STARTS)
def test_newton(
    library: Any, start: list[float], parameters: list[float], tolerance: float, cap: int
) -> None:
    y, p = np.array(start), np.array(parameters)
    expected = newton(circle_and_line(), y, p, tolerance, cap)
    iterations, error = ctypes.c_int(-1), ctypes.c_double(-1.0)
    status = library.meet_it_newton(
        pointer(y), pointer(p), ctypes.c_double(tolerance), cap, ctypes.byref(iterations), ctypes.byref(error)
    )
    assert (status, iterations.value) == expected[1:3]
    np.testing.assert_allclose(y, expected[0], rtol=1e-12)
    np.testing.assert_allclose(error.value, expected[3], rtol=1e-9, atol=1e-15)


def test_newton_starts_warm(library: Any) -> None:
    y, p = np.array([1.0, 0.5]), np.array([4.0, 0.7])
    counts = []
    for _ in range(2):
        iterations = ctypes.c_int()
        arguments = (pointer(y), pointer(p), ctypes.c_double(1e-12), 30, ctypes.byref(iterations), None)
        assert library.meet_it_newton(*arguments) == CONVERGED
        counts.append(iterations.value)
    assert counts[0] > 2
    assert counts[1] == 0
    np.testing.assert_allclose(y @ y, 4.0)


def test_newton_batch(library: Any) -> None:
    rng = np.random.default_rng(0)
    y, p = rng.normal(size=(50, 2)), np.array([[4.0, 0.7]])
    expected = [newton(circle_and_line(), row, p[0], 1e-10, 6) for row in y]
    status, iterations = np.full(50, -1, np.int32), np.full(50, -1, np.int32)
    library.meet_it_newton_batch(
        ctypes.c_size_t(50), pointer(y), pointer(p), ctypes.c_size_t(0), ctypes.c_double(1e-10), 6,
        pointer(status), pointer(iterations), None,
    )  # fmt: skip
    np.testing.assert_array_equal(status, [row[1] for row in expected])
    np.testing.assert_array_equal(iterations, [row[2] for row in expected])
    np.testing.assert_allclose(y, [row[0] for row in expected], rtol=1e-9)
    assert {CONVERGED, ITERATION_CAP} <= set(status.tolist())


def test_newton_in_float(library: Any) -> None:
    y, p = np.array([1.0, 0.5], np.float32), np.array([4.0, 0.7], np.float32)
    status = library.meet_float_newton(pointer(y), pointer(p), ctypes.c_float(1e-5), 30, None, None)
    assert status == CONVERGED
    np.testing.assert_allclose(y @ y, 4.0, rtol=1e-5)
    assert not hasattr(library, "meet_float_newton_batch")
