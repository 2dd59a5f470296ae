"""Newton's iteration in NumPy against the native driver: the same statuses, steps and unknowns."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.jit.newton import Newton, compile_newton
from nacelle.emit.newton import CONVERGED, ITERATION_CAP, NOT_FINITE, NewtonResult, NumpyNewton
from nacelle.emit.registry import target
from nacelle.kinematics.inverse import inverse_kinematics
from nacelle.kinematics.iteration import newton_steps
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array, absolute, divide, maximum, pack
from support.uncompiled import any_robot, poses_around


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
    kernel = target("numpy").kernel
    assert kernel is not None
    return Newton(compile_newton(program), program), NumpyNewton(program, kernel(program))


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
    """The steps of real robots: unknowns beside the pose, or the pose from the actuators."""
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
