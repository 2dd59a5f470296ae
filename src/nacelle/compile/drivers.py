"""Newton's iteration and the Runge-Kutta method around compiled physics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from nacelle.compile.cache import CachedForm, kept
from nacelle.compile.check import random_rows
from nacelle.compile.specification import Specification, shapes_of_inputs
from nacelle.compile.targets import target_that_runs, tiles
from nacelle.emit.irk5 import NumpyIrk5
from nacelle.emit.newton import NumpyNewton, Solver
from nacelle.emit.rk4 import Integrator, NumpyRk4
from nacelle.emit.store import Store
from nacelle.model.robot import Robot
from nacelle.program.program import Program
from nacelle.spatial.scalar import Array

_T = TypeVar("_T")

# How far from its solution Newton's method starts where it is checked, rad or m.
_NEAR = 1e-3
# A step of a check, s, and by what it is shortened, so often at most.
_STEP, _SHORTER, _TIMES = 1e-4, 16.0, 8


def compile_newton(
    function: Callable[..., Any],
    robot: Robot,
    *,
    states: Callable[..., Any] | None = None,
    use_cache: bool = True,
    store: Store | None = None,
) -> Solver:
    """Compile Newton's iteration around a step function of (robot, y, p) that gives dy and error.

    Without llvmlite the same iteration runs in NumPy. It is checked at inputs drawn by `states`.
    """
    step = Specification(function, robot, shapes_of_inputs(function, robot), states=states)

    def plain(program: Program) -> Solver:
        return NumpyNewton(program, tiles(program))

    if target_that_runs("jit").name != "jit":
        return plain(step.program())
    from nacelle.emit.jit import newton

    form = CachedForm[Solver](
        "newton",
        newton.compile_newton,
        lambda image, signature, _: newton.Newton(image, signature),
        plain,
        _newton_results,
    )
    return kept(form, step, step.checked_program, (store or Store()) if use_cache else None)


def _newton_results(solver: Solver, rows: Array) -> Array:
    """The first step of Newton's method (K, n) from near the states."""
    near, p = rows[:, : solver.n] + _NEAR, rows[:, solver.n :]
    return solver.solve(near, p, tolerance=0.0, max_iterations=1).y - near


def compile_rk4(
    function: Callable[..., Any],
    robot: Robot,
    *,
    options: Mapping[str, Any] | None = None,
    control: Callable[..., Any] | None = None,
    sampled: bool = False,
    use_cache: bool = True,
    store: Store | None = None,
) -> Integrator:
    """Compile the fixed-step Runge-Kutta method around a function of (robot, x, u, p) that gives dx.

    Without llvmlite the same steps run in NumPy.

    Args:
        function: the derivative.
        robot: the robot.
        options: keyword arguments for the derivative.
        control: a function of (robot, x, w, p) that gives u at the begin of every step, held over it.
        sampled: whether the control has memory and a delay: a function of (robot, [s; z], w, P) that gives
            [u; z+], as in `nacelle.emit.rk4`.
        use_cache: whether to look into and write to the user's cache.
        store: another cache.
    """
    if sampled and control is None:
        raise ValueError("a sampled driver needs a control")

    def plain(program: Program, *law: Program) -> Integrator:
        return NumpyRk4(program, tiles, *law, sampled=sampled)

    def native() -> tuple[Callable[..., bytes], Callable[..., Integrator]]:
        from nacelle.emit.jit import rk4

        return partial(rk4.compile_rk4, sampled=sampled), partial(rk4.Rk4, sampled=sampled)

    parts = specified(function, robot, options, control)
    kind = "rk4 sampled" if sampled else "rk4"
    return compiled_steps(kind, parts, plain, native, (store or Store()) if use_cache else None)


def specified(
    function: Callable[..., Any],
    robot: Robot,
    options: Mapping[str, Any] | None,
    control: Callable[..., Any] | None,
) -> tuple[Specification, ...]:
    """The derivative of a method of fixed steps and, if there is one, the control."""
    derivative = Specification(
        function, robot, shapes_of_inputs(function, robot), options=dict(options or {})
    )
    laws = () if control is None else (Specification(control, robot, shapes_of_inputs(control, robot)),)
    return derivative, *laws


def compiled_steps(
    kind: str,
    parts: tuple[Specification, ...],
    plain: Callable[..., _T],
    native: Callable[[], tuple[Callable[..., bytes], Callable[..., _T]]],
    store: Store | None,
) -> _T:
    """Fixed steps of a method (`specified`): native, what compiles and loads them, or plain in NumPy."""
    derivative, *laws = parts
    if target_that_runs("jit").name != "jit":
        return plain(*(part.program() for part in parts))
    emit, load = native()
    form = CachedForm[_T](
        kind,
        emit,
        lambda image, own, _, *law: load(image, own, *law),
        plain,
        step_results,
        rows=step_rows,
        beside=tuple(laws),
    )
    return kept(form, derivative, derivative.checked_program, store)


def step_rows(driver: Any, rows: Array) -> Array:
    """States, inputs, parameters and the length of a step (K, n + m + k + 1) at which steps are checked.

    With a control the inputs are those of the control, which belong to no state. From states that are none of
    the robot's a step may lead anywhere, and an implicit one may be halved a million times: the length is one
    that leads no further than the state is from zero, and that converges as a whole.
    """
    n, m, k = driver.sizes.n, driver.sizes.m, driver.sizes.k
    given = rows if rows.shape[1] == n + m + k else random_rows({"all": (n + m + k,)})
    options = {}
    if isinstance(driver, NumpyIrk5):
        # One of its steps has as many evaluations as many explicit ones.
        given, options = given[:1], {"halvings": 0}
    lengths = []
    for row in given:
        h = _STEP
        for _ in range(_TIMES):
            far = np.max(np.abs(_led(driver, row, h, options)), initial=0.0) / np.max(np.abs(row))
            if far <= 1.0:
                break
            h /= max(_SHORTER, 2.0 * far) if np.isfinite(far) else _SHORTER**3
        lengths.append(h)
    return np.column_stack([given, lengths])


def step_results(driver: Any, rows: Array) -> Array:
    """How far one short step leads (K, n) from the states of rows (`step_rows`)."""
    return np.array([_led(driver, row[:-1], row[-1], {}) for row in rows])


def _led(driver: Any, row: Array, h: float, options: Mapping[str, Any]) -> Array:
    """How far a step leads (n,) from a state, with inputs and parameters behind it; NaN if it fails."""
    n, m = driver.sizes.n, driver.sizes.m
    result = driver.integrate(row[:n], row[n : n + m], row[n + m :], h=h, steps=1, **options)
    return np.asarray(np.reshape(result.x, (-1, n))[-1] - row[:n])
