"""RK4 in C against the same loop in Python."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest

from nacelle.emit.c.interface import COptions
from nacelle.emit.c.rk4 import rk4_source
from nacelle.emit.newton import NOT_FINITE
from nacelle.program.program import Program
from support.c_drivers import FLAGS, pendulum
from support.cc import COMPILERS, compile_shared, pointer

# A machine with Python, pip and make alone has no C compiler; the other targets are tested all the same.
pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


Array = np.ndarray


def rk4(
    program: Program, x: Array, u: Array, p: Array, h: float, every: int
) -> tuple[list[Array], Array, int]:
    """The loop in Python: stored states, last state, steps done."""

    def slope(state: Array, held: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.array(program.evaluate([*state.tolist(), *held.tolist(), *p.tolist()]), dtype=float)

    stored = []
    for k, held in enumerate(u):
        k1 = slope(x, held)
        k2 = slope(x + h / 2 * k1, held)
        k3 = slope(x + h / 2 * k2, held)
        k4 = slope(x + h * k3, held)
        after = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if not np.all(np.isfinite(after)):
            return stored, x, k
        x = after
        if every and (k + 1) % every == 0:
            stored.append(x)
    return stored, x, len(u)


@pytest.fixture(scope="module", params=COMPILERS)
def library(request: pytest.FixtureRequest) -> Any:
    files = rk4_source(pendulum(), COptions(name="pendulum_it"))
    files |= rk4_source(pendulum(), COptions(name="pendulum_float", real="float", batch=False))
    return compile_shared(files, request.param, FLAGS)


@pytest.mark.parametrize("every", [0, 1, 3, 10, 11])
def test_rk4(library: Any, every: int) -> None:
    u = np.sin(np.arange(10.0))[:, None]
    p, h = np.array([9.81, 0.1]), 0.01
    x = np.array([1.0, 0.0])
    stored, last, _ = rk4(pendulum(), x, u, p, h, every)
    rows = 10 // every if every else 0
    states, done = np.full((rows + 1, 2), 7.0), ctypes.c_size_t()
    status = library.pendulum_it_rk4(
        pointer(x), pointer(u), ctypes.c_size_t(1), pointer(p), ctypes.c_double(h), ctypes.c_size_t(10),
        ctypes.c_size_t(every), pointer(states), ctypes.byref(done),
    )  # fmt: skip
    assert (status, done.value) == (0, 10)
    np.testing.assert_allclose(x, last, rtol=1e-13)
    np.testing.assert_allclose(states[:rows], np.reshape(stored, (rows, 2)), rtol=1e-13)
    assert np.all(states[rows] == 7.0)


@pytest.mark.parametrize("real", ["double", "float"])
def test_rk4_converges_with_order_four(library: Any, real: str) -> None:
    # Against SciPy, with one input for all steps; in float to its rounding.
    from scipy.integrate import solve_ivp

    u, p = np.array([0.3]), np.array([9.81, 0.1])
    exact = solve_ivp(
        lambda _, x: pendulum().evaluate([*x, *u, *p]), (0.0, 1.0), [1.0, 0.0], rtol=1e-12, atol=1e-13
    ).y[:, -1]
    errors = []
    dtype, number = (np.float64, ctypes.c_double) if real == "double" else (np.float32, ctypes.c_float)
    function = library.pendulum_it_rk4 if real == "double" else library.pendulum_float_rk4
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


def test_rk4_stops_at_what_is_not_finite(library: Any) -> None:
    u = np.zeros((10, 1))
    u[4] = math.inf
    x, p = np.array([1.0, 0.0]), np.array([9.81, 0.1])
    stored, last, steps = rk4(pendulum(), x, u, p, 0.01, 2)
    states, done = np.full((5, 2), 7.0), ctypes.c_size_t()
    status = library.pendulum_it_rk4(
        pointer(x), pointer(u), ctypes.c_size_t(1), pointer(p), ctypes.c_double(0.01), ctypes.c_size_t(10),
        ctypes.c_size_t(2), pointer(states), ctypes.byref(done),
    )  # fmt: skip
    assert (status, done.value) == (NOT_FINITE, steps) == (2, 4)
    np.testing.assert_allclose(x, last, rtol=1e-13)
    np.testing.assert_allclose(states[:2], stored, rtol=1e-13)
    assert np.all(states[2:] == 7.0)
