"""Where LLVM fails: less optimisation, then NumPy, with the right numbers and one warning; remembered."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacelle
from nacelle.compile import compile_function, compile_newton, compile_rk4
from nacelle.emit import registry
from nacelle.emit.jit import attempts, compiler
from nacelle.emit.newton import NumpyNewton
from nacelle.emit.rk4 import NumpyRk4
from nacelle.emit.store import Store
from nacelle.errors import CompilerWarning
from nacelle.spatial.physics import physics
from nacelle.spatial.scalar import Array, absolute, cos, divide, pack, sin
from support.faulty_compiler import FAULTS, logged_requests, script

LIMITS = {"seconds": 0.4, "memory": 1 << 26}


@physics(y=(1,), p=(1,))
def root(robot: Any, y: Array, p: Array) -> dict[str, Array]:
    f = y[0] * y[0] - p[0]
    return {"dy": pack([-divide(f, 2.0 * y[0])]), "error": absolute(f)}


@physics(x=(2,), u=(1,), p=(1,))
def pendulum(robot: Any, x: Array, u: Array, p: Array) -> Array:
    return pack([x[1], u[0] - p[0] * sin(x[0])])


@physics(x=(2,), w=(1,), p=(1,))
def law(robot: Any, x: Array, w: Array, p: Array) -> Array:
    return pack([w[0] - 0.5 * x[1]])


@physics(x=(3,))
def waves(robot: Any, x: Array) -> Array:
    return pack([sin(x[0]) * cos(x[1]), x[0] / x[2]])


def function_case(robot: Any, store: Store | None) -> bool:
    made = compile_function(waves, robot, cache=store or False)
    x = np.random.default_rng(1).normal(size=(50, 3))
    expected = np.stack([np.sin(x[:, 0]) * np.cos(x[:, 1]), x[:, 0] / x[:, 2]], 1)
    np.testing.assert_allclose(made(x), expected, rtol=1e-14)
    step = made.bind()
    step["x"][:] = x[0]
    step()
    np.testing.assert_allclose(step["out"], made(x[0]), rtol=1e-15)
    return made.target == "numpy"


def newton_case(robot: Any, store: Store | None) -> bool:
    made = compile_newton(root, robot, cache=store or False)
    p = np.linspace(0.5, 9.0, 20)[:, None]
    found = made.solve([[1.0]], p, tolerance=1e-13)
    np.testing.assert_allclose(found.y, np.sqrt(p), rtol=1e-13)
    assert not found.status.any()
    return isinstance(made, NumpyNewton)


def rk4_case(robot: Any, store: Store | None, control: Any = None) -> bool:
    made = compile_rk4(pendulum, robot, control=control, cache=store or False)
    x = made.integrate([[0.3, 0.0], [1.0, 0.1]], [[0.2]], [[9.81]], h=0.01, steps=50).x
    for k, start in enumerate(([0.3, 0.0], [1.0, 0.1])):
        state = np.array(start)
        for step in range(50):
            u = 0.2 - (0.5 * state[1] if control else 0.0)

            def f(s: Array, u: float = u) -> Array:
                return np.array([s[1], u - 9.81 * np.sin(s[0])])

            k1 = f(state)
            k2 = f(state + 0.005 * k1)
            k3 = f(state + 0.005 * k2)
            state = state + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + f(state + 0.01 * k3))
            np.testing.assert_allclose(x[k, step], state, rtol=1e-11)
    return isinstance(made, NumpyRk4)


def held_case(robot: Any, store: Store | None) -> bool:
    return rk4_case(robot, store, law)


CASES: dict[str, Callable[[Any, Store | None], bool]] = {
    "waves": function_case,
    "root": newton_case,
    "pendulum": rk4_case,
    "pendulum held": held_case,
}


@pytest.fixture
def fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Let the compiler of this process fail, and forget what it failed on."""
    registry.warn_once.cache_clear()
    monkeypatch.setattr(attempts, "_failures", {})
    with contextlib.ExitStack() as stack:

        def chosen(fault: str, where: str = "True") -> None:
            faulty = compiler.Compiler(script(tmp_path, fault, where), **LIMITS)
            stack.enter_context(contextlib.closing(faulty))
            monkeypatch.setattr(compiler, "default", lambda: faulty)

        yield chosen


@contextlib.contextmanager
def expect_warnings(*texts: str) -> Iterator[None]:
    """Expect these warnings of the compiler, and no others."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert [warning.category for warning in caught] == [CompilerWarning] * len(texts), caught
    for warning, text in zip(caught, texts, strict=True):
        assert text in str(warning.message)


@pytest.mark.costly
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_right_numbers_and_one_warning_that_names_the_program(fault: str, fails, tmp_path: Path) -> None:
    robot = nacelle.load("fivebar")
    fails(fault)
    # What aborts when it is optimised compiles without; all else ends in NumPy.
    plain = fault != "abort"
    how = "runs as NumPy, far slower" if plain else "is compiled without optimisation"
    with expect_warnings(f"waves of {robot.name} {how}: "):
        assert function_case(robot, Store(tmp_path / "store")) == plain
    assert set(logged_requests(tmp_path)) == {0, 1}


@pytest.mark.costly
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("where", ["True", "job['level']"])
def test_all_that_is_compiled_has_another_way(name: str, where: str, fails, tmp_path: Path) -> None:
    """Kernels and drivers: at the lower level, and in NumPy."""
    robot = nacelle.load("fivebar")
    store = Store(tmp_path / "store")
    fails("SIGSEGV", where)
    with expect_warnings(f"{name.split(maxsplit=1)[0]} of {robot.name} "):
        assert CASES[name](robot, store) == (where == "True")
    times = len(logged_requests(tmp_path))
    # Nothing is said or tried again, with the user's cache or without.
    with expect_warnings():
        assert CASES[name](robot, store) == (where == "True")
        assert CASES[name](robot, None) == (where == "True")
    if where == "True":
        assert len(logged_requests(tmp_path)) == times
    else:
        assert 1 not in logged_requests(tmp_path)[times:]


@pytest.mark.slow
def test_the_public_functions_go_on(fails, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole call, with every program that it needs in NumPy, and the native numbers."""
    monkeypatch.setenv("NACELLE_CACHE", str(tmp_path / "store"))
    robot = nacelle.load("fivebar")
    moved = robot.with_parameters(robot.parameter_vector("gravity") + 0.25, "gravity")
    x, n = nacelle.reference_pose(moved), moved.motion.n
    v, a = np.full((5, n), 0.1), np.linspace(-1.0, 1.0, 5 * n).reshape(5, n)
    fails("SIGABRT")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain = nacelle.inverse_dynamics(moved, x, v, a)
    texts = [str(warning.message) for warning in caught]
    assert texts
    assert len(set(texts)) == len(texts)
    assert all(robot.name in text and "SIGABRT" in text for text in texts)
    script_text = (
        "import sys, numpy as np, nacelle\n"
        "robot = nacelle.load('fivebar')\n"
        "robot = robot.with_parameters(robot.parameter_vector('gravity') + 0.25, 'gravity')\n"
        "n = robot.motion.n\n"
        "a = np.linspace(-1.0, 1.0, 5 * n).reshape(5, n)\n"
        "found = nacelle.inverse_dynamics(robot, nacelle.reference_pose(robot), np.full((5, n), 0.1), a)\n"
        "np.save('forces.npy', found.tau)\n"
    )
    own = {**os.environ, "NACELLE_CACHE": str(tmp_path / "other")}
    subprocess.run([sys.executable, "-c", script_text], cwd=tmp_path, env=own, check=True, timeout=120)
    np.testing.assert_allclose(plain.tau, np.load(tmp_path / "forces.npy"), rtol=1e-10, atol=1e-10)


_USER = """
import pathlib, sys, time, warnings
import nacelle
from nacelle.emit.jit import compiler

def squared(x):
    return x * x

faulty = compiler.Compiler(pathlib.Path(sys.argv[1]), seconds=float(sys.argv[2]))
compiler.default = lambda: faulty
begin = time.monotonic()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    value = nacelle.compile(squared, inputs={"x": ()})(3.0)
print(value, len(caught), "squared" in str(caught[0].message) if caught else "", time.monotonic() - begin)
faulty.close()
"""


@pytest.mark.slow
def test_another_process_does_not_wait_again(tmp_path: Path) -> None:
    """The first waits for the end of a program that never ends; the second does not even begin it."""
    user, worker = tmp_path / "user.py", script(tmp_path, "asleep")
    user.write_text(_USER)
    own = {**os.environ, "NACELLE_CACHE": str(tmp_path / "store")}

    def run(seconds: float) -> list[str]:
        command = [sys.executable, str(user), str(worker), str(seconds)]
        done = subprocess.run(command, env=own, capture_output=True, text=True, check=True, timeout=120)
        return done.stdout.split()

    assert run(0.2)[:3] == ["9.0", "1", "True"]
    assert logged_requests(tmp_path) == [1, 0]
    second = run(20.0)
    assert second[:3] == ["9.0", "1", "True"]
    assert float(second[3]) < 20.0
    assert logged_requests(tmp_path) == [1, 0]


def test_failures_are_forgotten_in_time(fails, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that was short of memory or time is not so for ever."""
    robot, store = nacelle.load("fivebar"), Store(tmp_path / "store")
    fails("refused")
    with expect_warnings("refuses"):
        assert function_case(robot, store)
    monkeypatch.setattr(attempts, "_failures", {})
    with expect_warnings():
        assert function_case(robot, store)
    assert len(logged_requests(tmp_path)) == 2
    fails("")
    monkeypatch.setattr(attempts, "_failures", {})
    monkeypatch.setattr(attempts, "_FAILURE_LIFETIME", 0.0)
    with expect_warnings():
        assert not function_case(robot, store)


def test_a_damaged_memory_of_failures_is_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for payload in (b"", b"[]", b"[1]", b'{"when": 1}', b'["x", "y"]', b"\xff"):
        store.put("key", payload)
        assert attempts._recall_failure(store, "key") is None
