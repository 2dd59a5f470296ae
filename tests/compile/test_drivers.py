"""Native drivers around functions: roots by Newton's method, steps of Runge and Kutta of order four."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.compile.drivers import compile_newton, compile_rk4
from nacelle.model.robot import Robot
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, absolute, pack
from support.library import library_robot

ROBOT = library_robot("fivebar")


@physics(y=(1,), p=(1,))
def root_step(robot: Robot, y: Array, p: Array) -> dict[str, Array]:
    """Newton's step of y^2 = p."""
    gap = y[0] * y[0] - p[0]
    return {"dy": pack([-gap / (2.0 * y[0])]), "error": pack([absolute(gap)])}


@physics(x=(2,), u=(1,), p=(1,))
def oscillation(robot: Robot, x: Array, u: Array, p: Array) -> Array:
    """x'' = u - p x."""
    return pack([x[1], u[0] - p[0] * x[0]])


@physics(x=(2,), w=(1,), p=(1,))
def push(robot: Robot, x: Array, w: Array, p: Array) -> Array:
    """A constant force: w = u."""
    return pack([w[0]])


def test_newton() -> None:
    solver = compile_newton(root_step, ROBOT, use_cache=False)
    p = np.array([[4.0], [2.0], [9.0]])
    found = solver.solve(np.ones((3, 1)), p, tolerance=1e-14, max_iterations=20)
    np.testing.assert_allclose(found.y[:, 0], [2.0, np.sqrt(2.0), 3.0], rtol=1e-14)
    assert not np.any(found.status)
    few = solver.solve(np.ones((3, 1)), p, tolerance=1e-14, max_iterations=1)
    assert np.all(few.status == 1)


@pytest.mark.parametrize("control", [None, push])
def test_rk4_is_of_order_four(control) -> None:
    """x = 1 - cos(2 t) over 4 from rest under u = 1, p = 4."""
    driver = compile_rk4(oscillation, ROBOT, control=control, use_cache=False)
    errors = []
    for steps in (20, 40):
        u = np.ones((steps, 1))
        run = driver.integrate(np.zeros((1, 2)), u, np.array([4.0]), h=1.0 / steps, steps=steps)
        errors.append(abs(run.x[0, -1, 0] - 0.25 * (1.0 - np.cos(2.0))))
    assert errors[1] < 1e-6
    assert 12.0 < errors[0] / errors[1] < 20.0


def test_a_sampled_driver_needs_a_control() -> None:
    with pytest.raises(ValueError, match="needs a control"):
        compile_rk4(oscillation, ROBOT, sampled=True, use_cache=False)
