"""Newton's iteration: what it gives, and how it runs without a compiler.

The native form is in `nacelle.emit.jit.drivers`; both follow the same rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.registry import Kernel
from nacelle.program.program import Program

CONVERGED, ITERATION_CAP, NOT_FINITE = 0, 1, 2


@dataclass(frozen=True)
class NewtonResult:
    """What Newton's method found for every sample.

    Attributes:
        y: the unknowns (N, n); where the status is not 0, the last values that were tried.
        iterations: steps taken (N,).
        status: 0 converged, 1 the iteration cap was reached, 2 a step or an error was not finite (N,).
    """

    y: NDArray[np.float64]
    iterations: NDArray[np.int64]
    status: NDArray[np.int64]


class Solver(Protocol):
    """Newton's iteration around a step program; see `nacelle.emit.jit.drivers.Newton`."""

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
        """Solve for every sample."""

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
        """Give a function that solves one sample in these very buffers, and returns its status."""


class NumpyNewton:
    """Newton's method around a step program's kernel, all samples at a time."""

    def __init__(self, program: Program, kernel: Kernel) -> None:
        self.program, self._kernel = program, kernel
        self.n, self.k = (variable.size for variable in program.inputs)

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
        """Solve for every sample; arguments as in `nacelle.emit.jit.drivers.Newton.solve`."""
        guess = np.atleast_2d(np.asarray(y0, dtype=np.float64))
        parameters = np.atleast_2d(np.asarray(p, dtype=np.float64))
        count = max(len(guess), len(parameters)) if min(len(guess), len(parameters)) else 0
        y = np.broadcast_to(guess, (count, self.n)).copy()
        parameters = np.ascontiguousarray(np.broadcast_to(parameters, (count, self.k)))
        iterations = np.zeros(count, dtype=np.int64)
        status = np.full(count, ITERATION_CAP, dtype=np.int64)
        if follow:
            first = y[0].copy() if count else None
            for row in range(count):
                start = y[row - 1] if row and status[row - 1] == CONVERGED else first
                one = self.solve(
                    start,
                    parameters[row],
                    tolerance=tolerance,
                    max_iterations=max_iterations,
                    max_step=max_step,
                    polish=polish,
                )
                y[row], iterations[row], status[row] = one.y[0], one.iterations[0], one.status[0]
            return NewtonResult(y, iterations, status)
        left = np.arange(count)
        for iteration in range(max_iterations + 1):
            if not left.size:
                break
            dy, error = np.empty((left.size, self.n)), np.empty((left.size, 1))
            self._kernel.run([np.ascontiguousarray(y[left]), parameters[left]], [dy, error], threads)
            length = np.linalg.norm(dy, axis=1)
            done = error[:, 0] <= tolerance
            broken = ~done & ~(np.isfinite(error[:, 0]) & np.isfinite(length))
            status[left[done]], status[left[broken]] = CONVERGED, NOT_FINITE
            if polish:
                last = done & np.isfinite(length)
                y[left[last]] += _shortened(dy[last], length[last], max_step)
            moves = ~done & ~broken
            if iteration == max_iterations:
                break
            left = left[moves]
            y[left] += _shortened(dy[moves], length[moves], max_step)
            iterations[left] += 1
        return NewtonResult(y, iterations, status)

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
        """Give a function that solves one sample in these very buffers, and returns its status."""

        def solve() -> int:
            found = self.solve(
                *(y0, p),
                tolerance=tolerance,
                max_iterations=max_iterations,
                max_step=max_step,
                polish=polish,
            )
            y[:] = found.y[0]
            return int(found.status[0])

        return solve


def _shortened(dy: NDArray[Any], length: NDArray[Any], max_step: float) -> NDArray[Any]:
    """Steps (N, n) of some lengths (N,), none longer than the longest that is allowed."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(1.0, max_step / length)[:, None] * dy)
