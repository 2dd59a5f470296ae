"""The sampled form of the Runge-Kutta drivers of all targets against a plain loop in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compile import compile_rk4 as compile_driver
from nacelle.compile import drivers as compiled_drivers
from nacelle.compile import make_program
from nacelle.emit.jit import target as jit
from nacelle.emit.jit.rk4 import Rk4, compile_rk4
from nacelle.emit.registry import target
from nacelle.emit.rk4 import Integrator, NumpyRk4
from nacelle.emit.store import Store
from nacelle.simulation.flow import flow
from nacelle.spatial.scalar import Array, pack
from support.drivers import integrators, numpy_kernel
from support.library import library_robot

H_STEP = 0.02


def plant(s: Array, u: Array, p: Array) -> Array:
    """The double integrator s̈ = p u1; nothing depends on u2."""
    return pack([s[1], p[0] * u[0]])


def proportional(s: Array, w: Array, p: Array) -> Array:
    """A law without memory, P = [p; gains]."""
    return pack([p[1] * (w[0] - s[0]) - p[2] * s[1], 1.0 / w[1]])


def integral(s: Array, w: Array, p: Array) -> Array:
    """A PI law with a filter of the velocity: z = [integral; filtered], P = [p; gains]."""
    _, _, total, slow = s
    error = w[0] - s[0]
    u = p[1] * error - p[2] * slow + p[3] * total
    return pack([u, 1.0 / w[1], total + 0.1 * error, (slow + 0.5 * (s[1] - slow)) / w[2]])


# Law, its memory nz and its numbers of w and P.
LAWS: dict[str, tuple[Callable[..., Array], int, int, int]] = {
    "proportional": (proportional, 0, 2, 3),
    "integral": (integral, 2, 3, 4),
}


@cache
def drivers(law: str) -> dict[str, Integrator]:
    function, nz, nw, np_ = LAWS[law]
    program = make_program(plant, None, {"s": (2,), "u": (2,), "p": (1,)})
    control = make_program(function, None, {"s": (2 + nz,), "w": (nw,), "p": (np_,)})
    return integrators(program, control, sampled=True)


def loop(law: str, state: Array, w: Array, p: Array, steps: int, held: int, delay: int) -> list[Array]:
    """States after every step, until one is not finite."""
    function, nz, _, _ = LAWS[law]
    s, z, u = state[:2], state[2 : 2 + nz], state[2 + nz :]
    states = []
    for step in range(steps):
        if step % held == 0:
            given = function(np.concatenate([s, z]), w[step // held % len(w)], p)
            waiting, z = given[:2], given[2:]
        if step % held == delay:
            u = waiting
        k1 = plant(s, u, p)
        k2 = plant(s + H_STEP / 2 * k1, u, p)
        k3 = plant(s + H_STEP / 2 * k2, u, p)
        k4 = plant(s + H_STEP * k3, u, p)
        s = s + H_STEP / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        state = np.concatenate([s, z, u]).astype(float)
        if not np.all(np.isfinite(state)):
            break
        states.append(state)
    return states


def case(law: str, count: int, periods: int) -> tuple[Array, Array, Array]:
    """Initial states, rows of w and parameters, all samples different."""
    _, nz, nw, np_ = LAWS[law]
    rng = np.random.default_rng(count)
    x0 = rng.normal(size=(count, 4 + nz))
    return x0, rng.uniform(0.5, 1.5, (periods, nw)), rng.uniform(0.5, 2.0, (count, np_))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("held", "delay"), [(1, 0), (4, 0), (4, 1), (4, 3)])
@pytest.mark.parametrize("count", [1, 11])
def test_states(law: str, held: int, delay: int, count: int) -> None:
    x0, w, p = case(law, count, 24 // held)
    true = np.array([loop(law, x0[j], w, p[j], 24, held, delay) for j in range(count)])
    for driver in drivers(law).values():
        for every in (1, 5):
            how = {"h": H_STEP, "steps": 24, "held": held, "delay": delay, "every": every, "threads": 2}
            found = driver.integrate(x0, w, p, **how)
            np.testing.assert_allclose(found.x, true[:, every - 1 :: every], rtol=1e-14, atol=1e-14)
            np.testing.assert_allclose(found.final, true[:, -1], rtol=1e-14, atol=1e-14)
            np.testing.assert_array_equal(found.completed, 24)
            np.testing.assert_array_equal(found.status, 0)


@pytest.mark.parametrize("law", LAWS)
def test_runs_in_blocks_are_one_run(law: str) -> None:
    """Nothing but X is carried from one call to the next; P is shared by all samples."""
    x0, w, p = case(law, 5, 6)
    how = {"h": H_STEP, "held": 4, "delay": 3}
    for driver in drivers(law).values():
        whole = driver.integrate(x0, w, p[:1], steps=24, **how)
        x, parts = x0, []
        for rows in (w[:1], w[1:4], w[4:]):
            part = driver.integrate(x, rows, p[:1], steps=4 * len(rows), **how)
            x = part.final
            parts.append(part.x)
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole.x)
        np.testing.assert_array_equal(driver.integrate(x0, w[:1], p, steps=0, **how).final, x0)


# Column of w that is zero in the third period, and after how many steps of that X is not finite.
@pytest.mark.parametrize(("column", "delay", "after"), [(1, 0, 0), (1, 2, 2), (2, 2, 0)])
def test_what_is_not_finite(column: int, delay: int, after: int) -> None:
    """The second input, on which no state depends, is infinite where it acts; the memory where it is made.

    One sample starts with an input that is not finite, one fails by its states in the first period.
    """
    x0, w, p = case("integral", 7, 6)
    w[2, column] = 0.0
    x0[1, 4], p[2, 0], p[2, 3], x0[2, 2] = np.nan, 1e200, 1e200, 1.0
    with np.errstate(all="ignore"):
        true = [loop("integral", x0[j], w, p[j], 24, 4, delay) for j in range(7)]
    lengths = [len(states) for states in true]
    assert lengths[0] == 8 + after
    assert lengths[1] == (0 if delay else 8 + after)
    assert lengths[2] < 4
    for driver in drivers("integral").values():
        found = driver.integrate(x0, w, p, h=H_STEP, steps=24, held=4, delay=delay)
        np.testing.assert_array_equal(found.completed, lengths)
        np.testing.assert_array_equal(found.status, 2)
        for j, states in enumerate(true):
            last = states[-1] if states else x0[j]
            np.testing.assert_allclose(
                found.x[j, : len(states)], np.reshape(states, (-1, 6)), rtol=1e-14, atol=1e-14
            )
            np.testing.assert_allclose(found.final[j], last, rtol=1e-14, atol=1e-14)
            assert np.isnan(found.x[j, len(states) :]).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"delay": 4}, "delay = 4 must be at least 0 and less than held = 4"),
        ({"delay": -1}, "delay = -1 must be at least 0"),
        ({"steps": 23}, "no multiple"),
        ({"x0": np.ones((1, 4))}, r"x0 has the shape \(1, 4\), not \(N, 6\)"),
        ({"p": np.ones((1, 1))}, r"p has the shape \(1, 1\), not \(N, 4\)"),
        ({"u": np.ones((5, 3))}, "u has 5 rows for 6 steps"),
        ({"u": np.ones((24, 3, 3))}, "one row a period"),
    ],
)
def test_arguments_that_do_not_fit(changed: dict[str, Any], message: str) -> None:
    x0, u, p = case("integral", 1, 6)
    how = {"x0": x0, "u": u, "p": p, "h": H_STEP, "steps": 24, "held": 4, "delay": 1}
    for driver in drivers("integral").values():
        with pytest.raises(ValueError, match=message):
            driver.integrate(**{**how, **changed})


def test_programs_that_do_not_fit() -> None:
    program = make_program(plant, None, {"s": (2,), "u": (2,), "p": (1,)})
    kernel = numpy_kernel()
    with pytest.raises(ValueError, match="no control that could be sampled"):
        NumpyRk4(program, kernel, sampled=True)
    with pytest.raises(ValueError, match="sampled control only"):
        NumpyRk4(program, kernel).integrate([[0.0, 0.0]], [[0.0, 0.0]], [[1.0]], h=0.1, steps=2, delay=1)

    def other(s: Array, w: Array, p: Array) -> Array:
        return pack([s[0], w[0]])

    # One output too few for the memory; fewer states or parameters than the plant has.
    for states, parameters in ((3, 1), (1, 1), (2, 0)):
        control = make_program(other, None, {"s": (states,), "w": (1,), "p": (parameters,)})
        for make in (compile_rk4, lambda *given, **how: NumpyRk4(given[0], kernel, given[2], **how)):
            with pytest.raises(ValueError, match="no sampled control program"):
                make(program, jit.DEFAULT, control, sampled=True)
    with pytest.raises(ValueError, match="needs a control"):
        compile_driver(flow, library_robot("fivebar"), sampled=True)


@nacelle.dynamics.physics(S=(6,), w=(2,), P=(6,))
def follow(robot: nacelle.Robot, S: Array, w: Array, P: Array) -> Array:
    """Forces along the error of the tip with its integral; P = [quat_0; gains]."""
    error = w - S[:2]
    return pack([*(P[4] * (error - 0.05 * S[2:4]) + P[5] * S[4:]), *(S[4:] + 0.01 * error)])


@nacelle.dynamics.physics(S=(6,), w=(2,), P=(6,))
def follow_less(robot: nacelle.Robot, S: Array, w: Array, P: Array) -> Array:
    """The same with half of the error."""
    return follow(robot, S, S[:2] + 0.5 * (w - S[:2]), P)


def test_a_robot_with_a_controller(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same motion in native code and, where there is no compiler, in NumPy; the cache keeps it."""
    robot = library_robot("fivebar")
    store = Store(tmp_path)
    native = compile_driver(flow, robot, control=follow, sampled=True, cache=store)
    assert any(path.is_file() for path in tmp_path.rglob("*"))
    kept = compile_driver(flow, robot, control=follow, sampled=True, cache=store)
    other = compile_driver(flow, robot, control=follow_less, sampled=True, cache=store)
    monkeypatch.setattr(compiled_drivers, "runnable_target", lambda _: target("numpy"))
    plain = compile_driver(flow, robot, control=follow, sampled=True, cache=store)
    assert (type(native), type(plain)) == (Rk4, NumpyRk4)
    x = nacelle.reference_pose(robot)
    x0 = [[*x, 0.0, 0.0, 0.0, 0.0, 0.1, -0.1]] * 3
    w = x + 0.01 * np.random.default_rng(2).normal(size=(10, 2))
    p = [[0.0, 0.0, 0.0, 1.0, gain, 2.0 * gain] for gain in (5.0, 10.0, 20.0)]
    how = {"h": 1e-3, "steps": 40, "held": 4, "delay": 3}
    found, same = native.integrate(x0, w, p, **how), plain.integrate(x0, w, p, **how)
    np.testing.assert_array_equal(found.status, 0)
    np.testing.assert_array_equal(kept.integrate(x0, w, p, **how).x, found.x)
    # Another control beside the same robot is another entry of the cache.
    assert np.max(np.abs(other.integrate(x0, w, p, **how).x - found.x)) > 1e-6
    np.testing.assert_allclose(found.x, same.x, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.x[:, :3, 6:], [[[0.1, -0.1]] * 3] * 3)
    assert np.ptp(found.x[:, -1, :2], axis=0).max() > 1e-6
