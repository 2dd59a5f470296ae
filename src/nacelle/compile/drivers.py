"""Newton's iteration and Runge-Kutta methods around compiled physics, of one robot or of many.

Of many robots at once, on the processor or a device, each has its own numbers, inputs and state. The
derivative is a function of (robot, s, u, *others). The robot's free numbers are prepared once for every robot
(`Parametric`); what is left of the derivative is one program, and the prepared numbers of each robot are
among the parameters of the native loop around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from nacelle.compile.cache import CachedForm, load_or_compile
from nacelle.compile.check import InterpretedKernel, random_rows
from nacelle.compile.compiled import Compiled, Parametric, cores
from nacelle.compile.function import compile_function
from nacelle.compile.native import numpy_kernel, runnable_target
from nacelle.compile.specification import Specification, WithCheck, parameter_groups, resolve_input_shapes
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.irk5 import ImplicitIntegrator, NumpyIrk5
from nacelle.emit.newton import NewtonResult, NewtonSolver, NumpyNewton
from nacelle.emit.registry import Kernel
from nacelle.emit.rk4 import Integrator, NumpyRk4, Rk4Result
from nacelle.emit.store import Store, store_of
from nacelle.emit.track import NumpyTrack, TrackRules, TrackSolver
from nacelle.model.robot import Robot
from nacelle.program.program import Program, regroup_inputs
from nacelle.program.split import PREPARED
from nacelle.spatial.scalar import Array

_T = TypeVar("_T")

NativeDriver = tuple[Callable[..., bytes], Callable[..., _T]]
"""What compiles programs with options, and what loads what that gives."""

MakeKernel = Callable[[Program], Kernel]

# How far from its solution Newton's method starts where it is checked, rad or m.
_NEAR = 1e-3
# The error at which ways are followed in a check, and evaluations at most.
_LOOSE, _EVALUATIONS = 1e-2, 12
# A step of a check, s, and by what it is shortened, so often at most.
_STEP, _SHORTER, _TIMES = 1e-4, 16.0, 8


def compile_newton(
    function: Callable[..., Any],
    robot: Robot,
    *,
    states: Callable[..., Any] | None = None,
    cache: Store | bool = True,
) -> NewtonSolver:
    """Compile Newton's iteration around a step function of (robot, y, p) that gives dy and error.

    Without llvmlite the same iteration runs in NumPy. It is checked at inputs drawn by `states`.
    """
    step = Specification(function, robot, resolve_input_shapes(function, robot), states=states)

    def plain(kernel: MakeKernel, program: Program) -> NewtonSolver:
        return NumpyNewton(program, kernel(program))

    def native() -> NativeDriver[NewtonSolver]:
        from nacelle.emit.jit import newton

        return newton.compile_newton, newton.Newton

    kept_in = store_of(cache)
    return _compiled_driver("newton", (step,), plain, native, kept_in, probe=_newton_results)


def compile_track(
    function: Callable[..., Any],
    robot: Robot,
    *,
    states: Callable[..., Any] | None = None,
    cache: Store | bool = True,
) -> TrackSolver:
    """Compile the driver that follows solutions of a step function of (robot, y, p) (`nacelle.emit.track`).

    Without llvmlite the same runs in NumPy. It is checked on short ways from states drawn by `states`.
    """
    step = Specification(function, robot, resolve_input_shapes(function, robot), states=states)

    def plain(kernel: MakeKernel, program: Program) -> TrackSolver:
        return NumpyTrack(program, kernel(program))

    def native() -> NativeDriver[TrackSolver]:
        from nacelle.emit.jit import track

        return track.compile_track, track.Track

    return _compiled_driver("track", (step,), plain, native, store_of(cache), probe=_track_results)


def _track_results(solver: TrackSolver, rows: Array) -> Array:
    """Where ways end (K, n + 1), with their status, that lead a little on from the states."""
    n = solver.sizes.n
    y, p = rows[:, :n], rows[:, n:]
    result = solver.solve(y, p, p + _NEAR, TrackRules(_LOOSE, np.ones(n), np.ones(p.shape[1]), _EVALUATIONS))
    return np.column_stack([result.y, result.status])


def _newton_results(solver: NewtonSolver, rows: Array) -> Array:
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
    cache: Store | bool = True,
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
        cache: whether to look into and write to the user's cache, or another one.
    """
    if sampled and control is None:
        raise ValueError("a sampled driver needs a control")

    def plain(kernel: MakeKernel, program: Program, *law: Program) -> Integrator:
        return NumpyRk4(program, kernel, *law, sampled=sampled)

    def native() -> NativeDriver[Integrator]:
        from nacelle.emit.jit import rk4

        return partial(rk4.compile_rk4, sampled=sampled), partial(rk4.Rk4, sampled=sampled)

    parts, kept_in = (
        _step_specifications(function, robot, options, control),
        store_of(cache),
    )
    kind = "rk4 sampled" if sampled else "rk4"
    return _compiled_driver(kind, parts, plain, native, kept_in, probe=step_results, rows=step_check_rows)


def _step_specifications(
    function: Callable[..., Any],
    robot: Robot,
    options: Mapping[str, Any] | None,
    control: Callable[..., Any] | None,
) -> tuple[Specification, ...]:
    """The derivative of a method of fixed steps and, if there is one, the control.

    The loop around the derivative is checked too: the derivative itself is asked at one state, since a model
    of a small robot is compiled in the time of some ten evaluations as it is written.
    """
    shapes = resolve_input_shapes(function, robot)
    derivative = Specification(function, robot, shapes, options=dict(options or {}), reference_states=1)
    laws = () if control is None else (Specification(control, robot, resolve_input_shapes(control, robot)),)
    return derivative, *laws


def _compiled_driver(
    kind: str,
    parts: tuple[Specification, ...],
    plain: Callable[..., _T],
    native: Callable[[], NativeDriver[_T]],
    store: Store | None,
    *,
    probe: Callable[[Any, Array], Array],
    rows: Callable[[Any, Array], Array] = lambda driver, rows: rows,
    make: Callable[[], WithCheck[Program]] | None = None,
    part: str = "program",
) -> _T:
    """A loop around programs: native, what compiles and loads it, or plain in NumPy.

    Args:
        kind: its name in the cache.
        parts: what its first program is made of, and its companions.
        plain: the loop in NumPy, from what makes a kernel and the programs.
        native: what compiles and loads it.
        store: the cache; None if it is not to be used.
        probe: its results at rows.
        rows: the rows at which it is checked.
        make: its first program, and how that is checked; as its part says if None.
        part: which part of it the first program is.
    """
    first, *others = parts
    make = make or first.program_with_check
    if runnable_target("jit").name != "jit":
        return plain(numpy_kernel, make().value, *(companion.program() for companion in others))
    emit, load = native()
    form = CachedForm[_T](
        kind,
        emit,
        lambda image, batch, _, *extra: load(image, batch, *extra),
        partial(plain, numpy_kernel),
        probe,
        # Kernels of NumPy take longer to make than the few evaluations of a check.
        reference=partial(plain, InterpretedKernel),
        rows=rows,
        companions=tuple(others),
    )
    return load_or_compile(form, first, make, store, part)


def step_check_rows(driver: Any, rows: Array) -> Array:
    """States, inputs, parameters and the length of a step (K, n + m + k + 1) at which steps are checked.

    With a control the inputs are those of the control, which belong to no state. From states that the
    robot cannot have a step may lead anywhere, and an implicit one may be halved a million times: the length
    is one that leads no further than the state is from zero, and that converges as a whole.
    """
    n, m, k = driver.sizes.n, driver.sizes.m, driver.sizes.k
    states = rows if rows.shape[1] == n + m + k else random_rows({"all": (n + m + k,)})
    options = {}
    if isinstance(driver, NumpyIrk5):
        # One of its steps has as many evaluations as many explicit ones.
        states, options = states[:1], {"halvings": 0}
    lengths = []
    for row in states:
        h = _STEP
        if isinstance(driver, NumpyIrk5):
            rate = np.max(np.abs(driver.initial_rate(row[:n], row[n : n + m], row[n + m :])), initial=0.0)
            if rate * h > np.max(np.abs(row)) and np.isfinite(rate):
                h = 0.5 * np.max(np.abs(row)) / rate
        for _ in range(_TIMES):
            far = np.max(np.abs(_step_displacement(driver, row, h, options)), initial=0.0) / np.max(
                np.abs(row)
            )
            if far <= 1.0:
                break
            h /= max(_SHORTER, 2.0 * far) if np.isfinite(far) else _SHORTER**3
        lengths.append(h)
    return np.column_stack([states, lengths])


def step_results(driver: Any, rows: Array) -> Array:
    """How far one short step leads (K, n) from the states of rows (`step_check_rows`)."""
    return np.array([_step_displacement(driver, row[:-1], row[-1], {}) for row in rows])


def _step_displacement(driver: Any, row: Array, h: float, options: Mapping[str, Any]) -> Array:
    """How far a step leads (n,) from a state, with inputs and parameters behind it; NaN if it fails."""
    n, m = driver.sizes.n, driver.sizes.m
    # The step whose length was found good is asked for once more: an implicit one takes long in NumPy.
    last, key = getattr(driver, "last_step", None), (row.tobytes(), h)
    if last is not None and last[0] == key:
        return np.asarray(last[1])
    result = driver.integrate(row[:n], row[n : n + m], row[n + m :], h=h, steps=1, **options)
    led = np.asarray(np.reshape(result.x, (-1, n))[-1] - row[:n])
    if isinstance(driver, NumpyIrk5) and np.all(np.isfinite(led)):
        driver.last_step = key, led
    return led


# ---- the implicit Runge-Kutta method around compiled physics


def compile_irk5(
    function: Callable[..., Any],
    robot: Robot,
    *,
    options: Mapping[str, Any] | None = None,
    control: Callable[..., Any] | None = None,
    cache: Store | bool = True,
) -> ImplicitIntegrator:
    """Compile fixed implicit steps (`nacelle.emit.irk5`) around a function of (robot, x, u, p) that gives dx.

    Without llvmlite the same steps run in NumPy.

    Args:
        function: the derivative.
        robot: the robot.
        options: keyword arguments for the derivative.
        control: a function of (robot, x, w, p) that gives u at the begin of every step, held over it.
        cache: whether to look into and write to the user's cache, or another one.
    """

    def plain(kernel: MakeKernel, program: Program, *law: Program) -> ImplicitIntegrator:
        return NumpyIrk5(program, kernel, *law)

    def native() -> NativeDriver[ImplicitIntegrator]:
        from nacelle.emit.jit import irk5

        return irk5.compile_irk5, irk5.Irk5

    parts = _step_specifications(function, robot, options, control)
    return _compiled_driver(
        "irk5", parts, plain, native, store_of(cache), probe=step_results, rows=step_check_rows
    )


# ---- many robots at once, each with its own numbers


class BatchNewton:
    """Newton's iteration around a step function of (robot, y, x), for robots with their own numbers.

    Args:
        function: gives dy and error.
        robot: the robot.
        parameters: groups of the robot's numbers that each robot has its own of.
        states: how inputs are drawn at which the step is checked.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        robot: Robot,
        parameters: Any,
        states: Callable[..., Any] | None = None,
    ) -> None:
        step = compile_function(function, robot, parameters=parameters, states=states)
        assert isinstance(step, Parametric)
        groups = parameter_groups(parameters)
        self.prologue, body = step.prologue, step.body
        shapes = resolve_input_shapes(function, robot, None, groups)
        self._unknowns, *self._inputs = [name for name in shapes if name != "parameters"]

        def make() -> WithCheck[Program]:
            groups = {"y": [self._unknowns], "p": [*self._inputs, PREPARED]}
            return WithCheck(regroup_inputs(body.program, groups), None)

        def plain(kernel: MakeKernel, program: Program) -> NewtonSolver:
            return NumpyNewton(program, kernel(program))

        def native() -> NativeDriver[NewtonSolver]:
            from nacelle.emit.jit import newton

            return newton.compile_newton, newton.Newton

        parts = (Specification(function, robot, shapes, groups=groups, states=states),)
        self._solver = _compiled_driver(
            "newton", parts, plain, native, Store(), probe=_newton_results, make=make, part="batch"
        )

    def solve(self, y0: Any, x: Any, prepared: Any, **rules: Any) -> NewtonResult:
        """Solve from y0 (N, ny) at what is given, x (N, nx), with prepared numbers (N, k).

        The rules are the arguments of `NewtonSolver.solve`.
        """
        return self._solver.solve(y0, np.concatenate([x, prepared], axis=1), **rules)


# ---- fixed steps of many robots at once, each with its own numbers, inputs and state


class BatchRk4:
    """The Runge-Kutta method around a derivative, for many robots.

    Args:
        function: the derivative, of (robot, s, u, *others).
        robot: the robot.
        parameters: "constant", "input" or groups of the robot's numbers that each robot has its own of.
        settings: options of the derivative.
        target: "jit" or "cuda", or `CudaOptions`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        robot: Robot,
        *,
        parameters: Any = "constant",
        settings: Mapping[str, Any] | None = None,
        target: str | CudaOptions = "jit",
    ) -> None:
        options = dict(settings or {})
        self.target = "cuda" if isinstance(target, CudaOptions) else target
        self.robot = robot
        self._fast: Compiled = compile_function(
            function, robot, parameters=parameters, options=options, target=target
        )
        groups = parameter_groups(parameters)
        shapes = resolve_input_shapes(function, robot, None, groups)
        self._specification = Specification(function, robot, shapes, groups=groups, options=options)
        names = [name for name in shapes if name != "parameters"]
        self._numbers = [PREPARED] if groups else []
        self._names = names[0], names[1], names[2:]

    @property
    def has_parameters(self) -> bool:
        """Whether each robot has its own numbers."""
        return isinstance(self._fast, Parametric)

    def _body(self) -> Program:
        return self._fast.body.program if isinstance(self._fast, Parametric) else self._fast.program

    def integrate(
        self, s: Any, u: Any, others: tuple[Any, ...], parameters: Any, *, h: float, steps: int, every: int
    ) -> Rk4Result:
        """Integrate all robots; arrays of the result are NumPy's, or of the device.

        Args:
            s: states (N, n).
            u: inputs (N, m), held throughout.
            others: the other inputs of the derivative, each (k,), the same for all robots.
            parameters: the robots' numbers (N, parameters); None if they are constants.
            h: length of a step in seconds.
            steps: number of steps.
            every: number of steps from one stored state to the next.
        """
        run = self._on_device if self.target == "cuda" else self._on_processor
        prepared = self._fast.prologue(parameters) if isinstance(self._fast, Parametric) else None
        return run(s, u, others, prepared, h=h, steps=steps, every=every)

    def _on_processor(
        self, s: Any, u: Any, others: tuple[Any, ...], prepared: Any, *, h: float, steps: int, every: int
    ) -> Rk4Result:
        count = len(s)
        parts = [np.broadcast_to(part, (count, part.shape[-1])) for part in (u, *others)]
        if prepared is not None:
            parts.append(np.broadcast_to(prepared, (count, prepared.shape[-1])))

        p = np.concatenate(parts, axis=1)
        return self._driver.integrate(s, np.zeros((1, 0)), p, h=h, steps=steps, every=every, threads=cores())

    @cached_property
    def _driver(self) -> Integrator:
        """The native loop, or the same in NumPy without a compiler; inputs are among the parameters."""
        state, acting, rest = self._names

        def make() -> Program:
            groups = {"x": [state], "u": [], "p": [acting, *rest, *self._numbers]}
            return regroup_inputs(self._body(), groups)

        def plain(kernel: MakeKernel, program: Program) -> Integrator:
            return NumpyRk4(program, kernel)

        def native() -> NativeDriver[Integrator]:
            from nacelle.emit.jit import rk4

            return rk4.compile_rk4, rk4.Rk4

        parts = (self._specification,)
        return _compiled_driver(
            "rk4",
            parts,
            plain,
            native,
            Store(),
            probe=step_results,
            make=lambda: WithCheck(make(), None),
            part="batch",
        )

    @cached_property
    def _device_driver(self) -> Any:
        """The loop on the device."""
        from nacelle.compile.on_device import DeviceFunction
        from nacelle.emit.cuda.device import DeviceRk4

        state, acting, rest = self._names
        body = self._fast.body if isinstance(self._fast, Parametric) else self._fast
        assert isinstance(body, DeviceFunction)
        program = regroup_inputs(self._body(), {"x": [state], "u": [acting], "p": [*rest, *self._numbers]})
        return DeviceRk4(program, None, body.options)

    def _on_device(
        self, s: Any, u: Any, others: tuple[Any, ...], prepared: Any, *, h: float, steps: int, every: int
    ) -> Rk4Result:
        from nacelle.emit.cuda.device import cupy, run_on_device

        module, count, kind = cupy(), len(s), s.dtype
        shared = module.asarray(np.concatenate([np.asarray(part) for part in others]), dtype=kind)
        p = shared
        if prepared is not None:

            def fill() -> Any:
                rows = module.empty((shared.size + prepared.shape[-1], count), dtype=kind)
                rows[: shared.size] = shared[:, None]
                rows[shared.size :] = prepared.T if prepared.ndim == 2 else prepared[:, None]
                return rows

            p = run_on_device(f"the numbers of {count} robots", fill)
        x0, inputs = (module.ascontiguousarray(array.T) for array in (s, u))
        motion: Rk4Result = self._device_driver.integrate(x0, inputs, p, h=h, steps=steps, every=every)
        return replace(motion, x=module.moveaxis(motion.x, 2, 0), final=motion.final.T)
