"""Drivers in native code: loops around straight-line programs that run without Python.

A program cannot branch or repeat; a driver repeats it for every sample:

- `newton` solves f(y, p) = 0, given a program that makes the step dy and an error;
- `rk4` integrates ẋ = f(x, u, p) with a fixed step.

Both work on many samples at a time, one in each lane of a vector, and share them among threads.
"""

from __future__ import annotations

import array
import ctypes
import functools
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.jit import driver_text as llvm_drivers
from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.plan import Plan
from nacelle.emit.jit.target import (
    DEFAULT,
    Library,
    Options,
    address,
    aligned_memory,
    compile_text,
    compile_two,
    library_table,
    make_plan,
    module,
    objects,
    split,
    vector_width,
)
from nacelle.emit.newton import CONVERGED, ITERATION_CAP, NOT_FINITE, NewtonResult
from nacelle.emit.rk4 import Rk4Result, rows, samples, sizes
from nacelle.program.program import Program

_POINTER, _INTEGER, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


def _step(table: NDArray[np.float64]) -> int:
    """Distance between two rows; 0 if all samples share one."""
    return 0 if len(table) == 1 else table.shape[1]


def _share(part: Callable[[int, int], None], count: int, width: int, threads: int) -> None:
    """Run the parts of the samples in threads."""
    spans = split(count, width, threads)
    if len(spans) <= 1:
        for span in spans:
            part(*span)
    else:
        with ThreadPoolExecutor(len(spans)) as pool:
            list(pool.map(lambda span: part(*span), spans))


def _info(plan: Plan, width: int, extra: int) -> str:
    """Write what the loader must know: the width, and the bytes of memory that an entry works in."""
    numbers = [width, *(stride(plan, w) + extra * 8 * w for w in (width, 1))]
    listed = ", ".join(f"i64 {number}" for number in numbers)
    return f"@nacelle_info = constant [{len(numbers)} x i64] [{listed}]"


class Newton:
    """Newton's method around a step program, for many samples.

    The program has the inputs y (n) and p (k) and the outputs dy (n) and error (): for f(y, p) = 0 it
    computes dy = -(∂f/∂y)⁻¹ f and, say, error = |f|, both at y. For every sample

        y ← y + min(1, L / |dy|) dy     until error(y) <= tolerance,

    L the longest step. The error belongs to the y that is returned: no step is taken after the test, unless
    `polish` takes the one that the test has found: convergence is quadratic, so only rounding is left then.
    """

    def __init__(self, image: bytes, program: Program) -> None:
        self.program = program
        self.n, self.k = _newton_sizes(program)
        many, one = objects(image)
        self._libraries = (
            Library(many, ("nacelle_info", "nacelle_v_newton")),
            Library(one, ("nacelle_s_newton",)),
        )
        self.width, self._many_bytes, self._one_bytes = self._libraries[0].numbers("nacelle_info", 3)
        kind = ctypes.CFUNCTYPE(
            None,
            *(_POINTER, _INTEGER, _POINTER, _INTEGER, _POINTER, _POINTER, _POINTER),
            *(_INTEGER, _INTEGER, _REAL, _REAL, _INTEGER, _INTEGER, _POINTER, _POINTER),
        )
        self._many = kind(self._libraries[0].address("nacelle_v_newton"))
        self._one = kind(self._libraries[1].address("nacelle_s_newton"))
        self._tiles: deque[NDArray[np.uint8]] = deque()

    def solve(
        self,
        y0: Any,
        p: Any,
        *,
        tolerance: float,
        max_iterations: int = 50,
        max_step: float = np.inf,
        follow: bool = False,
        polish: bool = False,
        threads: int = 1,
    ) -> NewtonResult:
        """Solve for every sample.

        Args:
            y0: where to start (N, n) or (1, n).
            p: parameters (N, k) or (1, k).
            tolerance: the error at which a sample is solved.
            max_iterations: the most steps that are taken.
            max_step: Euclidean length of the longest step.
            follow: start each sample from the solution of the one before it, if that was solved, as
                along a path; samples are then solved one after the other, and each thread's first
                sample starts from y0.
            polish: whether a sample that is solved takes one step more.
            threads: how many threads share the samples.
        """
        guess, parameters = rows(y0, self.n, "y0"), rows(p, self.k, "p")
        count = samples(guess, parameters)
        width = 1 if follow else self.width
        y = np.empty((count, self.n))
        # Whole vectors are stored, so there is room for the lanes beyond the last sample.
        iterations = np.zeros(count + width, dtype=np.int64)
        status = np.full(count + width, ITERATION_CAP, dtype=np.int64)
        entry = self._one if follow else self._many
        mode = llvm_drivers.FOLLOW * follow + llvm_drivers.POLISH * polish

        def part(start: int, stop: int) -> None:
            try:
                tile = self._tiles.pop()
            except IndexError:
                tile = aligned_memory(max(self._one_bytes, self._many_bytes))
            entry(
                *(address(guess), _step(guess), address(parameters), _step(parameters)),
                *(address(y), address(iterations), address(status), start, stop),
                *(tolerance, max_step, max_iterations, mode, address(tile), library_table()),
            )
            self._tiles.append(tile)

        _share(part, count, width, threads)
        return NewtonResult(y, iterations[:count], status[:count])

    def bind(
        self,
        y0: NDArray[Any],
        p: NDArray[Any],
        y: NDArray[Any],
        *,
        tolerance: float,
        max_iterations: int = 50,
        max_step: float = np.inf,
        polish: bool = False,
    ) -> Callable[[], int]:
        """Give a function that solves one sample in these very buffers, and returns its status.

        Args:
            y0: where to start (n,).
            p: parameters (k,).
            y: the solution (n,).
            tolerance: as in `solve`, and so are the others.
            max_iterations: the most steps.
            max_step: the longest step.
            polish: whether a sample that is solved takes one step more.
        """
        for name, buffer, size in (("y0", y0, self.n), ("p", p, self.k), ("y", y, self.n)):
            if buffer.shape != (size,) or buffer.dtype != np.float64 or not buffer.flags.c_contiguous:
                raise ValueError(f"{name} must be a C-contiguous float64 array ({size},)")
        tile = aligned_memory(self._one_bytes)
        counted, status = array.array("q", [0]), array.array("q", [ITERATION_CAP])
        call = functools.partial(
            self._one,
            *(_POINTER(address(y0)), _INTEGER(0), _POINTER(address(p)), _INTEGER(0), _POINTER(address(y))),
            *(_POINTER(counted.buffer_info()[0]), _POINTER(status.buffer_info()[0])),
            *(_INTEGER(0), _INTEGER(1), _REAL(tolerance), _REAL(max_step), _INTEGER(max_iterations)),
            *(_INTEGER(llvm_drivers.POLISH * polish), _POINTER(address(tile)), library_table()),
        )
        keep = (tile, counted, y0, p, y)

        def solve() -> int:
            call()
            return status[0]

        vars(solve)["keep"] = keep
        return solve


def _newton_sizes(program: Program) -> tuple[int, int]:
    """Check the form of a step program; give the numbers of unknowns and of parameters."""
    inputs = [variable.size for variable in program.inputs]
    outputs = [variable.size for variable in program.outputs]
    if len(inputs) != 2 or outputs != [inputs[0], 1]:
        raise ValueError(
            f"{program.name} is not a step program: inputs (y, p), outputs (dy, error), got the sizes "
            f"{inputs} and {outputs}"
        )
    return inputs[0], inputs[1]


def compile_newton(program: Program, options: Options = DEFAULT) -> bytes:
    """Compile Newton's method around a step program, as bytes that `load_newton` takes."""
    program.check()
    n, k = _newton_sizes(program)

    def texts() -> tuple[str, str]:
        width, plan = vector_width(options), make_plan(program, options)

        def driver(lanes: int, prefix: str) -> list[str]:
            return [
                llvm_drivers.around(plan, lanes, prefix),
                llvm_drivers.newton(plan, n, k, lanes, prefix),
            ]

        many = module([_info(plan, width, 0), *driver(width, "v_")], options)
        return many, module(driver(1, "s_"), options, 1)

    return compile_two(texts, program, options)


def load_newton(image: bytes, program: Program) -> Newton:
    """Load what `compile_newton` has made of this program on such a machine."""
    return Newton(image, program)


def newton(program: Program, options: Options = DEFAULT) -> Newton:
    """Compile and load Newton's method around a step program."""
    return load_newton(compile_newton(program, options), program)


class Rk4:
    """The classical Runge-Kutta method with a fixed step, for many initial states; see `nacelle.emit.rk4`."""

    def __init__(self, image: bytes, program: Program, control: Program | None = None) -> None:
        self.program = program
        self.sizes = sizes(program, control)
        self._library = Library(image, ("nacelle_info", "nacelle_v_rk4"))
        self.width, self._bytes, _ = self._library.numbers("nacelle_info", 3)
        self._entry = ctypes.CFUNCTYPE(
            None,
            *(_POINTER, _INTEGER, _POINTER, _INTEGER, _INTEGER, _POINTER, _INTEGER, _POINTER, _INTEGER),
            *(_POINTER, _POINTER, _INTEGER, _INTEGER, _REAL, _INTEGER, _INTEGER, _POINTER, _POINTER),
        )(self._library.address("nacelle_v_rk4"))

    def integrate(
        self, x0: Any, u: Any, p: Any, *, h: float, steps: int, every: int = 1, threads: int = 1
    ) -> Rk4Result:
        """Integrate from every initial state; arguments as in `nacelle.emit.rk4.Integrator`."""
        task, n, m = self.sizes.task(x0, u, p, steps, every), self.sizes.n, self.sizes.m
        u_step, u_stage = (3 * m, m) if task.staged else (_step(task.u), 0)
        stored = np.full((task.count, steps // every, n), np.nan)
        final = np.empty((task.count, n))
        completed = np.zeros(task.count + self.width, dtype=np.int64)

        def part(start: int, stop: int) -> None:
            tile = aligned_memory(self._bytes)
            self._entry(
                *(address(task.x0), _step(task.x0), address(task.u), u_step, u_stage),
                *(address(task.p), _step(task.p), address(stored), stored.shape[1] * n),
                *(address(final), address(completed), start, stop, h, steps, every),
                *(address(tile), library_table()),
            )

        _share(part, task.count, self.width, threads)
        completed = completed[: task.count]
        return Rk4Result(stored, final, completed, np.where(completed < steps, NOT_FINITE, CONVERGED))


def compile_rk4(program: Program, options: Options = DEFAULT, control: Program | None = None) -> bytes:
    """Compile the Runge-Kutta method around a derivative program, as bytes that `load_rk4` takes."""
    program.check()
    given = sizes(program, control).m
    n, m, k = (variable.size for variable in program.inputs)
    width, plan = vector_width(options), make_plan(program, options)
    parts, held, extra = [llvm_drivers.around(plan, width, "v_")], None, n
    if control is not None:
        control.check()
        held = llvm_drivers.Control(make_plan(control, options), given, "c_")
        parts.append(evaluation(held.plan, width, "c_"))
        extra += stride(held.plan, 1) // 8
    parts = [_info(plan, width, extra), *parts, llvm_drivers.rk4(plan, n, m, k, width, "v_", held)]
    return compile_text(module(parts, options), options)


def load_rk4(image: bytes, program: Program, control: Program | None = None) -> Rk4:
    """Load what `compile_rk4` has made of these programs on such a machine."""
    return Rk4(image, program, control)


def rk4(program: Program, options: Options = DEFAULT, control: Program | None = None) -> Rk4:
    """Compile and load the Runge-Kutta method around a derivative program."""
    return load_rk4(compile_rk4(program, options, control), program, control)
