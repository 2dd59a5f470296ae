"""The native RK4 driver against plain loops in Python."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.emit.jit import target as jit
from nacelle.emit.jit.rk4 import Rk4, compile_rk4
from nacelle.program.program import Program, Variable
from support.driver_programs import pendulum, square_roots

Array = np.ndarray


def native_rk4(
    program: Program, options: jit.JitOptions = jit.DEFAULT, control: Program | None = None
) -> Rk4:
    return Rk4(compile_rk4(program, options, control), program, control)


def plain_rk4(program: Program, x: Array, u: Array, p: Array, h: float, steps: int) -> list[Array]:
    def f(x: Array, held: Array) -> Array:
        return np.array(program.evaluate([*map(float, x), *map(float, held), *map(float, p)]))

    states = []
    for step in range(steps):
        held = u[step % len(u)]
        k1 = f(x, held)
        k2 = f(x + h / 2 * k1, held)
        k3 = f(x + h / 2 * k2, held)
        k4 = f(x + h * k3, held)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        if not np.all(np.isfinite(x)):
            break
        states.append(x)
    return states


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
        states = plain_rk4(pendulum(), x0[k], u, p[k], 0.05, 20)
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
            states = plain_rk4(explosion(), x0[k], np.empty((1, 0)), np.empty(0), 0.1, 20)
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
            x = plain_rk4(pendulum(), x, w[step : step + 1] - x[0], p[k], 0.05, 1)[0]
            np.testing.assert_allclose(found.x[k, step], x, rtol=1e-11, atol=1e-12)
    with pytest.raises(ValueError, match="no control program"):
        native_rk4(explosion(), control=law)
