"""The implicit method: its coefficients, order and stability, against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from nacelle.emit.irk5 import (
    ALPHA,
    BETA,
    GAMMA,
    STAGES,
    T_INVERSE,
    NotConvergedError,
    Radau,
    T,
    extrapolation,
)

Array = np.ndarray


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
        start = extrapolation(longer) @ cubic(STAGES)
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
