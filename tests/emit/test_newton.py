"""Newton's iteration of all targets against a plain loop in Python: the same statuses, steps and unknowns."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from nacelle.compile import make_program
from nacelle.emit.jit.newton import compile_newton
from nacelle.emit.newton import CONVERGED, ITERATION_CAP, NOT_FINITE, NewtonSolver, NumpyNewton
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.kinematics.solve import newton_steps
from nacelle.kinematics.solve.inverse import inverse_kinematics
from nacelle.spatial.physics import input_shapes
from nacelle.spatial.scalar import Array, absolute, divide, maximum, pack
from support import drivers
from support.uncompiled import named_robot, poses_around

CONVENIENT = ("native", "numpy")
"""Targets whose solvers follow paths and are bound to buffers."""


def root_step(y: Array, p: Array) -> dict[str, Array]:
    """y^2 = p, and y z = 1: from zero the step is not finite; for p < 0 there is no root."""
    f = y[0] * y[0] - p[0]
    g = y[0] * y[1] - 1.0
    d0 = -divide(f, 2.0 * y[0])
    d1 = -divide(g + d0 * y[1], y[0])
    return {"dy": pack([d0, d1]), "error": maximum(absolute(f), absolute(g))}


@cache
def solvers(name: str) -> dict[str, NewtonSolver]:
    """Solvers around one program: the root in every target, or the forward step of a robot in two."""
    if name == "root":
        return drivers.solvers(make_program(root_step, None, {"y": (2,), "p": (1,)}))
    robot = named_robot(name)
    step = newton_steps.loop_closing_step if mechanism_of(robot).unknown_count else newton_steps.pose_step
    program = make_program(step, robot, input_shapes(step, robot))
    kernel = drivers.numpy_kernel()(program)
    return {
        "native": drivers.Newton(compile_newton(program), program),
        "numpy": NumpyNewton(program, kernel),
    }


def plain(
    y: Array,
    p: Array,
    *,
    tolerance: float,
    max_iterations: int = 50,
    max_step: Any = np.inf,
    polish: bool = False,
) -> tuple[Array, int, int]:
    """One sample: where it ends, steps taken, status."""
    program = solvers("root")["numpy"].program
    with np.errstate(all="ignore"):
        for taken in range(max_iterations + 1):
            *step, error = program.evaluate([*map(float, y), *map(float, p)])
            dy = np.array(step)
            length = float(np.linalg.norm(dy / max_step))
            dy = dy / max(1.0, length)
            if error <= tolerance:
                return (y + dy if polish and np.isfinite(length) else y), taken, CONVERGED
            if not (np.isfinite(error) and np.isfinite(length)):
                return y, taken, NOT_FINITE
            if taken < max_iterations:
                y = y + dy
    return y, max_iterations, ITERATION_CAP


def assert_plain(solver: NewtonSolver, y0: Array, p: Array, **rules: Any) -> None:
    found = solver.solve(y0, p, **rules)
    count = len(found.y)
    starts, numbers = np.broadcast_to(y0, (count, 2)), np.broadcast_to(p, (count, 1))
    true = [plain(*pair, **rules) for pair in zip(starts, numbers, strict=True)]
    np.testing.assert_array_equal(found.status, [status for *_, status in true])
    np.testing.assert_array_equal(found.iterations, [taken for _, taken, _ in true])
    np.testing.assert_allclose(found.y, np.reshape([y for y, *_ in true], (-1, 2)), rtol=1e-9)


@pytest.mark.parametrize("count", [1, 3, 8, 150])
@pytest.mark.parametrize(
    "rules",
    [
        {"tolerance": 1e-10},
        {"tolerance": 1e-10, "max_step": 0.3},
        {"tolerance": 1e-3, "max_step": np.array([0.3, 0.5]), "polish": True},
        *({"tolerance": 1e-10, "max_iterations": cap} for cap in (0, 1, 3)),
    ],
)
def test_samples(count: int, rules: dict[str, Any]) -> None:
    rng = np.random.default_rng(count)
    p, y0 = rng.uniform(0.1, 9.0, (count, 1)), rng.uniform(0.5, 2.0, (count, 2))
    for solver in solvers("root").values():
        assert_plain(solver, y0, p[:1], **rules)
        assert_plain(solver, y0[:1], p, **rules)
    if count > 2:
        p[count // 3], y0[count // 2] = np.nan, (0.0, 1.0)
    for solver in solvers("root").values():
        assert_plain(solver, y0, p, **rules)


def test_statuses() -> None:
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
    for solver in solvers("root").values():
        result = solver.solve(start, p, tolerance=1e-13, max_iterations=20)
        assert result.status.tolist() == [case[2] for case in cases]
        assert result.iterations[2:].tolist() == [1, 0, 0, 0, 0, 20]
        np.testing.assert_allclose(result.y[:2], [[2.0, 0.5], [np.sqrt(2), np.sqrt(0.5)]], atol=1e-12)


def test_follow_a_path() -> None:
    """From sample to sample; behind one that was not solved it starts from y0 again."""
    p = np.linspace(1.0, 3.0, 40)[:, None]
    p[20] = np.nan
    for solver in (solvers("root")[name] for name in CONVENIENT):
        found = solver.solve([[1.0, 1.0]], p, tolerance=1e-12, follow=True)
        start = np.ones(2)
        for k, parameter in enumerate(p):
            y, *counts = plain(start, parameter, tolerance=1e-12)
            np.testing.assert_allclose(found.y[k], y, rtol=1e-12)
            assert [found.iterations[k], found.status[k]] == counts
            start = np.ones(2) if k == 20 else y
        alone = solver.solve([[1.0, 1.0]], p, tolerance=1e-12)
        assert np.sum(found.iterations) < np.sum(alone.iterations)


@pytest.mark.parametrize("count", [0, 64, 1001])
@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_samples(count: int, threads: int) -> None:
    p = np.linspace(0.5, 9.0, count)[:, None]
    for solver in (solvers("root")[name] for name in CONVENIENT):
        found = solver.solve([[1.0, 1.0]], p, tolerance=1e-13, threads=threads)
        assert np.all(found.status == CONVERGED)
        np.testing.assert_allclose(found.y, np.hstack([np.sqrt(p), 1.0 / np.sqrt(p)]), rtol=1e-12)


@pytest.mark.parametrize("name", ["3rps", "3rrr", "fivebar"])
def test_robots(name: str) -> None:
    """Steps of robots of the library: dependent joints from the pose, or the pose from the actuators."""
    robot = named_robot(name)
    known = mechanism_of(robot)
    x = poses_around(robot, 19, seed=4)
    if known.unknown_count:
        start, wanted = known.reference[1], x
    else:
        start, wanted = known.reference[0], inverse_kinematics(robot, x, limits=False).q
    for how in ({}, {"max_step": 0.01}, {"follow": True}, {"polish": True}):
        # Below 1e-12 the last step is decided by rounding, which differs between the two.
        native, other = (
            solver.solve(start, wanted, tolerance=1e-9, **how) for solver in solvers(name).values()
        )
        assert np.all(native.status == CONVERGED)
        np.testing.assert_array_equal(native.status, other.status)
        np.testing.assert_array_equal(native.iterations, other.iterations)
        np.testing.assert_allclose(native.y, other.y, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["root", "3rps"])
@pytest.mark.parametrize("polish", [False, True])
def test_bound_buffers_get_the_same_solution(name: str, polish: bool) -> None:
    settings = {"tolerance": 1e-13, "max_iterations": 8, "max_step": 0.7, "polish": polish}
    for solver in (solvers(name)[target] for target in CONVENIENT):
        start, p, y = np.zeros(solver.n), np.zeros(solver.k), np.zeros(solver.n)
        solve = solver.bind(start, p, y, **settings)
        if name == "root":
            cases = [([1.0, 1.0], [4.0]), ([1.0, 1.0], [-1.0]), ([1.0, 1.0], [-2.0]), ([1.0, 1.0], [2.0])]
        else:
            robot = named_robot(name)
            cases = [(mechanism_of(robot).reference[1], x) for x in poses_around(robot, 3)]
        for start[:], p[:] in cases:
            found = solver.solve(start, p, **settings)
            assert solve() == found.status[0]
            np.testing.assert_array_equal(y, found.y[0])


def test_refusals() -> None:
    with pytest.raises(ValueError, match="not a step program"):
        compile_newton(drivers.pendulum())
    native = solvers("root")["native"]
    with pytest.raises(ValueError, match="y0"):
        native.solve(np.ones((3, 3)), np.ones((3, 1)), tolerance=1.0)
    with pytest.raises(ValueError, match="rows"):
        native.solve(np.ones((3, 2)), np.ones((4, 1)), tolerance=1.0)
    for sizes in ((1, 1, 2), (2, 2, 2), (2, 1, 3)):
        with pytest.raises(ValueError, match="must be a C-contiguous float64 array"):
            native.bind(*(np.zeros(size) for size in sizes), tolerance=1e-9)
