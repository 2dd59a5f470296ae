"""Newton and RK4 in C: memory, names, single precision; numbers are compared where all targets are."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from nacelle.emit.c.driver import newton_source, rk4_source
from nacelle.emit.c.implicit import irk5_source
from nacelle.emit.c.target import COptions
from nacelle.emit.newton import CONVERGED
from nacelle.emit.registry import TargetError
from nacelle.program.program import Program, Variable
from support.cc import COMPILERS, SANITIZE, WARNINGS, compile_shared, pointer, run_executable
from support.drivers import FLAGS, circle_and_line, pendulum

# A machine with Python, pip and make alone has no C compiler; the other targets are tested all the same.
pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang is installed")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_sanitizers(compiler: str) -> None:
    files = newton_source(circle_and_line(), COptions(name="meet_it"))
    files |= rk4_source(pendulum(), COptions(name="pendulum_it"))
    files["main.c"] = """
        #include <math.h>
        #include "meet_it_newton.h"
        #include "pendulum_it_rk4.h"
        int main(void) {
            double y[6] = {1.0, 0.5, 0.0, 0.0, NAN, 1.0};
            const double p[2] = {4.0, 0.7};
            int status[3];
            meet_it_newton_batch(3, y, p, 0, 1e-12, 30, NULL, 0, status, NULL, NULL);
            double x[2] = {1.0, 0.0};
            const double u[10] = {0.0, 1.0, INFINITY};
            double states[2];
            const int end = pendulum_it_rk4(x, u, 1, p, 0.01, 10, 2, states, NULL);
            return !(status[0] == 0 && status[1] == 2 && status[2] == 2 && end == 2);
        }
    """
    run_executable(files, compiler, ("-std=c99", *SANITIZE))


@pytest.mark.parametrize("compiler", COMPILERS)
def test_hostile_names(compiler: str) -> None:
    names = ("tolerance", "step")
    files = newton_source(circle_and_line("*/ int", names), COptions())
    files |= newton_source(circle_and_line("other one", ("i", "error")), COptions())
    files |= rk4_source(pendulum("k1\n", ("at", "k", "h")), COptions())
    files |= rk4_source(pendulum("状态", ("x", "x", "x_stride")), COptions())
    lib = compile_shared(files, compiler, FLAGS)
    y, p = np.array([1.0, 0.5]), np.array([4.0, 0.7])
    assert (
        lib.other_one_newton(pointer(y), pointer(p), ctypes.c_double(1e-12), 30, None, 0, None, None)
        == CONVERGED
    )


@pytest.mark.parametrize("compiler", COMPILERS)
def test_sanitizers_of_implicit_steps(compiler: str) -> None:
    """A run that ends and one that fails, in memory of which nothing was set; then a step without inputs."""
    files = irk5_source(pendulum(names=("work", "h", "steps")), COptions(name="pendulum_it"))
    decay = Program(
        "decay_it",
        (Variable("x"), Variable("u", (0,)), Variable("p", (0,))),
        (Variable("dx"),),
        (("input", 0), ("neg", 0)),
        (1,),
    )
    files |= irk5_source(decay)
    files["main.c"] = """
        #include <math.h>
        #include "pendulum_it_irk5.h"
        #include "decay_it_irk5.h"
        int main(void) {
            static pendulum_it_irk5_work work;
            decay_it_irk5_work small;
            double x[2] = {1.0, 0.0}, states[4], y[1] = {1.0};
            const double u[30] = {0.0}, p[2] = {4.0, 0.7}, bad[1] = {NAN};
            size_t counts[4];
            int end = pendulum_it_irk5(&work, x, u, p, 3, 1, 0.01, 10, 5, 1, states, counts);
            end += counts[0] != 10 || counts[3] == 0 || states[2] != x[0] || x[0] > 0.99;
            end += pendulum_it_irk5(&work, x, bad, p, 0, 0, 0.01, 3, 0, 1, NULL, NULL) != 1;
            end += decay_it_irk5(&small, y, NULL, NULL, 0, 0, 0.1, 10, 0, 1, NULL, NULL);
            return end || fabs(y[0] - exp(-1.0)) > 1e-8;
        }
    """
    run_executable(files, compiler, (*WARNINGS, *SANITIZE))


def test_programs_of_another_form() -> None:
    with pytest.raises(TargetError, match="type double"):
        irk5_source(pendulum(), COptions(real="float"))
    with pytest.raises(TargetError, match="not a derivative program"):
        irk5_source(circle_and_line())
    with pytest.raises(TargetError, match="a Newton step has"):
        newton_source(pendulum())
    with pytest.raises(TargetError, match="a derivative has"):
        rk4_source(circle_and_line())
    with pytest.raises(TargetError, match="no control program"):
        rk4_source(pendulum(), control=circle_and_line())
    with pytest.raises(TargetError, match="no control that could be sampled"):
        rk4_source(pendulum(), sampled=True)


def test_without_parameters() -> None:
    code = (("input", 0), ("neg", 0), ("abs", 0))
    x = (Variable("x"),)
    decay = Program("decay", x, (Variable("dx"),), code, (1,))
    step = Program("step", x, (Variable("dx"), Variable("error")), code, (1, 2))
    lib = compile_shared(rk4_source(decay) | newton_source(step), COMPILERS[0], FLAGS)
    state = np.ones(1)
    count = ctypes.c_size_t(100)
    assert (
        lib.decay_eval_rk4(pointer(state), ctypes.c_double(0.01), count, ctypes.c_size_t(0), None, None) == 0
    )
    np.testing.assert_allclose(state, math.exp(-1.0), rtol=1e-9)
    assert lib.step_eval_newton(pointer(state), ctypes.c_double(0.0), 3, None, 0, None, None) == CONVERGED


@pytest.mark.parametrize("every", [0, 3, 11])
def test_rows_that_are_stored(every: int) -> None:
    """As many as fit, and none behind them; states and the number of steps need not be asked for."""
    run = compile_shared(rk4_source(pendulum("pendulum_it")), COMPILERS[0], FLAGS).pendulum_it_rk4
    rows, steps, step = 10 // every if every else 0, ctypes.c_size_t(10), ctypes.c_double(0.01)
    u, p, states = np.sin(np.arange(10.0))[:, None], np.array([9.81, 0.1]), np.full((rows + 1, 2), 7.0)
    ends = []
    for kept in (pointer(states), None):
        x = np.array([1.0, 0.0])
        inputs = (pointer(x), pointer(u), ctypes.c_size_t(1), pointer(p))
        assert run(*inputs, step, steps, ctypes.c_size_t(every), kept, None) == 0
        ends.append(x)
    np.testing.assert_array_equal(*ends)
    assert np.all(states[:rows] != 7.0)
    assert np.all(states[rows] == 7.0)


def test_float() -> None:
    """To the rounding of single precision; without a batch there is no entry for it."""
    options = {"real": "float", "batch": False}
    files = rk4_source(pendulum(), COptions(name="falls_down", **options))
    files |= newton_source(circle_and_line(), COptions(name="meets_here", **options))
    lib = compile_shared(files, COMPILERS[0], FLAGS)
    x, u, p = (np.array(values, np.float32) for values in ([1.0, 0.0], [0.3], [9.81, 0.1]))
    exact = solve_ivp(
        lambda _, s: pendulum().evaluate([*s, 0.3, 9.81, 0.1]), (0.0, 1.0), x, rtol=1e-12, atol=1e-13
    ).y[:, -1]
    size, many = ctypes.c_size_t(0), ctypes.c_size_t(100)
    arguments = (pointer(x), pointer(u), size, pointer(p), ctypes.c_float(0.01), many, size, None, None)
    assert lib.falls_down_rk4(*arguments) == 0
    np.testing.assert_allclose(x, exact, rtol=0.0, atol=1e-5)
    y, p = np.array([1.0, 0.5], np.float32), np.array([4.0, 0.7], np.float32)
    assert (
        lib.meets_here_newton(pointer(y), pointer(p), ctypes.c_float(1e-5), 30, None, 0, None, None)
        == CONVERGED
    )
    np.testing.assert_allclose(y @ y, 4.0, rtol=1e-5)
    assert not hasattr(lib, "meets_here_newton_batch")
