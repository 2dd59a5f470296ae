"""Methods in NumPy against the native drivers and closed forms: Runge and Kutta, implicit steps, Newton."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import nacelle
from nacelle.compile import make_program
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
from nacelle.emit.jit.newton import Newton, compile_newton
from nacelle.emit.jit.rk4 import Rk4, compile_rk4
from nacelle.emit.newton import CONVERGED, ITERATION_CAP, NOT_FINITE, NewtonResult, NumpyNewton
from nacelle.emit.python.tiles import TileKernel
from nacelle.emit.rk4 import NumpyRk4, Rk4Result
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve import newton_steps
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.simulation import native_flow
from nacelle.simulation.flow import flow
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array, absolute, divide, maximum, pack, sin
from support.uncompiled import any_robot, poses_around


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
    if name == "pendulum":
        program = make_program(pendulum, None, {"x": (2,), "u": (1,), "p": (2,)})
    elif name == "explosion":
        program = make_program(explosion, None, {"x": (1,), "u": (1,), "p": (0,)})
    else:
        program = make_program(flow, any_robot(name), input_shapes(flow, any_robot(name)), minimised=False)
    control = make_program(law, None, {"x": (2,), "w": (2,), "p": (2,)}) if held else None
    native = Rk4(compile_rk4(program, control=control), program, control)
    return native, NumpyRk4(program, TileKernel, control)


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
    monkeypatch.setattr(native_flow, "compile_rk4", lambda *_, **__: driver)
    native_flow.loop_driver.cache_clear()
    plain = nacelle.simulate(robot, x, until=0.05, method="rk4", step=0.001)
    native_flow.loop_driver.cache_clear()
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
    control = make_program(law, None, {"x": (2,), "w": (2,), "p": (2,)})
    explosive = make_program(explosion, None, {"x": (1,), "u": (1,), "p": (0,)})
    with pytest.raises(ValueError, match="no control program"):
        NumpyRk4(explosive, TileKernel, control)
    with pytest.raises(ValueError, match="not a derivative program"):
        NumpyRk4(make_program(lambda x: x, None, {"x": ()}), TileKernel)


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


# ---- The implicit method: its coefficients, order and stability, against closed forms


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


# ---- Newton's iteration in NumPy against the native driver: the same statuses, steps and unknowns


def root_step(y: Array, p: Array) -> dict[str, Array]:
    """y^2 = p, and y z = 1: from zero the step is not finite; for p < 0 there is no root."""
    f = y[0] * y[0] - p[0]
    g = y[0] * y[1] - 1.0
    d0 = -divide(f, 2.0 * y[0])
    d1 = -divide(g + d0 * y[1], y[0])
    return {"dy": pack([d0, d1]), "error": maximum(absolute(f), absolute(g))}


@cache
def solvers(name: str) -> tuple[Newton, NumpyNewton]:
    """Both drivers around one program: the root, or the forward step of a robot."""
    if name == "root":
        program = make_program(root_step, None, {"y": (2,), "p": (1,)})
    else:
        robot = any_robot(name)
        step = newton_steps.closing_step if mechanism_of(robot).ny else newton_steps.forward_step
        program = make_program(step, robot, input_shapes(step, robot))
    return Newton(compile_newton(program), program), NumpyNewton(program, TileKernel(program))


def assert_alike(one: NewtonResult, two: NewtonResult, tolerance: float = 1e-12) -> None:
    np.testing.assert_array_equal(one.status, two.status)
    np.testing.assert_array_equal(one.iterations, two.iterations)
    good = one.status == CONVERGED
    np.testing.assert_allclose(one.y[good], two.y[good], rtol=0, atol=tolerance)


def test_statuses() -> None:
    native, plain = solvers("root")
    # p, the start, and how it ends: for p = -1 the first step leads to 0, where the next is infinite; for
    # p = -2 the steps go on for ever.
    cases = (
        (4.0, (1.0, 1.0), CONVERGED),
        (2.0, (1.0, 1.0), CONVERGED),
        (-1.0, (1.0, 1.0), NOT_FINITE),
        (np.nan, (1.0, 1.0), NOT_FINITE),
        (9.0, (0.0, 1.0), NOT_FINITE),
        (0.25, (0.5, 2.0), CONVERGED),
        (np.inf, (1.0, 1.0), NOT_FINITE),
        (-2.0, (1.0, 1.0), ITERATION_CAP),
    )
    p, start = np.array([[case[0]] for case in cases]), np.array([case[1] for case in cases])
    results = [solver.solve(start, p, tolerance=1e-13, max_iterations=20) for solver in (native, plain)]
    assert_alike(*results)
    for result in results:
        assert result.status.tolist() == [case[2] for case in cases]
        assert result.iterations[2:].tolist() == [1, 0, 0, 0, 0, 20]
    np.testing.assert_allclose(results[0].y[:2], [[2.0, 0.5], [np.sqrt(2), np.sqrt(0.5)]], atol=1e-12)


@pytest.mark.parametrize("cap", [0, 1, 2, 3, 5])
def test_iteration_cap(cap: int) -> None:
    native, plain = solvers("root")
    p = np.linspace(0.5, 30.0, 13)[:, None]
    results = [
        solver.solve([[1.0, 1.0]], p, tolerance=1e-13, max_iterations=cap) for solver in (native, plain)
    ]
    assert_alike(*results)
    np.testing.assert_allclose(results[0].y, results[1].y, rtol=1e-13)
    assert ITERATION_CAP in results[0].status
    assert np.max(results[0].iterations) <= cap


@pytest.mark.parametrize("longest", [0.1, 0.7, np.inf])
def test_longest_step(longest: float) -> None:
    """Steps are cut, so more of them are taken; where they lead does not change."""
    native, plain = solvers("root")
    p = np.linspace(0.3, 16.0, 21)[:, None]
    results = [
        solver.solve([[1.0, 1.0]], p, tolerance=1e-13, max_iterations=60, max_step=longest)
        for solver in (native, plain)
    ]
    assert_alike(*results)
    assert np.all(results[0].status == CONVERGED)
    free = native.solve([[1.0, 1.0]], p, tolerance=1e-13)
    assert np.sum(results[0].iterations) >= np.sum(free.iterations)
    one = [
        solver.solve([[1.0, 1.0]], [[16.0]], tolerance=0.0, max_iterations=1, max_step=0.1)
        for solver in (native, plain)
    ]
    for result in one:
        assert np.linalg.norm(result.y[0] - 1.0) == pytest.approx(0.1, rel=1e-12)


def test_follow_a_path() -> None:
    native, plain = solvers("root")
    p = np.linspace(1.0, 3.0, 12)[:, None]
    results = [solver.solve([[1.0, 1.0]], p, tolerance=1e-12, follow=True) for solver in (native, plain)]
    assert_alike(*results)
    alone = native.solve([[1.0, 1.0]], p, tolerance=1e-12)
    assert np.sum(results[0].iterations) < np.sum(alone.iterations)


def test_follow_a_path_past_a_sample_that_fails() -> None:
    """Behind a sample that was not solved both start from the same place."""
    native, plain = solvers("root")
    p = np.linspace(1.0, 3.0, 12)[:, None]
    p[4] = np.nan
    results = [solver.solve([[1.0, 1.0]], p, tolerance=1e-12, follow=True) for solver in (native, plain)]
    assert_alike(*results)
    assert results[0].status[4] == NOT_FINITE
    assert np.all(np.delete(results[0].status, 4) == CONVERGED)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 1001])
def test_numbers_of_samples(count: int) -> None:
    native, plain = solvers("root")
    p = np.linspace(0.5, 9.0, count)[:, None] if count else np.zeros((0, 1))
    results = [solver.solve([[1.0, 1.0]], p, tolerance=1e-13) for solver in (native, plain)]
    assert results[0].y.shape == results[1].y.shape == (count, 2)
    assert_alike(*results)
    shared = [
        solver.solve(np.ones((max(count, 1), 2)), [[2.0]], tolerance=1e-13) for solver in (native, plain)
    ]
    assert_alike(*shared)


@pytest.mark.parametrize("name", ["3rps", "3rrr", "fivebar"])
def test_robots(name: str) -> None:
    """Steps of robots of the library: dependent joints from the pose, or the pose from the actuators."""
    robot = any_robot(name)
    known = mechanism_of(robot)
    native, plain = solvers(name)
    x = poses_around(robot, 19, seed=4)
    if known.ny:
        start, wanted = known.reference[1], x
    else:
        start, wanted = known.reference[0], inverse_kinematics(robot, x, limits=False).actuators
    for how in ({}, {"max_step": 0.01}, {"follow": True}):
        # Below 1e-12 the last step is decided by rounding, which differs between the two.
        results = [solver.solve(start, wanted, tolerance=1e-9, **how) for solver in (native, plain)]
        assert_alike(*results, tolerance=1e-9)
        assert np.all(results[0].status == CONVERGED)


@pytest.mark.parametrize("name", ["root", "3rps"])
def test_polish_takes_one_step_more(name: str) -> None:
    native, plain = solvers(name)
    if name == "root":
        y0, p = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]]), np.array([[4.0], [2.0], [4.0]])
    else:
        robot = any_robot(name)
        p = poses_around(robot, 3)
        y0 = np.broadcast_to(mechanism_of(robot).reference[1], (len(p), native.n))
    # A coarse tolerance, so that the step more is not rounding.
    settings = {"tolerance": 1e-3, "max_iterations": 12, "max_step": 0.5}
    for solver in (native, plain):
        coarse = solver.solve(y0, p, **settings)
        fine = solver.solve(y0, p, **settings, polish=True)
        np.testing.assert_array_equal(coarse.status, fine.status)
        np.testing.assert_array_equal(coarse.iterations, fine.iterations)
        good = coarse.status == CONVERGED
        step = solver.solve(coarse.y[good], p[good], tolerance=0.0, max_iterations=1)
        np.testing.assert_array_equal(fine.y[good], step.y)
        assert np.any(fine.y[good] != coarse.y[good])
    assert_alike(native.solve(y0, p, **settings, polish=True), plain.solve(y0, p, **settings, polish=True))


@pytest.mark.parametrize("name", ["root", "3rps"])
@pytest.mark.parametrize("polish", [False, True])
def test_bound_buffers_get_the_same_solution(name: str, polish: bool) -> None:
    settings = {"tolerance": 1e-13, "max_iterations": 8, "max_step": 0.7, "polish": polish}
    for solver in solvers(name):
        start, p, y = np.zeros(solver.n), np.zeros(solver.k), np.zeros(solver.n)
        solve = solver.bind(start, p, y, **settings)
        if name == "root":
            cases = [([1.0, 1.0], [4.0]), ([1.0, 1.0], [-1.0]), ([1.0, 1.0], [-2.0]), ([1.0, 1.0], [2.0])]
        else:
            robot = any_robot(name)
            cases = [(mechanism_of(robot).reference[1], x) for x in poses_around(robot, 3)]
        for start[:], p[:] in cases:
            found = solver.solve(start, p, **settings)
            assert solve() == found.status[0]
            np.testing.assert_array_equal(y, found.y[0])


def test_buffers_of_wrong_shape_are_refused() -> None:
    native, _ = solvers("root")
    for sizes in ((1, 1, 2), (2, 2, 2), (2, 1, 3)):
        with pytest.raises(ValueError, match="must be a C-contiguous float64 array"):
            native.bind(*(np.zeros(size) for size in sizes), tolerance=1e-9)
