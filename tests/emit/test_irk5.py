"""Implicit steps: coefficients, order and stability by closed forms; all targets follow the same rules."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from nacelle.compile import make_program
from nacelle.emit.irk5 import (
    ALPHA,
    BETA,
    GAMMA,
    STAGES,
    T_INVERSE,
    ImplicitIntegrator,
    Irk5Result,
    NotConvergedError,
    NumpyIrk5,
    Radau,
    T,
    extrapolation_weights,
)
from nacelle.emit.jit.irk5 import Irk5, compile_irk5
from nacelle.emit.jit.target import JitOptions
from nacelle.spatial.scalar import Array, pack, sin, tanh
from support.cc import COMPILERS
from support.drivers import HAS_CPP_COMPILER, CompiledIrk5, EmulatedIrk5, numpy_kernel


def test_coefficients() -> None:
    """A = T Λ⁻¹ T⁻¹ integrates 1, t, t² exactly to every stage; the stages are Radau's points."""
    L = np.array([[GAMMA, 0.0, 0.0], [0.0, ALPHA, BETA], [0.0, -BETA, ALPHA]])
    A = T @ np.linalg.inv(L) @ T_INVERSE
    for k in (1, 2, 3):
        np.testing.assert_allclose(A @ STAGES ** (k - 1), STAGES**k / k, rtol=0.0, atol=1e-15)
    # Order five: the last row integrates up to t⁴.
    for k in (4, 5):
        assert A[2] @ STAGES ** (k - 1) == pytest.approx(1.0 / k, abs=1e-15)

    def cubic(t: Any) -> Any:
        return t * (1.0 - 2.0 * t + 0.5 * t * t)

    for longer in (0.25, 1.0, 2.0):
        start = extrapolation_weights(longer) @ cubic(STAGES)
        np.testing.assert_allclose(start, cubic(1.0 + longer * STAGES) - cubic(1.0), atol=1e-13)


@pytest.mark.parametrize("z", [-0.3, -3.0, -50.0, -1e6, 2.0j, 300.0j, -10.0 + 40.0j])
def test_the_stability_function(z: complex) -> None:
    """One step of x' = λ x gives the approximant of Padé with numerator 2 and denominator 3, zero at -∞."""
    a, b = np.real(z), np.imag(z)
    M = np.array([[a, -b], [b, a]])
    x = Radau(2).step(lambda s, c: s @ M.T, np.array([1.0, 0.0]), 1.0)
    exact = (1 + 2 * z / 5 + z**2 / 20) / (1 - 3 * z / 5 + 3 * z**2 / 20 - z**3 / 60)
    # Differences for J have eight digits, and the iteration stops at ten.
    assert complex(*x) == pytest.approx(exact, abs=1e-8)
    assert abs(complex(*x)) < 1.0


def van_der_pol(s: Array, c: Array, stiffness: float = 1.0) -> Array:
    return np.column_stack([s[:, 1], stiffness * (1 - s[:, 0] ** 2) * s[:, 1] - s[:, 0]])


def test_order_five_on_a_nonlinear_problem() -> None:
    start, end = np.array([2.0, 0.0]), 4.0
    exact = solve_ivp(
        lambda t, s: van_der_pol(s[None], np.zeros(1))[0], (0, end), start, "DOP853", rtol=1e-13, atol=1e-15
    ).y[:, -1]
    errors = []
    for steps in (40, 80):
        radau, s = Radau(2), start
        for _ in range(steps):
            s = radau.step(van_der_pol, s, end / steps)
        errors.append(np.max(np.abs(s - exact)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(5.0, abs=0.3)
    assert errors[1] > 1e-12


@pytest.mark.parametrize("stiffness", [1e4, 1e10])
def test_stiff_parts_follow_what_is_slow(stiffness: float) -> None:
    """Prothero and Robinson's problem, x' = -λ (x - sin t) + cos t: no step need follow λ."""
    now = [0.0]

    def rates(s: Array, c: Array) -> Array:
        t = now[0] + 0.1 * c[:, None]
        return -stiffness * (s - np.sin(t)) + np.cos(t)

    radau, s = Radau(1), np.array([1.0])
    for step in range(20):
        now[0] = 0.1 * step
        s = radau.step(rates, s, 0.1)
    assert s[0] == pytest.approx(np.sin(2.0), abs=1e-8)
    assert radau.evaluations < 20 * 12


def test_jacobians_are_kept_and_steps_are_halved() -> None:
    """A linear problem needs one Jacobian; one with a jump needs parts of steps, and is met as exactly."""
    radau, s = Radau(2), np.array([1.0, 0.0])
    for _ in range(50):
        s = radau.step(lambda s, c: s @ np.array([[0.0, -900.0], [1.0, -3.0]]), s, 0.01)
    assert radau.jacobians == 1

    def rubbed(s: Array, c: Array) -> Array:
        return np.column_stack([s[:, 1], -np.tanh(s[:, 1] / 1e-7) - 0.3 * s[:, 0]])

    radau, s = Radau(2), np.array([0.0, 1.0])
    for _ in range(40):
        s = radau.step(rubbed, s, 0.05)
    # It comes to rest where -0.3 x² / 2 - x + 1/2 = 0, and the spring is too weak to move it.
    assert s[0] == pytest.approx((np.sqrt(1.0 + 0.3) - 1.0) / 0.3, abs=1e-4)
    assert abs(s[1]) < 1e-6

    with pytest.raises(NotConvergedError):
        Radau(1).step(lambda s, c: np.full_like(s, np.nan), np.array([1.0]), 0.1)


def test_parts_of_a_step_know_their_times() -> None:
    """Stages of halved steps have times within the step: x' = g(c) is integrated whatever is halved."""
    radau, seen = Radau(1), []
    radau._level = 2

    def rates(s: Array, c: Array) -> Array:
        seen.extend(c)
        return 4.0 * c[:, None] ** 3

    assert radau.step(rates, np.array([0.0]), 1.0)[0] == pytest.approx(1.0, abs=1e-9)
    assert min(seen) == 0.0
    assert max(seen) == 1.0


# ---- All targets against NumPy


def pendulum(x: Array, u: Array, p: Array) -> Array:
    """θ̈ = u - p1 sin θ - p2 tanh(θ̇ / p3), and a stiff first-order lag of θ."""
    rate = u[0] - p[0] * sin(x[0]) - p[1] * tanh(x[1] / p[2])
    return pack([x[1], rate, 1e5 * (sin(x[0]) - x[2]) + u[1]])


def law(x: Array, w: Array, p: Array) -> Array:
    return pack([w[0] - x[0] * p[0], w[1] + x[1]])


# Languages of which there is a compiler, and the method in each.
LANGUAGES: dict[str, Any] = {"c": CompiledIrk5} if COMPILERS else {}
LANGUAGES |= {"cuda": EmulatedIrk5} if HAS_CPP_COMPILER else {}
SMOOTH, ROUGH = [9.0, 0.5, 1.0], [9.0, 5.0, 1e-6]


@cache
def drivers(controlled: bool = False, width: int | str | None = None) -> tuple[ImplicitIntegrator, NumpyIrk5]:
    """In native code of a width, or in a language, and in NumPy."""
    program = make_program(pendulum, None, {"x": (3,), "u": (2,), "p": (3,)})
    control = make_program(law, None, {"x": (3,), "w": (2,), "p": (3,)}) if controlled else None
    plain = NumpyIrk5(program, numpy_kernel(), control)
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
