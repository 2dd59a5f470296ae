"""Implicit steps in native code and in NumPy follow the same rules."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.irk5 import Irk5Result, NumpyIrk5
from nacelle.emit.jit.irk5 import Irk5, compile_irk5
from nacelle.emit.jit.target import JitOptions
from nacelle.emit.registry import target
from nacelle.spatial.scalar import Array, pack, sin, tanh


def pendulum(x: Array, u: Array, p: Array) -> Array:
    """θ̈ = u - p1 sin θ - p2 tanh(θ̇ / p3), beside it a stiff follower of θ."""
    rate = u[0] - p[0] * sin(x[0]) - p[1] * tanh(x[1] / p[2])
    return pack([x[1], rate, 1e5 * (sin(x[0]) - x[2]) + u[1]])


def law(x: Array, w: Array, p: Array) -> Array:
    return pack([w[0] - x[0] * p[0], w[1] + x[1]])


SMOOTH, ROUGH = [9.0, 0.5, 1.0], [9.0, 5.0, 1e-6]


@cache
def drivers(controlled: bool = False, width: int | None = None) -> tuple[Irk5, NumpyIrk5]:
    kernel = target("numpy").kernel
    assert kernel is not None
    program = make_program(pendulum, None, {"x": (3,), "u": (2,), "p": (3,)})
    control = make_program(law, None, {"x": (3,), "w": (2,), "p": (3,)}) if controlled else None
    options = JitOptions(width=width)
    native = Irk5(compile_irk5(program, options, control), program, control)
    return native, NumpyIrk5(program, kernel, control)


def both(*arrays: Any, control: bool = False, width: int | None = None, **how: Any) -> Irk5Result:
    native, plain = (driver.integrate(*arrays, **how) for driver in drivers(control, width))
    assert (native.status, native.completed) == (plain.status, plain.completed)
    # Rounding may end an iteration one round sooner.
    assert native.evaluations == pytest.approx(plain.evaluations, rel=0.02)
    assert native.jacobians == pytest.approx(plain.jacobians, rel=0.05)
    np.testing.assert_allclose(plain.x, native.x, rtol=0.0, atol=1e-9)
    return native


@pytest.mark.parametrize("width", [2, 8])
@pytest.mark.parametrize("rows", ["constant", "held", "stages"])
@pytest.mark.parametrize("p", [SMOOTH, ROUGH])
def test_states(width: int, rows: str, p: list[float]) -> None:
    rng = np.random.default_rng(3)
    shape = {"constant": (1, 2), "held": (24, 2), "stages": (24, 3, 2)}[rows]
    result = both([1.0, 0.5, 0.2], 0.3 * rng.normal(size=shape), p, h=0.05, steps=24, every=4, width=width)
    assert result.x.shape == (6, 3)
    assert result.status == 0
    assert np.ptp(result.x[:, 0]) > 0.05
    # Where friction brings it to rest, steps are made of many parts.
    stops = p is ROUGH and rows != "constant"
    assert (result.evaluations > 600) == stops
    assert (abs(result.x[-1, 1]) < 1e-5) == stops


def test_a_control_is_held() -> None:
    rng = np.random.default_rng(7)
    w = rng.normal(size=(6, 2))
    slow = both([1.0, 0.5, 0.2], w, SMOOTH, control=True, h=0.02, steps=18, every=3, held=3)
    fine = both([1.0, 0.5, 0.2], np.repeat(w, 3, axis=0), SMOOTH, control=True, h=0.02, steps=18, every=3)
    assert np.max(np.abs(slow.x - fine.x)) > 1e-4
    s = np.array([1.0, 0.5, 0.2])
    for k in range(6):
        u = np.asarray(law(s, w[k], np.array(SMOOTH)), dtype=float)
        s = drivers()[0].integrate(s, u[None], SMOOTH, h=0.02, steps=3).x[-1]
        np.testing.assert_allclose(slow.x[k], s, rtol=0.0, atol=1e-9)


def test_steps_that_fail() -> None:
    result = both([1.0, np.nan, 0.2], [[0.0, 0.0]], SMOOTH, h=0.05, steps=3)
    assert (result.status, result.completed) == (1, 0)
    assert np.isnan(result.x).all()
    for driver in drivers():
        with pytest.raises(ValueError, match="of one initial state, not of 2"):
            driver.integrate(np.zeros((2, 3)), [[0.0, 0.0]], SMOOTH, h=0.1, steps=1)
