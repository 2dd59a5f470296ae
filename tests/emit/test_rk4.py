"""The Runge-Kutta method in NumPy against the native driver: the same states, statuses and refusals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compile import make_program
from nacelle.emit.jit.rk4 import Rk4, compile_rk4
from nacelle.emit.registry import target
from nacelle.emit.rk4 import NumpyRk4, Rk4Result
from nacelle.simulation import flow as rigid_flow
from nacelle.simulation.flow import flow
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array, pack, sin
from support.uncompiled import any_robot


def pendulum(x: Array, u: Array, p: Array) -> Array:
    """θ̈ = u - p1 sin θ - p2 θ̇."""
    return pack([x[1], u[0] - p[0] * sin(x[0]) - p[1] * x[1]])


def explosion(x: Array, u: Array, p: Array) -> Array:
    """The equation ẋ = x² + u: infinite after a while."""
    return pack([x[0] * x[0] + u[0]])


def law(x: Array, w: Array, p: Array) -> Array:
    return pack([w[0] - x[0] * p[0] + w[1]])


@cache
def drivers(name: str, held: bool = False) -> tuple[Any, NumpyRk4]:
    kernel = target("numpy").kernel
    assert kernel is not None
    if name == "pendulum":
        program = make_program(pendulum, None, {"x": (2,), "u": (1,), "p": (2,)})
    elif name == "explosion":
        program = make_program(explosion, None, {"x": (1,), "u": (1,), "p": (0,)})
    else:
        program = make_program(flow, any_robot(name), input_shapes(flow, any_robot(name)), minimised=False)
    control = make_program(law, None, {"x": (2,), "w": (2,), "p": (2,)}) if held else None
    native = Rk4(compile_rk4(program, control=control), program, control)
    return native, NumpyRk4(program, kernel, control)


def both(
    name: str, *arrays: Any, held: bool = False, many: int = 1, **how: Any
) -> tuple[Rk4Result, Rk4Result]:
    native, plain = (driver.integrate(*arrays, held=many, **how) for driver in drivers(name, held))
    np.testing.assert_array_equal(native.status, plain.status)
    np.testing.assert_array_equal(native.completed, plain.completed)
    np.testing.assert_allclose(plain.final, native.final, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(plain.x, native.x, rtol=1e-9, atol=1e-12)
    return native, plain


@pytest.mark.parametrize("count", [1, 2, 9])
@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("rows", ["constant", "held", "stages"])
def test_states(count: int, every: int, rows: str) -> None:
    rng = np.random.default_rng(count)
    shape = {"constant": (1, 1), "held": (18, 1), "stages": (18, 3, 1)}[rows]
    x0, p = rng.normal(size=(count, 2)), rng.uniform(0.5, 2.0, (count, 2))
    native, _ = both("pendulum", x0, rng.normal(size=shape), p, h=0.05, steps=18, every=every)
    assert native.x.shape == (count, 18 // every, 2)
    assert np.ptp(native.x) > 0.1


@pytest.mark.parametrize("count", [1, 5])
def test_a_control_is_held(count: int) -> None:
    rng = np.random.default_rng(7)
    x0, w = rng.normal(size=(count, 2)), rng.normal(size=(10, 2))
    held, _ = both("pendulum", x0, w, [[1.0, 0.3]], held=True, h=0.1, steps=10, threads=2)
    free, _ = both("pendulum", x0, w[:, :1], [[1.0, 0.3]], h=0.1, steps=10)
    assert np.max(np.abs(held.x - free.x)) > 0.01


def test_states_that_are_not_finite() -> None:
    x0 = np.array([[0.1], [5.0], [-1.0], [3.0], [np.nan], [40.0]])
    native, plain = both("explosion", x0, [[0.0]], np.zeros((1, 0)), h=0.1, steps=30)
    assert set(native.status) == {0, 2}
    assert np.isnan(plain.x[1, plain.completed[1] :]).all()
    assert np.isfinite(plain.x[1, : plain.completed[1]]).all()
    for count in (1, 6):
        still = drivers("explosion")[1].integrate(x0[:count], [[0.0]], np.zeros((1, 0)), h=0.1, steps=0)
        np.testing.assert_array_equal(still.final, x0[:count])


def test_a_simulation_runs_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot falls, with its steps in native code and in NumPy."""
    robot = any_robot("fivebar")
    x = nacelle.reference_pose(robot)
    native = nacelle.simulate(robot, x, until=0.05, method="rk4", step=0.001)
    driver = drivers("fivebar")[1]
    monkeypatch.setattr(rigid_flow, "compile_rk4", lambda *_, **__: driver)
    rigid_flow.loop_driver.cache_clear()
    plain = nacelle.simulate(robot, x, until=0.05, method="rk4", step=0.001)
    rigid_flow.loop_driver.cache_clear()
    np.testing.assert_allclose(plain.x, native.x, rtol=1e-12, atol=1e-13)
    assert np.max(np.abs(native.x - native.x[0])) > 1e-4


def test_refusals() -> None:
    for driver in drivers("pendulum"):
        with pytest.raises(ValueError, match="u has 7 rows for 5 steps"):
            driver.integrate(np.ones((3, 2)), np.ones((7, 1)), np.ones((1, 2)), h=0.1, steps=5)
        with pytest.raises(ValueError, match=r"x0 has the shape \(3, 3\), not \(N, 2\)"):
            driver.integrate(np.ones((3, 3)), np.ones((1, 1)), np.ones((1, 2)), h=0.1, steps=5)
        with pytest.raises(ValueError, match="different numbers of rows"):
            driver.integrate(np.ones((3, 2)), np.ones((1, 1)), np.ones((2, 2)), h=0.1, steps=5)
        with pytest.raises(ValueError, match="must be positive"):
            driver.integrate(np.ones((3, 2)), np.ones((1, 1)), np.ones((1, 2)), h=0.1, steps=-1)
    kernel = target("numpy").kernel
    assert kernel is not None
    control = make_program(law, None, {"x": (2,), "w": (2,), "p": (2,)})
    explosive = make_program(explosion, None, {"x": (1,), "u": (1,), "p": (0,)})
    with pytest.raises(ValueError, match="no control program"):
        NumpyRk4(explosive, kernel, control)
    with pytest.raises(ValueError, match="not a derivative program"):
        NumpyRk4(make_program(lambda x: x, None, {"x": ()}), kernel)


@pytest.mark.parametrize("count", [1, 5])
def test_inputs_are_held_over_several_steps(count: int) -> None:
    """Rows over three steps are the rows that are written thrice; a control is asked at every third step."""
    rng = np.random.default_rng(8)
    x0, u, w = rng.normal(size=(count, 2)), rng.normal(size=(4, 1)), rng.normal(size=(4, 2))
    how = {"h": 0.05, "steps": 12}
    few, _ = both("pendulum", x0, u, [[1.0, 0.3]], **how, many=3)
    all_rows, _ = both("pendulum", x0, np.repeat(u, 3, axis=0), [[1.0, 0.3]], **how)
    np.testing.assert_array_equal(few.x, all_rows.x)

    slow, _ = both("pendulum", x0, w, [[1.0, 0.3]], held=True, many=3, every=3, **how)
    start, given = np.broadcast_to(x0, (count, 2)), []
    for k in range(4):
        given = [float(law(start[j], w[k], np.array([1.0, 0.3]))[0]) for j in range(count)]
        ends = [
            both("pendulum", start[j : j + 1], [[given[j]]], [[1.0, 0.3]], h=0.05, steps=3)[0].final[0]
            for j in range(count)
        ]
        start = np.array(ends)
        np.testing.assert_allclose(slow.x[:, k], start, rtol=1e-13)


def test_rows_fit_the_steps_over_which_they_are_held() -> None:
    for rows, steps in (((3, 1), 10), ((3, 1), 12), ((4, 3, 1), 12)):
        with pytest.raises(ValueError, match=r"held|rows"):
            both("pendulum", np.zeros((1, 2)), np.zeros(rows), [[1.0, 0.3]], h=0.1, steps=steps, many=3)
