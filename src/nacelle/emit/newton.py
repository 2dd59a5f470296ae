"""Newton's iteration: what it takes and gives, and how it runs without a compiler.

A step program has the inputs y (n) and p (k) and the outputs dy (n) and error (): for f(y, p) = 0 it computes
dy = -(∂f/∂y)⁻¹ f and, say, error = |f|, both at y. For every sample

    y ← y + min(1, 1 / |dy / L|) dy     until error(y) <= tolerance,

L the longest steps, one or each unknown's own, as units differ. The error belongs to the y that is returned:
no step is taken after the test, unless `polish` takes the one that the test has computed: convergence is
quadratic, so only rounding is left then.

There are two statements of it here, which tests hold against each other: over all samples at a time, in NumPy
(`NumpyNewton`), and for one sample, from which LLVM, C and CUDA are written (`write_newton`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.loop_writer import Entries, Index, SampleWriter, Vector
from nacelle.emit.registry import Kernel
from nacelle.program.program import Program

CONVERGED, ITERATION_CAP, NOT_FINITE = 0, 1, 2

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class NewtonResult:
    """What Newton's method found for every sample.

    Attributes:
        y: the unknowns (N, n); where the status is not 0, the last values that were tried.
        iterations: steps taken (N,).
        status: 0 converged, 1 the iteration cap was reached, 2 a step or an error was not finite (N,).
    """

    y: _Array
    iterations: NDArray[np.int64]
    status: NDArray[np.int64]


@dataclass(frozen=True)
class NewtonRules:
    """When the iteration ends, and how long its steps are.

    Attributes:
        tolerance: the error at which a sample is solved.
        max_iterations: the most steps that are taken.
        max_step: longest step of all unknowns, or of each alone (n,); steps have the length |dy / max_step|.
        polish: whether a sample that is solved takes one step more.
    """

    tolerance: float
    max_iterations: int
    max_step: float | _Array
    polish: bool

    def weights(self, n: int) -> _Array:
        """What makes steps of n unknowns pure numbers, the longest 1 (n,)."""
        return np.ascontiguousarray(np.broadcast_to(1.0 / np.asarray(self.max_step, dtype=np.float64), (n,)))


class NewtonSolver(ABC):
    """Newton's iteration around a step program, for many samples.

    Attributes:
        program: the step.
        n: number of unknowns.
        k: number of parameters.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.n, self.k = newton_sizes(program)

    def solve(
        self,
        y0: Any,
        p: Any,
        *,
        tolerance: float,
        max_iterations: int = 50,
        max_step: float | _Array = np.inf,
        polish: bool = False,
        follow: bool = False,
        threads: int = 1,
    ) -> NewtonResult:
        """Solve for every sample.

        Args:
            y0: where to start (N, n) or (1, n).
            p: parameters (N, k) or (1, k).
            tolerance: as in `NewtonRules`, and so are the next three.
            max_iterations: the most steps.
            max_step: the longest step.
            polish: whether a sample that is solved takes one step more.
            follow: start each sample from the solution of the one before it, if that was solved, as
                along a path; samples are then solved one after the other, and each thread's first
                sample starts from y0.
            threads: how many threads share the samples.
        """
        guess, parameters = as_rows(y0, self.n, "y0"), as_rows(p, self.k, "p")
        rules = NewtonRules(tolerance, max_iterations, max_step, polish)
        return self._solve(guess, parameters, rules, follow, threads)

    def bind(
        self,
        y0: _Array,
        p: _Array,
        y: _Array,
        *,
        tolerance: float,
        max_iterations: int = 50,
        max_step: float | _Array = np.inf,
        polish: bool = False,
    ) -> Callable[[], int]:
        """Give a function that solves one sample in these very buffers, and returns its status.

        Args:
            y0: where to start (n,).
            p: parameters (k,).
            y: the solution (n,).
            tolerance: as in `NewtonRules`, and so are the others.
            max_iterations: the most steps.
            max_step: the longest step.
            polish: whether a sample that is solved takes one step more.
        """
        for name, buffer, size in (("y0", y0, self.n), ("p", p, self.k), ("y", y, self.n)):
            if buffer.shape != (size,) or buffer.dtype != np.float64 or not buffer.flags.c_contiguous:
                raise ValueError(f"{name} must be a C-contiguous float64 array ({size},)")
        return self._bind(y0, p, y, NewtonRules(tolerance, max_iterations, max_step, polish))

    @abstractmethod
    def _solve(
        self, y0: _Array, p: _Array, rules: NewtonRules, follow: bool, threads: int
    ) -> NewtonResult: ...

    @abstractmethod
    def _bind(self, y0: _Array, p: _Array, y: _Array, rules: NewtonRules) -> Callable[[], int]: ...


class NumpyNewton(NewtonSolver):
    """Newton's method around a step program's kernel, all samples at a time."""

    def __init__(self, program: Program, kernel: Kernel) -> None:
        super().__init__(program)
        self._kernel = kernel

    def _solve(self, y0: _Array, p: _Array, rules: NewtonRules, follow: bool, threads: int) -> NewtonResult:
        count = sample_count(y0, p)
        y = np.broadcast_to(y0, (count, self.n)).copy()
        p = np.ascontiguousarray(np.broadcast_to(p, (count, self.k)))
        iterations = np.zeros(count, dtype=np.int64)
        status = np.full(count, ITERATION_CAP, dtype=np.int64)
        if follow:
            first = y[:1].copy()
            for row in range(count):
                start = y[row - 1 : row] if row and status[row - 1] == CONVERGED else first
                sample = self._solve(start, p[row : row + 1], rules, False, 1)
                y[row], iterations[row], status[row] = sample.y[0], sample.iterations[0], sample.status[0]
            return NewtonResult(y, iterations, status)
        left = np.arange(count)
        for iteration in range(rules.max_iterations + 1):
            if not left.size:
                break
            dy, error = np.empty((left.size, self.n)), np.empty((left.size, 1))
            self._kernel.run([np.ascontiguousarray(y[left]), p[left]], [dy, error], threads)
            with np.errstate(invalid="ignore"):
                length = np.linalg.norm(dy * rules.weights(self.n), axis=1)
            done = error[:, 0] <= rules.tolerance
            broken = ~done & ~(np.isfinite(error[:, 0]) & np.isfinite(length))
            status[left[done]], status[left[broken]] = CONVERGED, NOT_FINITE
            if rules.polish:
                last = done & np.isfinite(length)
                y[left[last]] += _limit_steps(dy[last], length[last])
            moves = ~done & ~broken
            if iteration == rules.max_iterations:
                break
            left = left[moves]
            y[left] += _limit_steps(dy[moves], length[moves])
            iterations[left] += 1
        return NewtonResult(y, iterations, status)

    def _bind(self, y0: _Array, p: _Array, y: _Array, rules: NewtonRules) -> Callable[[], int]:
        def solve() -> int:
            sample = self._solve(y0[None], p[None], rules, False, 1)
            y[:] = sample.y[0]
            return int(sample.status[0])

        return solve


@dataclass(frozen=True)
class NewtonLoop:
    """What the iteration of a sample works on.

    Attributes:
        n: number of unknowns.
        y: the unknowns.
        step: dy, which the program gives.
        error: the error, which the program gives.
        weights: what makes the step a pure number (n).
        evaluate: writes the evaluation of the program at y.
        tolerance: as in `NewtonRules`.
        rounds: the most evaluations, one more than steps, an integer.
        polish: as in `NewtonRules`, a condition.
    """

    n: int
    y: Vector
    step: Vector
    error: Entries
    weights: Entries
    evaluate: Callable[[], None]
    tolerance: str
    rounds: str
    polish: str


def write_newton(w: SampleWriter, a: NewtonLoop) -> tuple[str, str]:
    """Write the iteration of a sample; give its status and the number of steps taken, integers."""
    zero, one = w.number(0.0), w.number(1.0)
    with w.rounds("round", a.rounds) as rounds:
        status, steps = rounds.carry("status", ITERATION_CAP, "whole"), rounds.carry("taken", 0, "whole")
        a.evaluate()
        step, error = w.load_vector(a.step, a.n), w.name_value("left", a.error(0))

        def squares(j: Index, total: str) -> str:
            part = w.name_value("part", w.real("*", step.get(j), a.weights(j)))
            return w.product_sum(part, part, total)

        square = w.fold("squares", a.n, zero, squares)
        length = w.name_value("length", w.unary("sqrt", square))
        # The length is finite where its square is, which is known earlier.
        finite = w.name_value(
            "finite", w.combine_bits("&", w.unary("finite", error), w.unary("finite", square)), "bit"
        )
        converged = w.name_value(
            "solved", w.combine_bits("&", rounds.active, w.real("<=", error, a.tolerance)), "bit"
        )
        unsolved = w.unless(rounds.active, converged)
        broken = w.name_value("broken", w.unless(unsolved, finite), "bit")
        ended = w.choose(broken, NOT_FINITE, status, "whole")
        rounds.set_next(status, w.choose(converged, CONVERGED, ended, "whole"))
        room = w.whole("<", w.whole("+", rounds.index, 1), a.rounds)
        going = w.name_value("going", w.only_if(room, w.combine_bits("&", unsolved, finite)), "bit")
        last = w.only_if(a.polish, w.combine_bits("&", converged, finite))
        scale = w.name_value("scale", w.choose(w.real(">", length, one), w.real("/", one, length), one))
        y = a.y
        with w.where(w.combine_bits("|", going, last)):
            w.each(a.n, lambda j: y.put(j, w.real("+", y.get(j), w.real("*", scale, step.get(j)))))
        rounds.leave_unless(going)
        rounds.count(steps)
    return status, steps


def newton_sizes(program: Program) -> tuple[int, int]:
    """Check the form of a step program; give the numbers of unknowns and of parameters.

    Raises:
        ValueError: if it is of another form.
    """
    inputs = [variable.size for variable in program.inputs]
    outputs = [variable.size for variable in program.outputs]
    if len(inputs) != 2 or outputs != [inputs[0], 1]:
        raise ValueError(
            f"{program.name} is not a step program: inputs (y, p), outputs (dy, error), got the sizes "
            f"{inputs} and {outputs}"
        )
    return inputs[0], inputs[1]


def as_rows(array: Any, size: int, name: str) -> _Array:
    """Give a C-contiguous array (N, size)."""
    table = np.ascontiguousarray(np.atleast_2d(np.asarray(array, dtype=np.float64)))
    if table.ndim != 2 or table.shape[1] != size:
        raise ValueError(f"{name} has the shape {table.shape}, not (N, {size})")
    return table


def sample_count(*arrays: _Array) -> int:
    """Give the number of samples of arrays with N rows or one."""
    counts = {len(array) for array in arrays if len(array) != 1} or {1}
    if len(counts) > 1:
        raise ValueError(f"the arrays have different numbers of rows: {sorted(counts)}")
    return counts.pop()


def _limit_steps(dy: NDArray[Any], length: NDArray[Any]) -> NDArray[Any]:
    """Steps (N, n) of some lengths (N,), none longer than 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(1.0, 1.0 / length)[:, None] * dy)
