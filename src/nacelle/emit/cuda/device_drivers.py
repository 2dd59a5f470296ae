"""Newton's iteration and the Runge-Kutta method on the device, on rows of numbers.

Arrays are structures of arrays: (size, N), numbers of a row side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nacelle.emit.cuda.device import LoadedDriver, cupy, on_device, rows_of
from nacelle.emit.cuda.newton import newton_kernel
from nacelle.emit.cuda.plan import CudaOptions
from nacelle.emit.cuda.rk4 import RunInputs, rk4_kernel
from nacelle.emit.newton import NOT_FINITE, Rules, newton_sizes
from nacelle.emit.rk4 import sizes
from nacelle.program.program import Program


@dataclass(frozen=True)
class DeviceSolution:
    """What Newton's method found, on the device.

    Attributes:
        y: the unknowns (n, N).
        iterations: steps taken (N,).
        status: 0 converged, 1 the iteration cap was reached, 2 a step or an error was not finite (N,).
    """

    y: Any
    iterations: Any
    status: Any


@dataclass(frozen=True)
class DeviceMotion:
    """Motions from many initial states, on the device.

    Attributes:
        x: the states after every so many steps (stored, n, N); NaN from where one was not finite.
        final: the last finite states (n, N).
        completed: steps to the last finite state (N,).
        status: 0 all steps were completed, 2 a state was not finite (N,).
    """

    x: Any
    final: Any
    completed: Any
    status: Any


class DeviceNewton:
    """Newton's iteration around a step program.

    Attributes:
        program: the step.
        options: how CUDA is written.
    """

    def __init__(self, program: Program, options: CudaOptions | None = None) -> None:
        self.program, self.options = program, options or CudaOptions()
        self.n, self.k = newton_sizes(program)
        self._loaded: dict[bool, LoadedDriver] = {}

    def _driver(self, own: bool) -> LoadedDriver:
        if own not in self._loaded:
            made = newton_kernel(self.program, self.options, own=own)
            self._loaded[own] = LoadedDriver(made, self.options, self.program.name)
        return self._loaded[own]

    def solve(self, y0: Any, p: Any, rules: Rules) -> DeviceSolution:
        """Solve for every sample.

        Args:
            y0: where to start (n, N).
            p: parameters (k, N), or (k,) for all samples.
            rules: when the iteration ends.
        """
        module, own = cupy(), p.ndim == 2
        driver, count = self._driver(own), int(y0.shape[1])
        kind, _ = _types(self.options)
        y = on_device(self.program.name, lambda: module.empty((self.n, count), dtype=y0.dtype))
        taken, status = (module.empty(count, dtype=np.int64) for _ in range(2))
        arguments = [
            *rows_of(y0, "own"),
            *_parameters(p),
            *rows_of(y, "written"),
            taken,
            status,
            driver.scratch(count),
            kind(rules.tolerance),
            np.int64(rules.max_iterations),
            module.asarray(rules.weights(self.n), dtype=y0.dtype),
            np.int32(rules.polish),
        ]
        if count:
            driver.run(arguments, count)
        return DeviceSolution(y, taken, status)


class DeviceRk4:
    """Fixed steps of the Runge-Kutta method around a derivative program and, where there is one, a control.

    Attributes:
        program: the derivative.
        control: what gives the inputs at the begin of every period.
        options: how CUDA is written.
    """

    def __init__(
        self, program: Program, control: Program | None = None, options: CudaOptions | None = None
    ) -> None:
        self.program, self.control, self.options = program, control, options or CudaOptions()
        self._loaded: dict[RunInputs, LoadedDriver] = {}

    @cached_property
    def sizes(self) -> Any:
        """Numbers of states, of inputs in a row, and of parameters."""
        return sizes(self.program, self.control)

    def driver(self, given: RunInputs) -> LoadedDriver:
        """The kernel for inputs that are given in a way."""
        if given not in self._loaded:
            made = rk4_kernel(self.program, self.control, self.options, given)
            self._loaded[given] = LoadedDriver(made, self.options, self.program.name)
        return self._loaded[given]

    def integrate(
        self, x0: Any, u: Any, p: Any, *, h: float, steps: int, every: int = 0, held: int = 1
    ) -> DeviceMotion:
        """Integrate from every initial state.

        Args:
            x0: initial states (n, N).
            u: inputs of each sample (m, N), held throughout; or the same for all samples: (rows, m, 1) with a
                row for every `held` steps, three rows a step, or one row.
            p: parameters (k, N), or (k,) for all samples.
            h: length of a step in seconds.
            steps: number of steps.
            every: a state is stored after so many steps; none if 0.
            held: over how many steps a row of the inputs, or what the control gives, is held.
        """
        module, count = cupy(), int(x0.shape[1])
        given = RunInputs("rows" if u.ndim == 3 else "own", "own" if p.ndim == 2 else "shared")
        driver, stored = self.driver(given), steps // every if every else 0
        n, (kind, _) = int(x0.shape[0]), _types(self.options)
        name = self.program.name
        final = on_device(name, lambda: module.empty((n, count), dtype=x0.dtype))
        kept = on_device(name, lambda: module.full((stored, n, count), np.nan, dtype=x0.dtype))
        completed = module.empty(count, dtype=np.int64)
        rows = int(u.shape[0]) if given.u == "rows" else 1
        arguments = [
            *rows_of(x0, "own"),
            u,
            np.uint64(0 if given.u == "rows" else u.strides[0] // u.itemsize),
            *_parameters(p),
            *rows_of(final, "written"),
            kept,
            np.uint64(count),
            completed,
            driver.scratch(count),
            kind(h),
            *(np.uint64(value) for value in (steps, every, held, rows)),
        ]
        if count:
            driver.run(arguments, count)
        status = module.where(completed < steps, NOT_FINITE, 0)
        return DeviceMotion(kept, final, completed, status)


def _types(options: CudaOptions) -> tuple[Any, str]:
    return (np.float64, "float64") if options.real == "double" else (np.float32, "float32")


def _parameters(p: Any) -> list[Any]:
    """The arguments of parameters, own or shared."""
    return rows_of(p, "own") if p.ndim == 2 else [p, np.uint64(0)]
