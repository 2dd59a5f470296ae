"""Compiled functions: arguments, drivers, buffers, what is kept in the cache, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compile import BatchRk4, compile_function, compile_irk5, drivers, make_program, refusals
from nacelle.compile.compiled import batch_shapes, match_arguments
from nacelle.compile.drivers import compile_rk4
from nacelle.compile.function import DIFFERENTIABLE
from nacelle.compile.native import compile_program, runnable_target
from nacelle.compile.specification import Specification, WithCheck, parameter_groups
from nacelle.compile.specification import make_program as specification_make_program
from nacelle.dynamics.physics import Physics
from nacelle.emit.irk5 import NumpyIrk5
from nacelle.emit.registry import target, warn_once
from nacelle.emit.store import Store
from nacelle.errors import CompileError, CompilerWarning
from nacelle.model.numbers import GROUPS
from nacelle.model.robot import Robot
from nacelle.program.derivative import tangent_program
from nacelle.simulation.flow import flow
from nacelle.spatial.physics import Form, forget_refusals, form_for, physics
from nacelle.spatial.scalar import Array, pack
from support import fake_cupy, square_root
from support.library import library_robot
from support.uncompiled import named_robot

# ---- arguments
#
# Arguments of compiled functions: by position or name, with leading batch dimensions that broadcast.

INPUTS = {"x": (2,), "y": (0,), "M": (2, 3)}


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((0, 1, 2, 3), {}, "takes 3 inputs"),
        ((0,), {"x": 1}, "given twice"),
        ((), {"z": 1}, "no input 'z'"),
        ((0,), {}, "needs the inputs M"),
    ],
)
def test_mistakes(given: tuple[int, ...], named: dict[str, int], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        match_arguments("f", INPUTS, given, named)


def test_batches_broadcast() -> None:
    inputs = {"x": (2,), "M": (2, 3)}
    batches, batch = batch_shapes("f", inputs, (np.zeros((5, 2)), np.ones((4, 1, 2, 3))))
    assert batches == [(5,), (4, 1)]
    assert batch == (4, 5)
    with pytest.raises(CompileError, match="do not broadcast"):
        batch_shapes("f", inputs, (np.zeros((5, 2)), np.ones((4, 2, 3))))
    with pytest.raises(CompileError, match="has shape"):
        batch_shapes("f", {"x": (2,)}, (np.zeros(3),))


# ---- Many robots by fixed steps: on the processor and on a device that is replaced


@physics(s=(2,), u=(1,), w=(1,))
def falling(robot, s, u, w):
    """A mass of 2 kg on a spring w, driven by u."""
    return pack([s[1], (u[0] - w[0] * s[0]) / 2.0])


def test_processor_and_device_agree() -> None:
    robot = nacelle.load("prrrp")
    rng = np.random.default_rng(0)
    s, u, w = rng.normal(size=(6, 2)), rng.normal(size=(6, 1)), np.array([3.0])
    counts = {"h": 0.01, "steps": 20, "every": 10}
    native = BatchRk4(falling, robot).integrate(s, u, (w,), None, **counts)
    rate = np.sqrt(1.5)
    middle = u[:, 0] / 3.0
    angle = rate * 0.2
    exact = middle + (s[:, 0] - middle) * np.cos(angle) + s[:, 1] / rate * np.sin(angle)
    assert np.allclose(native.final[:, 0], exact, atol=1e-9)
    with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
        driver = BatchRk4(falling, robot, target="cuda")
        assert not driver.has_parameters
        moved = driver.integrate(cupy.asarray(s), cupy.asarray(u), (w,), None, **counts)
    assert np.allclose(moved.x, native.x, rtol=1e-13)
    assert np.array_equal(moved.completed, native.completed)


# ---- closing
#
# The derivative of Newton's step by what is given, where the loops are closed, is that of the solution.


def test_the_step_has_the_derivative_of_the_solution() -> None:
    closing = square_root.square_root_closing()
    assert closing.step is not None
    program = make_program(closing.step, closing.robot, {"y": (1,), "x": (2,)})
    x, dx = np.array([2.5, 0.7]), np.array([0.3, -0.2])
    (y,) = closing.find(x[None], None)[0]
    slope = tangent_program(program, by=("x",)).evaluate([y, *x, *dx])[0]
    np.testing.assert_allclose(slope, (dx[0] + 2 * x[1] * dx[1]) / (2 * y), rtol=1e-14)


# ---- A compiled function as its caller holds it: batches, names, fixed buffers, source


def test_batches_buffers_and_source() -> None:
    square = compile_function(
        lambda x, s: {"y": x * x + s}, inputs={"x": (3,), "s": (1,)}, target="numpy", cache=False
    )
    x, s = np.random.default_rng(0).normal(size=(4, 5, 3)), np.array([2.0])
    np.testing.assert_allclose(square(x, s=s), x * x + 2.0, rtol=1e-15)
    assert square.count.total == 6
    assert square.cost > 0.0
    assert "double" in square.source("c")
    with pytest.raises(CompileError, match="needs the inputs s"):
        square(x)
    held, shift, out = np.zeros(3), np.ones(1), np.empty(3)
    run = square.bind(x=held, s=shift, y=out)
    for value in (1.0, 4.0):
        held[:] = value
        run()
        np.testing.assert_array_equal(out, value * value + 1.0)


@pytest.mark.parametrize("target", ["numpy", "jit"])
def test_results_go_where_the_caller_wants_them(target: str) -> None:
    both = compile_function(
        lambda x: {"y": x * x, "s": x[0] + x[1]}, inputs={"x": (2,)}, target=target, cache=False
    )
    x = np.random.default_rng(0).normal(size=(3, 4, 2))
    out = {"y": np.empty((3, 4, 2)), "s": np.empty((3, 4))}
    found = both(x, out=out)
    assert all(found[name] is out[name] for name in out)
    np.testing.assert_array_equal(out["y"], x * x)
    np.testing.assert_array_equal(out["s"], x[..., 0] + x[..., 1])
    read_only = np.empty((3, 4))
    read_only.flags.writeable = False
    for wrong, message in (
        ({"y": out["y"]}, "has y, not y, s"),
        (out | {"s": np.empty(12)}, r"out 's' has shape \(12,\), not \(3, 4\)"),
        (out | {"s": np.empty((3, 4), np.float32)}, "C-contiguous float64"),
        (out | {"s": np.empty((4, 3)).T}, "C-contiguous float64"),
        (out | {"s": read_only}, "can be written to"),
        (out | {"y": x}, "shares its memory"),
    ):
        with pytest.raises(CompileError, match=message):
            both(x, out=wrong)


# ---- Compiling for libraries that differentiate: what is refused, before any work


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_without_the_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(nacelle.errors.CompileError, match=rf"nacelle-robotics\[{name}\]"):
        nacelle.compile(lambda x: x, inputs={"x": (2,)}, target=name)


def test_refused() -> None:
    pytest.importorskip("jax", reason="JAX is not installed: nacelle-robotics[jax]")
    robot = library_robot("3rps")
    model = nacelle.model(robot, "gravity_forces")
    with pytest.raises(nacelle.errors.CompileError, match="leave geometry out of the parameters"):
        model.compile(target="jax", parameters="input")
    with pytest.raises(nacelle.errors.CompileError, match="leave `derivatives` out"):
        model.compile(target="jax", parameters=["inertia"], derivatives=["g"])


# ---- drivers
#
# Native drivers around functions: roots by Newton's method, steps of Runge and Kutta of order four.

ROBOT = library_robot("fivebar")


@physics(x=(2,), u=(1,), p=(1,))
def oscillation(robot: Robot, x: Array, u: Array, p: Array) -> Array:
    """x'' = u - p x."""
    return pack([x[1], u[0] - p[0] * x[0]])


@physics(x=(2,), w=(1,), p=(1,))
def push(robot: Robot, x: Array, w: Array, p: Array) -> Array:
    """A constant force: w = u."""
    return pack([w[0]])


@pytest.mark.parametrize("control", [None, push])
def test_rk4_is_of_order_four(control) -> None:
    """x = 1 - cos(2 t) over 4 from rest under u = 1, p = 4."""
    driver = compile_rk4(oscillation, ROBOT, control=control, cache=False)
    errors = []
    for steps in (20, 40):
        u = np.ones((steps, 1))
        run = driver.integrate(np.zeros((1, 2)), u, np.array([4.0]), h=1.0 / steps, steps=steps)
        errors.append(abs(run.x[0, -1, 0] - 0.25 * (1.0 - np.cos(2.0))))
    assert errors[1] < 1e-6
    assert 12.0 < errors[0] / errors[1] < 20.0


def test_a_sampled_driver_needs_a_control() -> None:
    with pytest.raises(ValueError, match="needs a control"):
        compile_rk4(oscillation, ROBOT, sampled=True, cache=False)


# ---- Implicit steps around physics: kept in the cache, the same without a compiler


def test_native_cached_and_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot, store = library_robot("fivebar"), Store(tmp_path)
    arguments = ([0.0, 0.28, 0.3, 0.0], [[0.2, -0.1]], [0.0, 0.0, 0.0, 1.0])
    how = {"h": 0.01, "steps": 5}
    options = {"physics": Physics(smooth=0.01)}
    native = compile_irk5(flow, robot, options=options, cache=store)
    again = compile_irk5(flow, robot, options=options, cache=store)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1
    monkeypatch.setattr(drivers, "runnable_target", lambda name: target("numpy"))
    plain = compile_irk5(flow, robot, options=options, cache=store)
    assert isinstance(plain, NumpyIrk5)
    first, second, third = (driver.integrate(*arguments, **how) for driver in (native, again, plain))
    np.testing.assert_array_equal(first.x, second.x)
    np.testing.assert_allclose(third.x, first.x, rtol=0.0, atol=1e-9)
    assert first.evaluations == third.evaluations
    assert np.max(np.abs(first.x[-1] - arguments[0])) > 1e-2


# ---- Native code of a program by its part's name: kept, and the same from the cache


def _square(x):
    return x * x


def test_parts_are_kept_apart(tmp_path: Path) -> None:
    specification = Specification(_square, None, {"x": (2,)})
    double = Specification(lambda x: x + x, None, {"x": (2,)}).program()
    store, jit = Store(tmp_path), runnable_target("jit")
    for again in (False, True):
        first = compile_program(specification, specification.program_with_check, jit, store)
        second = compile_program(specification, lambda: WithCheck(double, None), jit, store, "other")
        assert first.from_cache is again
        np.testing.assert_array_equal(first([2.0, 3.0]), [4.0, 9.0])
        np.testing.assert_array_equal(second([2.0, 3.0]), [4.0, 6.0])
    plain = compile_program(specification, specification.program_with_check, runnable_target("numpy"), store)
    assert plain.target == "numpy"


# ---- Forms that are out of use for a robot: kept in the user's cache, with the reason


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NACELLE_CACHE", str(tmp_path))
    for forget in (forget_refusals, warn_once.cache_clear, refusals._load_refusals.cache_clear):
        forget()
    yield
    for forget in (forget_refusals, warn_once.cache_clear, refusals._load_refusals.cache_clear):
        forget()


def test_a_later_process_knows_the_reason() -> None:
    robot, other = library_robot("fivebar"), library_robot("delta")
    assert refusals.refusal_reason(robot) == ""
    refusals.record_refusal(robot, (other,), Form.COMPACT, "forces were off")
    for _ in range(2):
        with pytest.warns(CompilerWarning, match="fivebar: forces were off"):
            assert refusals.refusal_reason(robot) == "forces were off"
        with pytest.warns(CompilerWarning, match="delta: forces were off"):
            refusals.refusal_reason(other)
        assert form_for(robot.hash) is form_for(other.hash) is Form.JOINTS
        # As if the process began.
        forget_refusals()
        warn_once.cache_clear()
        refusals._load_refusals.cache_clear()


def test_another_cache_knows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = library_robot("fivebar")
    refusals.record_refusal(robot, (), Form.COMPACT, "forces were off")
    forget_refusals()
    monkeypatch.setenv("NACELLE_CACHE", str(tmp_path / "another"))
    assert refusals.refusal_reason(robot) == ""


# ---- specification
#
# What determines a program: shapes, groups of numbers, options; and errors that name the function.


def test_groups_of_numbers() -> None:
    assert parameter_groups("constant") == ()
    assert parameter_groups("input") == GROUPS
    assert parameter_groups(("inertia", "friction")) == ("inertia", "friction")
    with pytest.raises(CompileError, match="did you mean 'inertia'"):
        parameter_groups("inertias")


def test_what_cannot_be_traced_is_named() -> None:
    def faulty(robot: Any, x: Any) -> Any:
        return x[5]

    with pytest.raises(CompileError, match="faulty cannot be traced"):
        specification_make_program(faulty, named_robot("fivebar"), {"x": (2,)})


# ---- The target that runs a program: any of the registry, NumPy where there is no compiler


def test_names() -> None:
    assert runnable_target("numpy").name == "numpy"
    with pytest.raises(CompileError, match="fortran"):
        runnable_target("fortran")
    with pytest.raises(CompileError, match="gives source only"):
        runnable_target("c")
