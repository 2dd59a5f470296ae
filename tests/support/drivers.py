"""Small programs that drivers run, and the drivers of all targets with one interface.

The iterations (Runge and Kutta, Newton, implicit steps) are in NumPy, in native code, in C where there is a
compiler, and in CUDA, whose statements run on this machine where there is a compiler of C++.
"""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np

from nacelle.emit.c.driver import newton_source, rk4_source
from nacelle.emit.c.implicit import irk5_source
from nacelle.emit.c.target import COptions
from nacelle.emit.cuda.device import DeviceIrk5, DeviceNewton, DeviceRk4
from nacelle.emit.irk5 import ImplicitIntegrator, Irk5Result
from nacelle.emit.jit.newton import Newton, compile_newton
from nacelle.emit.jit.rk4 import Rk4, compile_rk4
from nacelle.emit.jit.target import DEFAULT, JitOptions
from nacelle.emit.newton import CONVERGED, NewtonResult, NewtonRules, NewtonSolver, NumpyNewton, sample_count
from nacelle.emit.registry import target
from nacelle.emit.rk4 import IntegrationTask, Integrator, NumpyRk4
from nacelle.program.program import Program, Variable
from support import fake_cupy
from support.cc import COMPILERS, EXACT, WARNINGS, compile_shared, pointer

FLAGS = (*WARNINGS, "-O2", *EXACT)
HAS_CPP_COMPILER = bool(shutil.which("g++") or shutil.which("clang++"))


def numpy_kernel() -> Any:
    """What makes the kernel of a program in NumPy."""
    kernel = target("numpy").kernel
    assert kernel is not None
    return kernel


def circle_and_line(name: str = "meet", names: tuple[str, str] = ("y", "p")) -> Program:
    """A Newton step for y0^2 + y1^2 = p0, y0 = p1 y1."""
    code = (
        *(("input", k) for k in range(4)),  # y0 y1 p0 p1
        ("mul", 0, 0),
        ("mul", 1, 1),
        ("add", 4, 5),
        ("sub", 2, 6),  # 7: f = p0 - |y|^2
        ("mul", 3, 1),
        ("sub", 8, 0),  # 9: g = p1 y1 - y0
        ("mul", 3, 0),
        ("add", 10, 1),  # 11: half of the determinant
        ("const", 0.5),
        ("mul", 12, 7),  # f / 2
        ("div", 13, 11),  # 14: along the line
        ("mul", 3, 14),
        ("div", 9, 11),
        ("mul", 1, 16),
        ("add", 15, 17),  # 18: dy0
        ("mul", 0, 16),
        ("sub", 14, 19),  # 20: dy1
        ("abs", 7),
        ("abs", 9),
        ("max", 21, 22),
    )
    inputs = (Variable(names[0], (2,)), Variable(names[1], (2,)))
    return Program(name, inputs, (Variable("dy", (2,)), Variable("error")), code, (18, 20, 23))


def pendulum(name: str = "pendulum", names: tuple[str, str, str] = ("x", "u", "p")) -> Program:
    """x = (angle, rate): the rate's derivative is u - p0 sin(angle) - p1 rate^3."""
    code = (
        *(("input", k) for k in range(5)),  # angle rate u p0 p1
        ("sin", 0),
        ("mul", 3, 5),
        ("mul", 1, 1),
        ("mul", 7, 1),
        ("mul", 4, 8),
        ("sub", 2, 6),
        ("sub", 10, 9),
    )
    inputs = (Variable(names[0], (2,)), Variable(names[1]), Variable(names[2], (2,)))
    return Program(name, inputs, (Variable("dx", (2,)),), code, (1, 11))


def integrators(
    program: Program, control: Program | None = None, *, sampled: bool = False
) -> dict[str, Integrator]:
    """The Runge-Kutta method in every target that can be compiled, in native code of several widths."""
    made: dict[str, Integrator] = {"numpy": NumpyRk4(program, numpy_kernel(), control, sampled=sampled)}
    for name, options in (("1", JitOptions(width=1)), ("4", JitOptions(width=4)), ("host", DEFAULT)):
        image = compile_rk4(program, options, control, sampled=sampled)
        made[name] = Rk4(image, program, control, sampled=sampled)
    for compiler in COMPILERS:
        made[compiler] = CompiledRk4(program, control, compiler, sampled=sampled)
    if HAS_CPP_COMPILER:
        made["cuda"] = EmulatedRk4(program, control, sampled=sampled)
    return made


def solvers(program: Program) -> dict[str, NewtonSolver]:
    """Newton's iteration in every target that can be compiled."""
    made: dict[str, NewtonSolver] = {
        "numpy": NumpyNewton(program, numpy_kernel()(program)),
        "native": Newton(compile_newton(program), program),
    }
    made |= {compiler: CompiledNewton(program, compiler) for compiler in COMPILERS}
    return made | ({"cuda": EmulatedNewton(program)} if HAS_CPP_COMPILER else {})


class CompiledRk4(Integrator):
    """The Runge-Kutta method in C, one sample after the other; inputs at the stages it has none."""

    def __init__(
        self, program: Program, control: Program | None, compiler: str, *, sampled: bool = False
    ) -> None:
        super().__init__(program, control, sampled)
        files = rk4_source(program, COptions(name="closed_loop"), control, sampled=sampled)
        self._run, self._controlled = (
            compile_shared(files, compiler, FLAGS).closed_loop_rk4,
            control is not None,
        )

    def _integrate(self, task: IntegrationTask, h: float, stored: Any, threads: int) -> tuple[Any, Any]:
        assert not task.staged
        final = np.broadcast_to(task.x0, (task.count, self.sizes.n)).copy()
        p = np.broadcast_to(task.p, (task.count, self.sizes.k)).copy()
        completed, count = np.zeros(task.count, dtype=np.int64), ctypes.c_size_t
        stride = 0 if len(task.u) == 1 else self.sizes.m
        # Without a control every step has a row.
        u = task.u if self._controlled or not stride else np.repeat(task.u, task.held, axis=0)
        held = (count(task.held),) if self._controlled else ()
        delay = () if self.sizes.sampled is None else (count(task.delay),)
        for k in range(task.count):
            done = count()
            status = self._run(
                *(pointer(final[k]), pointer(u), count(stride), pointer(p[k]), ctypes.c_double(h)),
                *(count(task.steps), *held, *delay, count(task.every), pointer(stored[k])),
                ctypes.byref(done),
            )
            completed[k] = done.value
            assert status == (2 if done.value < task.steps else 0)
        return final, completed


class CompiledNewton(NewtonSolver):
    """Newton's iteration in C: one sample by the entry for one, several by that for batches."""

    def __init__(self, program: Program, compiler: str) -> None:
        super().__init__(program)
        self._library = compile_shared(newton_source(program, COptions(name="newton_step")), compiler, FLAGS)

    def _solve(self, y0: Any, p: Any, rules: NewtonRules, follow: bool, threads: int) -> NewtonResult:
        assert not follow
        count = sample_count(y0, p)
        y, weights = np.broadcast_to(y0, (count, self.n)).copy(), rules.weights(self.n)
        status, taken = (np.full(count, -1, np.int32) for _ in range(2))
        error = np.full(count, np.nan)
        limits = (ctypes.c_double(rules.tolerance), rules.max_iterations, pointer(weights), int(rules.polish))
        results = (pointer(taken), pointer(error))
        if count == 1:
            status[0] = self._library.newton_step_newton(pointer(y), pointer(p), *limits, *results)
        else:
            size, stride = ctypes.c_size_t(count), ctypes.c_size_t(0 if len(p) == 1 else self.k)
            self._library.newton_step_newton_batch(
                size, pointer(y), pointer(p), stride, *limits, pointer(status), *results
            )
        np.testing.assert_array_equal(error <= rules.tolerance, status == CONVERGED)
        return NewtonResult(y, taken, status)

    def _bind(self, y0: Any, p: Any, y: Any, rules: NewtonRules) -> Callable[[], int]:
        raise NotImplementedError


class CompiledIrk5(ImplicitIntegrator):
    """The implicit method in C."""

    def __init__(self, program: Program, control: Program | None = None, compiler: str = "") -> None:
        super().__init__(program, control)
        files = irk5_source(program, COptions(name="stiff_loop"), control)
        files["size.c"] = '#include "stiff_loop_irk5.h"\nsize_t work_size(void);\n' + (
            "size_t work_size(void) { return sizeof(stiff_loop_irk5_work); }\n"
        )
        library = compile_shared(files, compiler or COMPILERS[0], FLAGS)
        library.work_size.restype = ctypes.c_size_t
        self._run, self._bytes = library.stiff_loop_irk5, library.work_size()

    def _integrate(self, task: IntegrationTask, h: float, stored: Any) -> Irk5Result:
        m, count = self.sizes.m, ctypes.c_size_t
        u_step, u_stage = (3 * m, m) if task.staged else (0 if len(task.u) == 1 else m, 0)
        # Whatever was in the memory before must not matter.
        work, counts = np.full(self._bytes, 0xA5, np.uint8), np.zeros(4, dtype=np.uint64)
        x = task.x0[0].copy()
        status = self._run(
            *(pointer(array) for array in (work, x, task.u, task.p)),
            *(count(u_step), count(u_stage), ctypes.c_double(h)),
            *(count(value) for value in (task.steps, task.every, task.held)),
            *(pointer(stored), pointer(counts)),
        )
        completed, same, evaluations, jacobians = counts.tolist()
        assert status == same
        return Irk5Result(stored, completed, status, evaluations, jacobians)


class EmulatedRk4(Integrator):
    """The Runge-Kutta method of a device, its statements run on this machine."""

    def __init__(self, program: Program, control: Program | None, *, sampled: bool = False) -> None:
        super().__init__(program, control, sampled)
        self._made = program, control, sampled

    def _integrate(self, task: IntegrationTask, h: float, stored: Any, threads: int) -> tuple[Any, Any]:
        program, control, sampled = self._made
        with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
            x0 = np.broadcast_to(task.x0, (task.count, self.sizes.n))
            p = task.p[0] if len(task.p) == 1 else task.p.T.copy()
            motion = DeviceRk4(program, control, sampled=sampled).integrate(
                *(cupy.asarray(x0.T.copy()), cupy.asarray(task.u[:, :, None]), cupy.asarray(p)),
                **{"h": h, "steps": task.steps, "every": task.every, "held": task.held, "delay": task.delay},
            )
        stored[:] = np.moveaxis(motion.x, 2, 0)
        return np.asarray(motion.final).T, np.asarray(motion.completed)


class EmulatedNewton(NewtonSolver):
    """Newton's iteration of a device, its statements run on this machine."""

    def _solve(self, y0: Any, p: Any, rules: NewtonRules, follow: bool, threads: int) -> NewtonResult:
        assert not follow
        y = np.broadcast_to(y0, (sample_count(y0, p), self.n))
        with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
            parameters = cupy.asarray(p[0] if len(p) == 1 else p.T.copy())
            found = DeviceNewton(self.program).solve(cupy.asarray(y.T.copy()), parameters, rules)
        return NewtonResult(np.asarray(found.y).T, np.asarray(found.iterations), np.asarray(found.status))

    def _bind(self, y0: Any, p: Any, y: Any, rules: NewtonRules) -> Callable[[], int]:
        raise NotImplementedError


class EmulatedIrk5(ImplicitIntegrator):
    """The implicit method of a device, its statements run on this machine; motions beside it stand still."""

    def __init__(self, program: Program, control: Program | None = None) -> None:
        super().__init__(program, control)
        self._made = program, control

    def _integrate(self, task: IntegrationTask, h: float, stored: Any) -> Irk5Result:
        # The second of three motions, so that rows of numbers are strided.
        x0, p = np.repeat(task.x0, 3, axis=0).T.copy(), np.repeat(task.p, 3, axis=0).T.copy()
        x0[:, ::2] = 0.0
        u = task.u.reshape(-1, 3, self.sizes.m, 1) if task.staged else task.u[:, :, None]
        with fake_cupy.in_place(fake_cupy.fake_module()) as cupy:
            motion = DeviceIrk5(*self._made).integrate(
                *(cupy.asarray(x0), cupy.asarray(u), cupy.asarray(p)),
                **{"h": h, "steps": task.steps, "every": task.every, "held": task.held},
            )
        stored[:] = motion.x[:, :, 1]
        counts = (motion.completed, motion.status, motion.evaluations, motion.jacobians)
        return Irk5Result(stored, *(int(count[1]) for count in counts))
