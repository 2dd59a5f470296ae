"""The Runge-Kutta method of all targets against a plain loop in Python; what it refuses."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.jit.rk4 import compile_rk4
from nacelle.emit.rk4 import Integrator, NumpyRk4
from nacelle.spatial.scalar import Array, pack, sin
from support.cc import COMPILERS
from support.drivers import circle_and_line, integrators, numpy_kernel

STEPS, H = 18, 0.05


def pendulum(x: Array, u: Array, p: Array) -> Array:
    """θ̈ = u - p1 sin θ - p2 θ̇."""
    return pack([x[1], u[0] - p[0] * sin(x[0]) - p[1] * x[1]])


def explosion(x: Array, u: Array, p: Array) -> Array:
    """The equation ẋ = x² + u: infinite after a while."""
    return pack([x[0] * x[0] + u[0]])


def law(x: Array, w: Array, p: Array) -> Array:
    return pack([w[0] - x[0] * p[0] + w[1]])


PENDULUM = make_program(pendulum, None, {"x": (2,), "u": (1,), "p": (2,)})
EXPLOSION = make_program(explosion, None, {"x": (1,), "u": (1,), "p": (0,)})
LAW = make_program(law, None, {"x": (2,), "w": (2,), "p": (2,)})


@cache
def drivers(name: str) -> dict[str, Integrator]:
    program = EXPLOSION if name == "explosion" else PENDULUM
    return integrators(program, LAW if name == "controlled" else None)


def plain(
    f: Any, x: Array, u: Array, p: Array, *, h: float, steps: int, held: int = 1, law: Any = None
) -> Any:
    """States after every step, until one is not finite; u has rows, or three rows a step (steps, 3, m)."""
    states = []
    for step in range(steps):
        if u.ndim == 3:
            begin, middle, end = u[step]
        else:
            row = u[step // held % len(u)]
            if step % held == 0:
                given = row if law is None else law(x, row, p)
            begin = middle = end = given
        k1 = f(x, begin, p)
        k2 = f(x + h / 2 * k1, middle, p)
        k3 = f(x + h / 2 * k2, middle, p)
        k4 = f(x + h * k3, end, p)
        x = np.asarray(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), dtype=float)
        if not np.all(np.isfinite(x)):
            break
        states.append(x)
    return states


@pytest.mark.parametrize("count", [1, 2, 150])
@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize(
    ("shape", "held", "controlled"),
    [
        ((1, 1), 1, False),
        ((STEPS, 1), 1, False),
        ((STEPS, 3, 1), 1, False),
        ((STEPS // 3, 1), 3, False),
        ((1, 2), 1, True),
        ((STEPS, 2), 1, True),
        ((STEPS // 3, 2), 3, True),
    ],
)
def test_states(count: int, every: int, shape: tuple[int, ...], held: int, controlled: bool) -> None:
    """Inputs are one row for all steps, rows that are held, rows of the stages, or those of a control."""
    rng = np.random.default_rng(count)
    x0, p = rng.normal(size=(count, 2)), rng.uniform(0.5, 2.0, (count, 2))
    u = rng.normal(size=shape)
    how = {"h": H, "steps": STEPS, "held": held}
    given = law if controlled else None
    true = np.array([plain(pendulum, x0[k], u, p[k], **how, law=given) for k in range(count)])
    assert np.ptp(true) > 0.1
    for name, driver in drivers("controlled" if controlled else "pendulum").items():
        if len(shape) == 3 and name in COMPILERS:
            continue
        found = driver.integrate(x0, u, p, **how, every=every, threads=2)
        np.testing.assert_allclose(found.x, true[:, every - 1 :: every], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found.final, true[:, -1], rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(found.completed, STEPS)
        np.testing.assert_array_equal(found.status, 0)


def test_inputs_at_the_stages() -> None:
    """The equation θ̈ = t², which the method integrates exactly."""
    begin = H * np.arange(STEPS)
    u = np.stack([begin, begin + H / 2, begin + H], axis=1)[..., None] ** 2
    t = begin + H
    found = drivers("pendulum")["host"].integrate([[0.0, 0.0]], u, [[0.0, 0.0]], h=H, steps=STEPS)
    np.testing.assert_allclose(found.x[0], np.stack([t**4 / 12, t**3 / 3], axis=1), rtol=1e-12, atol=1e-15)


def test_states_that_are_not_finite() -> None:
    x0, u, none = np.array([[0.1], [5.0], [-1.0], [3.0], [np.nan], [40.0]]), np.zeros((1, 1)), np.zeros(0)
    with np.errstate(all="ignore"):
        true = [plain(explosion, x, u, none, h=0.1, steps=30) for x in x0]
    lengths = [len(states) for states in true]
    assert {0, 30} < set(lengths)
    for driver in drivers("explosion").values():
        found = driver.integrate(x0, u, none[None], h=0.1, steps=30)
        np.testing.assert_array_equal(found.completed, lengths)
        np.testing.assert_array_equal(found.status, [0 if length == 30 else 2 for length in lengths])
        for k, states in enumerate(true):
            np.testing.assert_allclose(found.x[k, : len(states)], np.reshape(states, (-1, 1)), rtol=1e-9)
            np.testing.assert_allclose(found.final[k], states[-1] if states else x0[k], rtol=1e-9)
            assert np.isnan(found.x[k, len(states) :]).all()
        for count in (1, 6):
            still = driver.integrate(x0[:count], u, none[None], h=0.1, steps=0)
            np.testing.assert_array_equal(still.final, x0[:count])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"u": np.ones((7, 1))}, "u has 7 rows for 12 steps"),
        ({"u": np.ones((12, 2, 1))}, r"not \(steps, 3, 1\)"),
        ({"u": np.ones((12, 3, 1)), "held": 3}, "held over 3 steps"),
        ({"u": np.ones((3, 1)), "held": 3}, "u has 3 rows for 4 steps"),
        ({"u": np.ones((3, 1)), "held": 3, "steps": 10}, "10 steps are no multiple"),
        ({"x0": np.ones((3, 3))}, r"x0 has the shape \(3, 3\), not \(N, 2\)"),
        ({"p": np.ones((2, 2))}, "different numbers of rows"),
        ({"steps": -1}, "must be positive"),
    ],
)
def test_arguments_that_do_not_fit(changed: dict[str, Any], message: str) -> None:
    how = {"x0": np.ones((3, 2)), "u": np.ones((1, 1)), "p": np.ones((1, 2)), "h": 0.1, "steps": 12}
    for driver in drivers("pendulum").values():
        with pytest.raises(ValueError, match=message):
            driver.integrate(**{**how, **changed})


def test_programs_that_do_not_fit() -> None:
    for make in (lambda f, u: NumpyRk4(f, numpy_kernel(), u), lambda f, u: compile_rk4(f, control=u)):
        with pytest.raises(ValueError, match="no control program"):
            make(EXPLOSION, LAW)
        with pytest.raises(ValueError, match="not a derivative program"):
            make(circle_and_line(), None)
