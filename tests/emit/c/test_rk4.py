"""RK4 and Newton in C against the same loops in Python."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest

from nacelle.emit.c.driver import newton_source, rk4_source
from nacelle.emit.c.target import COptions
from nacelle.emit.newton import CONVERGED, ITERATION_CAP, NOT_FINITE, NumpyNewton
from nacelle.emit.python.tiles import TileKernel
from nacelle.emit.registry import TargetError
from nacelle.emit.rk4 import NumpyRk4
from nacelle.program.program import Program, Variable
from support.c_drivers import FLAGS, CompiledRk4, circle_and_line, pendulum
from support.cc import COMPILERS, compile_shared, pointer
from support.driver_programs import newton_solution, rk4_states

# A machine with Python, pip and make alone has no C compiler; the other targets are tested all the same.
pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


@pytest.fixture(scope="module", params=COMPILERS)
def rk4_library(request: pytest.FixtureRequest) -> Any:
    files = rk4_source(pendulum(), COptions(name="pendulum_it"))
    files |= rk4_source(pendulum(), COptions(name="pendulum_float", real="float", batch=False))
    return compile_shared(files, request.param, FLAGS)


@pytest.mark.parametrize("every", [0, 1, 3, 10, 11])
def test_rk4(rk4_library: Any, every: int) -> None:
    u = np.sin(np.arange(10.0))[:, None]
    p, h = np.array([9.81, 0.1]), 0.01
    x = np.array([1.0, 0.0])
    true = rk4_states(pendulum(), x, u, p, h, 10)
    rows = 10 // every if every else 0
    states, done = np.full((rows + 1, 2), 7.0), ctypes.c_size_t()
    status = rk4_library.pendulum_it_rk4(
        pointer(x), pointer(u), ctypes.c_size_t(1), pointer(p), ctypes.c_double(h), ctypes.c_size_t(10),
        ctypes.c_size_t(every), pointer(states), ctypes.byref(done),
    )  # fmt: skip
    assert (status, done.value) == (0, 10)
    np.testing.assert_allclose(x, true[-1], rtol=1e-13)
    stored = true[every - 1 :: every] if every else []
    np.testing.assert_allclose(states[:rows], np.reshape(stored, (rows, 2)), rtol=1e-13)
    assert np.all(states[rows] == 7.0)


@pytest.mark.parametrize("real", ["double", "float"])
def test_rk4_converges_with_order_four(rk4_library: Any, real: str) -> None:
    # Against SciPy, with one input for all steps; in float to its rounding.
    from scipy.integrate import solve_ivp

    u, p = np.array([0.3]), np.array([9.81, 0.1])
    exact = solve_ivp(
        lambda _, x: pendulum().evaluate([*x, *u, *p]), (0.0, 1.0), [1.0, 0.0], rtol=1e-12, atol=1e-13
    ).y[:, -1]
    errors = []
    dtype, number = (np.float64, ctypes.c_double) if real == "double" else (np.float32, ctypes.c_float)
    function = rk4_library.pendulum_it_rk4 if real == "double" else rk4_library.pendulum_float_rk4
    for steps in (50, 100):
        x = np.array([1.0, 0.0], dtype)
        held, parameters = u.astype(dtype), p.astype(dtype)
        status = function(
            pointer(x), pointer(held), ctypes.c_size_t(0), pointer(parameters), number(1.0 / steps),
            ctypes.c_size_t(steps), ctypes.c_size_t(0), None, None,
        )  # fmt: skip
        assert status == 0
        errors.append(np.max(np.abs(x - exact)))
    if real == "double":
        assert 12.0 < errors[0] / errors[1] < 20.0
    else:
        assert errors[1] < 1e-5


def test_rk4_stops_at_what_is_not_finite(rk4_library: Any) -> None:
    u = np.zeros((10, 1))
    u[4] = math.inf
    x, p = np.array([1.0, 0.0]), np.array([9.81, 0.1])
    true = rk4_states(pendulum(), x, u, p, 0.01, 10)
    states, done = np.full((5, 2), 7.0), ctypes.c_size_t()
    status = rk4_library.pendulum_it_rk4(
        pointer(x), pointer(u), ctypes.c_size_t(1), pointer(p), ctypes.c_double(0.01), ctypes.c_size_t(10),
        ctypes.c_size_t(2), pointer(states), ctypes.byref(done),
    )  # fmt: skip
    assert (status, done.value) == (NOT_FINITE, len(true)) == (2, 4)
    np.testing.assert_allclose(x, true[-1], rtol=1e-13)
    np.testing.assert_allclose(states[:2], true[1::2], rtol=1e-13)
    assert np.all(states[2:] == 7.0)


# ---- Newton in C against the same loop in Python


@pytest.fixture(scope="module", params=COMPILERS)
def newton_library(request: pytest.FixtureRequest) -> Any:
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
    newton_library: Any, start: list[float], parameters: list[float], tolerance: float, cap: int
) -> None:
    y, p = np.array(start), np.array(parameters)
    expected = newton_solution(circle_and_line(), y, p, tolerance, cap)
    iterations, error = ctypes.c_int(-1), ctypes.c_double(-1.0)
    counts = ctypes.byref(iterations), ctypes.byref(error)
    status = newton_library.meet_it_newton(
        pointer(y), pointer(p), ctypes.c_double(tolerance), cap, None, 0, *counts
    )
    assert (status, iterations.value) == expected[1:3]
    np.testing.assert_allclose(y, expected[0], rtol=1e-12)
    np.testing.assert_allclose(error.value, expected[3], rtol=1e-9, atol=1e-15)


def test_newton_with_short_steps_and_a_last_one(newton_library: Any) -> None:
    """Steps are shortened, and the last one taken, by the rules of the other targets."""
    program, y, p = circle_and_line(), np.array([3.0, -1.0]), np.array([4.0, 0.7])
    longest = np.array([0.3, 0.5])
    weights, iterations = 1.0 / longest, ctypes.c_int(-1)
    expected = NumpyNewton(program, TileKernel(program)).solve(
        y, p, tolerance=1e-3, max_iterations=30, max_step=longest, polish=True
    )
    status = newton_library.meet_it_newton(
        pointer(y), pointer(p), ctypes.c_double(1e-3), 30, pointer(weights), 1, ctypes.byref(iterations), None
    )
    assert (status, iterations.value) == (expected.status[0], expected.iterations[0])
    assert iterations.value > 4
    np.testing.assert_allclose(y, expected.y[0], rtol=1e-12)


def test_newton_starts_warm(newton_library: Any) -> None:
    y, p = np.array([1.0, 0.5]), np.array([4.0, 0.7])
    counts = []
    for _ in range(2):
        iterations = ctypes.c_int()
        rules = ctypes.c_double(1e-12), 30, None, 0
        status = newton_library.meet_it_newton(pointer(y), pointer(p), *rules, ctypes.byref(iterations), None)
        assert status == CONVERGED
        counts.append(iterations.value)
    assert counts[0] > 2
    assert counts[1] == 0
    np.testing.assert_allclose(y @ y, 4.0)


def test_newton_batch(newton_library: Any) -> None:
    rng = np.random.default_rng(0)
    y, p = rng.normal(size=(50, 2)), np.array([[4.0, 0.7]])
    expected = [newton_solution(circle_and_line(), row, p[0], 1e-10, 6) for row in y]
    status, iterations = np.full(50, -1, np.int32), np.full(50, -1, np.int32)
    newton_library.meet_it_newton_batch(
        ctypes.c_size_t(50), pointer(y), pointer(p), ctypes.c_size_t(0), ctypes.c_double(1e-10), 6, None, 0,
        pointer(status), pointer(iterations), None,
    )  # fmt: skip
    np.testing.assert_array_equal(status, [row[1] for row in expected])
    np.testing.assert_array_equal(iterations, [row[2] for row in expected])
    np.testing.assert_allclose(y, [row[0] for row in expected], rtol=1e-9)
    assert {CONVERGED, ITERATION_CAP} <= set(status.tolist())


def test_newton_in_float(newton_library: Any) -> None:
    y, p = np.array([1.0, 0.5], np.float32), np.array([4.0, 0.7], np.float32)
    status = newton_library.meet_float_newton(
        pointer(y), pointer(p), ctypes.c_float(1e-5), 30, None, 0, None, None
    )
    assert status == CONVERGED
    np.testing.assert_allclose(y @ y, 4.0, rtol=1e-5)
    assert not hasattr(newton_library, "meet_float_newton_batch")


# ---- A control that is held, in C


def test_a_control_is_held() -> None:
    """The law u = w - p0 θ, asked at every third step; a row of w a period, or one for all."""
    code = (*(("input", k) for k in range(5)), ("mul", 3, 0), ("sub", 2, 5))
    inputs = (Variable("x", (2,)), Variable("w"), Variable("p", (2,)))
    law = Program("law", inputs, (Variable("u"),), code, (6,))
    plain, compiled = NumpyRk4(pendulum(), TileKernel, law), CompiledRk4(pendulum(), law)
    rng = np.random.default_rng(4)
    x0, p = rng.normal(size=(3, 2)), rng.uniform(0.5, 2.0, (3, 2))
    for rows in (1, 4):
        w = rng.normal(size=(rows, 1))
        want, got = (driver.integrate(x0, w, p, h=0.02, steps=12, held=3) for driver in (plain, compiled))
        np.testing.assert_allclose(got.x, want.x, rtol=1e-13)
        np.testing.assert_array_equal(got.status, 0)
    with pytest.raises(TargetError, match="no control program"):
        rk4_source(pendulum(), control=circle_and_line())
    with pytest.raises(TargetError, match="no control that could be sampled"):
        rk4_source(pendulum(), sampled=True)
