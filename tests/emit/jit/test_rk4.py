"""Native drivers against plain loops in Python: RK4, Newton, implicit steps."""

from __future__ import annotations

import shutil
from functools import cache
from typing import Any

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.irk5 import ImplicitIntegrator, Irk5Result, NumpyIrk5
from nacelle.emit.jit import target as jit
from nacelle.emit.jit.irk5 import Irk5, compile_irk5
from nacelle.emit.jit.newton import Newton, compile_newton
from nacelle.emit.jit.rk4 import Rk4, compile_rk4
from nacelle.emit.jit.target import JitOptions
from nacelle.emit.python.tiles import TileKernel
from nacelle.program.program import Program, Variable
from nacelle.spatial.scalar import Array, pack, sin, tanh
from support.c_drivers import CompiledIrk5, EmulatedIrk5
from support.cc import COMPILERS
from support.driver_programs import newton_solution, pendulum, rk4_states, square_roots


def native_rk4(
    program: Program, options: jit.JitOptions = jit.DEFAULT, control: Program | None = None
) -> Rk4:
    return Rk4(compile_rk4(program, options, control), program, control)


@pytest.fixture(scope="module")
def rk4() -> Rk4:
    return native_rk4(pendulum())


@pytest.mark.parametrize("count", [1, 8, 13])
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("constant", [True, False])
def test_rk4(rk4: Rk4, count: int, every: int, constant: bool) -> None:
    rng = np.random.default_rng(count)
    x0, p = rng.normal(size=(count, 2)), rng.uniform(0.5, 2.0, (count, 2))
    u = rng.normal(size=(1 if constant else 20, 1))
    found = rk4.integrate(x0, u, p, h=0.05, steps=20, every=every, threads=2)
    assert found.x.shape == (count, 20 // every, 2)
    for k in range(count):
        states = rk4_states(pendulum(), x0[k], u, p[k], 0.05, 20)
        np.testing.assert_allclose(found.x[k], states[every - 1 :: every], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found.final[k], states[-1], rtol=1e-12, atol=1e-13)
    assert np.all(found.completed == 20)
    assert np.all(found.status == 0)


def explosion() -> Program:
    """The equation ẋ = x²: infinite after the time 1/x0."""
    return Program(
        "explosion",
        (Variable("x", (1,)), Variable("u", (0,)), Variable("p", (0,))),
        (Variable("dx", (1,)),),
        (("input", 0), ("mul", 0, 0)),
        (1,),
    )


def test_rk4_stops_where_a_state_is_not_finite() -> None:
    rk4 = native_rk4(explosion(), jit.JitOptions(width=4))
    x0 = np.array([[0.1], [5.0], [-1.0], [3.0], [4.0]])
    with np.errstate(all="ignore"):
        found = rk4.integrate(x0, np.empty((1, 0)), np.empty((1, 0)), h=0.1, steps=20)
        for k in range(len(x0)):
            states = rk4_states(explosion(), x0[k], np.empty((1, 0)), np.empty(0), 0.1, 20)
            assert found.completed[k] == len(states)
            assert found.status[k] == (0 if len(states) == 20 else 2)
            np.testing.assert_allclose(found.x[k, : len(states)], states, rtol=1e-9)
            assert np.all(np.isnan(found.x[k, len(states) :]))
            np.testing.assert_allclose(found.final[k], states[-1], rtol=1e-9)
    still = rk4.integrate(x0, np.empty((1, 0)), np.empty((1, 0)), h=0.1, steps=0)
    np.testing.assert_array_equal(still.final, x0)


def test_rk4_refuses_other_programs(rk4: Rk4) -> None:
    with pytest.raises(ValueError, match="derivative program"):
        native_rk4(square_roots())
    with pytest.raises(ValueError, match="rows"):
        rk4.integrate(np.ones((3, 2)), np.ones((7, 1)), np.ones((1, 2)), h=0.1, steps=5)


def test_rk4_with_inputs_at_the_stages(rk4: Rk4) -> None:
    """The equation θ̈ = t², which the method integrates exactly."""
    h, steps = 0.05, 20
    begin = h * np.arange(steps)
    u = np.stack([begin, begin + h / 2, begin + h], axis=1)[..., None] ** 2
    found = rk4.integrate([[0.0, 0.0]], u, [[0.0, 0.0]], h=h, steps=steps)
    t = begin + h
    np.testing.assert_allclose(found.x[0], np.stack([t**4 / 12, t**3 / 3], axis=1), rtol=1e-12, atol=1e-15)
    with pytest.raises(ValueError, match=r"not \(steps, 3, 1\)"):
        rk4.integrate([[0.0, 0.0]], u[:, :2], [[0.0, 0.0]], h=h, steps=steps)


def test_rk4_with_a_control_that_is_held() -> None:
    """The pendulum under u = w - θ, taken at the begin of every step."""
    code = (*(("input", k) for k in range(5)), ("sub", 2, 0))
    law = Program(
        "law",
        (Variable("x", (2,)), Variable("w", (1,)), Variable("p", (2,))),
        (Variable("u", (1,)),),
        code,
        (5,),
    )
    driver = native_rk4(pendulum(), control=law)
    rng = np.random.default_rng(3)
    x0, p, w = rng.normal(size=(5, 2)), rng.uniform(0.5, 2.0, (5, 2)), rng.normal(size=(20, 1))
    found = driver.integrate(x0, w, p, h=0.05, steps=20)
    for k in range(5):
        x = x0[k]
        for step in range(20):
            x = rk4_states(pendulum(), x, w[step : step + 1] - x[0], p[k], 0.05, 1)[0]
            np.testing.assert_allclose(found.x[k, step], x, rtol=1e-11, atol=1e-12)
    with pytest.raises(ValueError, match="no control program"):
        native_rk4(explosion(), control=law)


# ---- Native drivers against plain loops in Python


def native_newton(program: Program) -> Newton:
    return Newton(compile_newton(program), program)


@pytest.fixture(scope="module")
def newton() -> Newton:
    return native_newton(square_roots())


@pytest.mark.parametrize("count", [1, 3, 8, 9, 50])
@pytest.mark.parametrize("longest", [np.inf, 0.3])
@pytest.mark.parametrize("threads", [1, 3])
def test_newton(newton: Newton, count: int, longest: float, threads: int) -> None:
    rng = np.random.default_rng(count)
    p, y0 = rng.uniform(0.1, 9.0, (count, 2)), rng.uniform(0.5, 2.0, (count, 2))
    p[count // 3, 0] = np.nan
    y0[count // 2, 1] = 0.0
    found = newton.solve(y0, p, tolerance=1e-10, max_iterations=8, max_step=longest, threads=threads)
    for k in range(count):
        y, status, taken, _ = newton_solution(square_roots(), y0[k], p[k], 1e-10, 8, longest)
        np.testing.assert_allclose(found.y[k], y, rtol=1e-9)
        assert (found.iterations[k], found.status[k]) == (taken, status)
    assert {0, 1, 2} & set(found.status.tolist())


def test_newton_follows_a_path(newton: Newton) -> None:
    p = np.linspace(1.0, 4.0, 40)[:, None] * np.ones(2)
    p[20] = np.nan  # the sample after it starts from y0 again
    found = newton.solve([[1.0, 1.0]], p, tolerance=1e-12, follow=True)
    start = np.ones(2)
    for k in range(40):
        y, status, taken, _ = newton_solution(square_roots(), start, p[k], 1e-12, 50, np.inf)
        np.testing.assert_allclose(found.y[k], y, rtol=1e-12)
        assert (found.iterations[k], found.status[k]) == (taken, status)
        start = y if status == 0 else np.ones(2)
    free = newton.solve([[1.0, 1.0]], p, tolerance=1e-12)
    assert found.iterations.sum() < free.iterations.sum()


def test_newton_solves_nothing(newton: Newton) -> None:
    found = newton.solve(np.empty((0, 2)), np.empty((0, 2)), tolerance=1e-9)
    assert found.y.shape == (0, 2)
    solved = newton.solve([[2.0, 3.0]], [[4.0, 9.0]], tolerance=1e-9, max_iterations=0)
    assert (solved.status[0], solved.iterations[0]) == (0, 0)
    capped = newton.solve([[2.0, 3.0]], [[4.0, 9.1]], tolerance=1e-9, max_iterations=0)
    assert (capped.status[0], capped.iterations[0]) == (1, 0)


def test_newton_refuses_other_programs(newton: Newton) -> None:
    with pytest.raises(ValueError, match="step program"):
        native_newton(pendulum())
    with pytest.raises(ValueError, match="y0"):
        newton.solve(np.ones((3, 3)), np.ones((3, 2)), tolerance=1.0)
    with pytest.raises(ValueError, match="rows"):
        newton.solve(np.ones((3, 2)), np.ones((4, 2)), tolerance=1.0)


def test_objects_reload() -> None:
    image = compile_newton(square_roots())
    found = Newton(image, square_roots()).solve([[1.0, 1.0]], [[4.0, 9.0]], tolerance=1e-12)
    np.testing.assert_allclose(found.y, [[2.0, 3.0]])


# ---- Implicit steps in native code and in NumPy follow the same rules


def pendulum_of_irk5(x: Array, u: Array, p: Array) -> Array:
    """θ̈ = u - p1 sin θ - p2 tanh(θ̇ / p3), and a stiff first-order lag of θ."""
    rate = u[0] - p[0] * sin(x[0]) - p[1] * tanh(x[1] / p[2])
    return pack([x[1], rate, 1e5 * (sin(x[0]) - x[2]) + u[1]])


def law(x: Array, w: Array, p: Array) -> Array:
    return pack([w[0] - x[0] * p[0], w[1] + x[1]])


# Languages of which there is a compiler, and the method in each.
LANGUAGES: dict[str, Any] = {"c": CompiledIrk5} if COMPILERS else {}
LANGUAGES |= {"cuda": EmulatedIrk5} if shutil.which("g++") or shutil.which("clang++") else {}
SMOOTH, ROUGH = [9.0, 0.5, 1.0], [9.0, 5.0, 1e-6]


@cache
def drivers(controlled: bool = False, width: int | str | None = None) -> tuple[ImplicitIntegrator, NumpyIrk5]:
    """In native code of a width, or in a language, and in NumPy."""
    program = make_program(pendulum_of_irk5, None, {"x": (3,), "u": (2,), "p": (3,)})
    control = make_program(law, None, {"x": (3,), "w": (2,), "p": (3,)}) if controlled else None
    plain = NumpyIrk5(program, TileKernel, control)
    if isinstance(width, str):
        return LANGUAGES[width](program, control), plain
    image = compile_irk5(program, JitOptions(width=width), control)
    return Irk5(image, program, control), plain


def both(*arrays: Any, control: bool = False, width: int | str | None = None, **how: Any) -> Irk5Result:
    native, plain = (driver.integrate(*arrays, **how) for driver in drivers(control, width))
    assert (native.status, native.completed) == (plain.status, plain.completed)
    # Rounding may end an iteration one round sooner.
    assert native.evaluations == pytest.approx(plain.evaluations, rel=0.02)
    assert native.jacobians == pytest.approx(plain.jacobians, rel=0.05)
    np.testing.assert_allclose(plain.x, native.x, rtol=0.0, atol=1e-9)
    return native


@pytest.mark.parametrize("width", [2, 8, *LANGUAGES])
@pytest.mark.parametrize("rows", ["constant", "held", "stages"])
@pytest.mark.parametrize("p", [SMOOTH, ROUGH])
def test_states(width: int | str, rows: str, p: list[float]) -> None:
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


@pytest.mark.parametrize("width", [None, *LANGUAGES])
def test_a_control_is_held(width: str | None) -> None:
    rng = np.random.default_rng(7)
    w = rng.normal(size=(6, 2))
    slow = both([1.0, 0.5, 0.2], w, SMOOTH, control=True, width=width, h=0.02, steps=18, every=3, held=3)
    fine = both([1.0, 0.5, 0.2], np.repeat(w, 3, axis=0), SMOOTH, control=True, h=0.02, steps=18, every=3)
    assert np.max(np.abs(slow.x - fine.x)) > 1e-4
    s = np.array([1.0, 0.5, 0.2])
    for k in range(6):
        u = np.asarray(law(s, w[k], np.array(SMOOTH)), dtype=float)
        s = drivers()[0].integrate(s, u[None], SMOOTH, h=0.02, steps=3).x[-1]
        np.testing.assert_allclose(slow.x[k], s, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("width", [None, *LANGUAGES])
def test_steps_that_fail(width: str | None) -> None:
    result = both([1.0, np.nan, 0.2], [[0.0, 0.0]], SMOOTH, width=width, h=0.05, steps=3)
    assert (result.status, result.completed) == (1, 0)
    assert np.isnan(result.x).all()
    for driver in drivers():
        with pytest.raises(ValueError, match="of one initial state, not of 2"):
            driver.integrate(np.zeros((2, 3)), [[0.0, 0.0]], SMOOTH, h=0.1, steps=1)
