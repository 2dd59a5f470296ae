"""The classical Runge-Kutta method with a fixed step, and how it runs without a compiler.

The program has the inputs x (n), u (m) and p (k) and the output dx (n) = f(x, u, p). Each step of length h is

    k1 = f(x, u0)   k2 = f(x + h/2 k1, u1)   k3 = f(x + h/2 k2, u1)   k4 = f(x + h k3, u2)
    x ← x + h/6 (k1 + 2 k2 + 2 k3 + k4)

with u at its begin, middle and end, or held. With a control program, of inputs x (n), w (m) and p (k), u is
what that gives at the begin of the step, held, and rows of w take the place of those of u. Inputs that are
held may be held over several steps (`held`), as by a controller that is slower than the integration.

In the *sampled* form the control program is a digital controller with memory z (nz) and a delay of
computation. It has the inputs S = [s; z] (n + nz), w and P, of which the first k entries are the p of the
derivative, and gives [u; z⁺] (m + nz). The state is X = [s; z; u], u the inputs that act on the plant now;
s alone is integrated. In every period of H = `held` steps, D = `delay` < H:

    step 0 of the period:   [u⁺; z⁺] = g([s; z], w, P),   z ← z⁺
    step D of the period:   u ← u⁺, which acts from the begin of that step on (D = 0: of the same)

so the u of x0 acts during the first D steps. A run is a number of whole periods, and X is all that a next run
needs to go on. X after a step has s at its end, and z and u as they are during it. It must be finite as a
whole: u⁺ counts from where it acts, z⁺ from where it is made.

There are two statements of it here, which tests hold against each other: over all samples at a time, in NumPy
(`NumpyRk4`), and for one sample, from which LLVM, C and CUDA are written (`write_rk4`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.loop_writer import Index, SampleWriter, Vector
from nacelle.emit.newton import CONVERGED, NOT_FINITE, as_rows, sample_count
from nacelle.emit.registry import Kernel
from nacelle.program.program import Program

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rk4Result:
    """Motions from many initial states.

    Attributes:
        x: the states after each `every` steps (N, stored, n), X in the sampled form; NaN from where one was
            not finite.
        final: the last finite states (N, n).
        completed: steps to the last finite state (N,).
        status: 0 all steps were completed, 2 a state was not finite (N,).
    """

    x: _Array
    final: _Array
    completed: NDArray[np.int64]
    status: NDArray[np.int64]


class Integrator(ABC):
    """Fixed steps around a derivative program and, where there is one, a control program."""

    def __init__(self, program: Program, control: Program | None, sampled: bool) -> None:
        self.sizes = integration_sizes(program, control, sampled=sampled)

    def integrate(
        self,
        x0: Any,
        u: Any,
        p: Any,
        *,
        h: float,
        steps: int,
        every: int = 1,
        held: int = 1,
        delay: int = 0,
        threads: int = 1,
    ) -> Rk4Result:
        """Integrate from every initial state.

        Args:
            x0: initial states (N, n); X (N, n + nz + m) in the sampled form.
            u: inputs (steps / held, m), each held over `held` steps, (1, m), held throughout, or
                (steps, 3, m), at the begin, middle and end of every step; the same for all samples. With a
                control they are w, and in the sampled form never (steps, 3, m).
            p: parameters (N, k) or (1, k); P in the sampled form.
            h: length of a step in seconds.
            steps: number of steps.
            every: number of steps from one stored state to the next, so there are steps // every of them.
            held: over how many steps a row of the inputs, or what the control gives, is held.
            delay: after how many steps of a period what the control gives acts, fewer than `held`; in the
                sampled form only.
            threads: how many threads share the samples.
        """
        task = self.sizes.make_task(x0, u, p, steps, every, held, delay)
        stored = np.full((task.count, steps // every, self.sizes.n), np.nan)
        final, completed = self._integrate(task, h, stored, threads)
        return Rk4Result(stored, final, completed, np.where(completed < steps, NOT_FINITE, CONVERGED))

    @abstractmethod
    def _integrate(
        self, task: IntegrationTask, h: float, stored: _Array, threads: int
    ) -> tuple[_Array, NDArray[np.int64]]:
        """Fill the stored states (N, stored, n); give the last states (N, n) and the steps to them (N,)."""


@dataclass(frozen=True)
class SampledSizes:
    """Sizes in the sampled form.

    Attributes:
        s: number of states that are integrated.
        z: number of states of the controller.
        u: number of inputs of the plant.
    """

    s: int
    z: int
    u: int


@dataclass(frozen=True)
class IntegrationSizes:
    """Numbers of states, of inputs that are given by row, and of parameters.

    Attributes:
        n: states that are stored.
        m: inputs in a row.
        k: parameters.
        sampled: the parts of the states in the sampled form; None in the others.
    """

    n: int
    m: int
    k: int
    sampled: SampledSizes | None = None

    def make_task(self, x0: Any, u: Any, p: Any, *counts: int) -> IntegrationTask:
        """Check what `integrate` was given; `counts` are steps, every, held and delay."""
        steps, every, held, delay = counts
        start, parameters = as_rows(x0, self.n, "x0"), as_rows(p, self.k, "p")
        staged = np.ndim(u) == 3
        if staged and self.sampled is not None:
            raise ValueError(f"w has the shape {np.shape(u)}: a sampled control has one row a period")
        if staged and np.shape(u)[1] != 3:
            raise ValueError(f"u has the shape {np.shape(u)}, not (steps, 3, {self.m})")
        inputs = as_rows(np.reshape(u, (-1, np.shape(u)[2])) if staged else u, self.m, "u")
        if steps < 0 or every < 1 or held < 1:
            raise ValueError(f"steps = {steps}, every = {every} and held = {held} must be positive")
        require_delay(delay, held, sampled=self.sampled is not None)
        if held > 1 and (staged or steps % held):
            raise ValueError(
                f"inputs are held over {held} steps each, and {steps} steps are no multiple of that"
            )
        if len(inputs) not in (1, steps // held) if not staged else len(inputs) != 3 * steps:
            raise ValueError(f"u has {len(inputs) // (3 if staged else 1)} rows for {steps // held} steps")
        return IntegrationTask(start, inputs, parameters, staged, steps, every, held, delay)


def require_delay(delay: int, held: int, *, sampled: bool) -> None:
    """Refuse a delay without a sampled control, or one not within its period of `held` steps."""
    if delay and not sampled:
        raise ValueError(f"delay = {delay} is for a sampled control only")
    if not 0 <= delay < held:
        raise ValueError(f"delay = {delay} must be at least 0 and less than held = {held}")


@dataclass(frozen=True)
class IntegrationTask:
    """What is to be integrated.

    Attributes:
        x0: initial states (N, n) or (1, n).
        u: inputs (steps, m) or (1, m), or (3 steps, m) if staged.
        p: parameters (N, k) or (1, k).
        staged: whether there are three rows of u for each step.
        steps: number of steps.
        every: number of steps from one stored state to the next.
        held: over how many steps a row of u is held.
        delay: after how many of these what a sampled control gives acts.
    """

    x0: _Array
    u: _Array
    p: _Array
    staged: bool
    steps: int
    every: int
    held: int
    delay: int

    @property
    def count(self) -> int:
        """Number of samples N."""
        return sample_count(self.x0, self.p)

    def stages(self, step: int) -> Sequence[_Array]:
        """Inputs (m,) at the begin, in the middle and at the end of a step."""
        if self.staged:
            return self.u[3 * step], self.u[3 * step + 1], self.u[3 * step + 2]
        held = self.u[step // self.held if len(self.u) > 1 else 0]
        return held, held, held


def integration_sizes(
    program: Program, control: Program | None = None, *, sampled: bool = False
) -> IntegrationSizes:
    """Check the form of a derivative program and of its control; give the sizes of what is integrated.

    Raises:
        ValueError: if a program is of another form, or the form is sampled and there is no control.
    """
    input_sizes = [variable.size for variable in program.inputs]
    output_sizes = [variable.size for variable in program.outputs]
    if len(input_sizes) != 3 or output_sizes != input_sizes[:1]:
        raise ValueError(
            f"{program.name} is not a derivative program: inputs (x, u, p), output dx, got the sizes "
            f"{input_sizes} and {output_sizes}"
        )
    n, m, k = input_sizes
    if control is None:
        if sampled:
            raise ValueError(f"{program.name} has no control that could be sampled")
        return IntegrationSizes(n, m, k)
    input_sizes = [variable.size for variable in control.inputs]
    output_sizes = [variable.size for variable in control.outputs]
    if sampled:
        nz = input_sizes[0] - n if input_sizes else -1
        if len(input_sizes) != 3 or nz < 0 or input_sizes[2] < k or output_sizes != [m + nz]:
            raise ValueError(
                f"{control.name} is no sampled control program of {program.name}: inputs ([s; z], w, P) and "
                f"output [u; z+] have the sizes {n} + nz, any, at least {k} and {m} + nz, got {input_sizes} "
                f"and {output_sizes}"
            )
        return IntegrationSizes(n + nz + m, input_sizes[1], input_sizes[2], SampledSizes(n, nz, m))
    if len(input_sizes) != 3 or [input_sizes[0], input_sizes[2]] != [n, k] or output_sizes != [m]:
        raise ValueError(
            f"{control.name} is no control program of {program.name}: inputs (x, w, p) and output u have the "
            f"sizes {n}, any, {k} and {m}, got {input_sizes} and {output_sizes}"
        )
    return IntegrationSizes(n, input_sizes[1], k)


class NumpyRk4(Integrator):
    """The Runge-Kutta method around kernels, all samples at a time."""

    def __init__(
        self,
        program: Program,
        kernel: Callable[[Program], Kernel],
        control: Program | None = None,
        *,
        sampled: bool = False,
    ) -> None:
        """Prepare.

        Args:
            program: the derivative.
            kernel: what makes a program run.
            control: what gives u at the begin of every step.
            sampled: whether the control is of the sampled form.
        """
        super().__init__(program, control, sampled)
        self._derivative = _RowFunction(program, kernel(program))
        self._control = None if control is None else _RowFunction(control, kernel(control))

    def _integrate(
        self, task: IntegrationTask, h: float, stored: _Array, threads: int
    ) -> tuple[_Array, NDArray[np.int64]]:
        final = np.broadcast_to(task.x0, (task.count, self.sizes.n)).copy()
        p = np.broadcast_to(task.p, (task.count, self.sizes.k))
        completed = np.zeros(task.count, dtype=np.int64)
        left = np.arange(task.count)
        outputs = np.empty((task.count, 0 if self._control is None else self._control.size))
        n, m, k = self._derivative.inputs
        with np.errstate(all="ignore"):
            for step in range(task.steps):
                if not left.size:
                    break
                phase, stages, before = step % task.held, task.stages(step), final[left]
                if self._control is not None:
                    if phase == 0:
                        outputs[left] = self._control(
                            before[:, : self._control.inputs[0]],
                            np.broadcast_to(stages[0], (len(left), len(stages[0]))),
                            p[left],
                            threads,
                        )
                    acting = outputs[left, :m] if phase >= task.delay else before[:, self.sizes.n - m :]
                    stages = (acting,) * 3
                x = self._advance(before[:, :n], stages, p[left, :k], h, threads)
                if self.sizes.sampled is not None:
                    x = np.concatenate([x, outputs[left, m:], stages[0]], axis=1)
                finite = np.all(np.isfinite(x), axis=1)
                left = left[finite]
                final[left] = x[finite]
                completed[left] += 1
                if (step + 1) % task.every == 0:
                    stored[left, (step + 1) // task.every - 1] = final[left]
        return final, completed

    def _advance(self, x: _Array, stages: Sequence[_Array], p: _Array, h: float, threads: int) -> _Array:
        """The states (N, n) after one step."""
        begin, middle, end = (np.broadcast_to(row, (len(x), row.shape[-1])) for row in stages)
        f = self._derivative
        k1 = f(x, begin, p, threads)
        k2 = f(x + h / 2 * k1, middle, p, threads)
        k3 = f(x + h / 2 * k2, middle, p, threads)
        k4 = f(x + h * k3, end, p, threads)
        return np.asarray(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


class _RowFunction:
    """A program of three inputs and one output on arrays of rows; a single row goes through fixed buffers."""

    def __init__(self, program: Program, kernel: Kernel) -> None:
        self._kernel = kernel
        (self.size,) = (variable.size for variable in program.outputs)
        self.inputs = [variable.size for variable in program.inputs]
        self._inputs = [np.zeros((1, size)) for size in self.inputs]
        self._output = np.zeros((1, self.size))
        self._run_sample = kernel.bind(self._inputs, [self._output])

    def __call__(self, x: _Array, u: _Array, p: _Array, threads: int) -> _Array:
        """Evaluate (N, size)."""
        if len(x) == 1:
            for buffer, array in zip(self._inputs, (x, u, p), strict=True):
                buffer[:] = array
            self._run_sample()
            return self._output.copy()
        out = np.empty((len(x), self.size))
        self._kernel.run([np.ascontiguousarray(array) for array in (x, u, p)], [out], threads)
        return out


# ---- the steps of a sample, for LLVM, C and CUDA


@dataclass(frozen=True)
class ControlLoop:
    """A control in the steps of a sample.

    Attributes:
        outputs: the inputs that it gives; may be where the derivative takes them.
        evaluate: writes its evaluation, with a row of w.
        held: over how many steps they are held, an integer.
        before: of a sampled control the inputs that have acted so far, the part of X.
        delay: after how many steps of a period what it gives acts, an integer.
        carried: its parts of X, z and u: each, what it becomes in a step, and its size.
    """

    outputs: Vector
    evaluate: Callable[[str], None]
    held: str
    before: Vector | None = None
    delay: str = ""
    carried: tuple[tuple[Vector, Vector, int], ...] = ()


@dataclass(frozen=True)
class Rk4Loop:
    """What the steps of a sample work on.

    Attributes:
        n: number of states that are integrated.
        m: number of inputs of the derivative.
        x: the states, between steps.
        at: the states at which the derivative is evaluated.
        u: the inputs with which it is; without a control its evaluation sees to them.
        slope: what it gives.
        total: the sum of what it has given in this step.
        after: the states after the step; may be `at`.
        begin: writes what comes before the stages of a step.
        evaluate: writes its evaluation, at a stage of the step.
        h: length of a step, a number.
        steps: number of steps, an integer.
        is_stored: whether the state after a number of steps is stored, a condition.
        store: writes how it is.
        control: what gives u.
    """

    n: int
    m: int
    x: Vector
    at: Vector
    u: Vector
    slope: Vector
    total: Vector
    after: Vector
    begin: Callable[[str], None]
    evaluate: Callable[[Index], None]
    h: str
    steps: str
    is_stored: Callable[[str], str]
    store: Callable[[str], None]
    control: ControlLoop | None = None


def write_rk4(w: SampleWriter, a: Rk4Loop) -> str:
    """Write the steps of a sample; give the number of those that are completed, an integer."""
    zero, one, two = (w.number(value) for value in (0.0, 1.0, 2.0))
    half, sixth = (
        w.name_value("half", w.real("/", a.h, two)),
        w.name_value("sixth", w.real("/", a.h, w.number(6.0))),
    )
    with w.rounds("step", a.steps) as steps:
        completed, x = steps.carry("completed", 0, "whole"), w.load_vector(a.x, a.n)
        a.begin(steps.index)
        if a.control is not None:
            _write_control(w, a, a.control, steps.index)

        def begin(j: Index) -> None:
            a.at.put(j, x.get(j))
            a.total.put(j, zero)

        w.each(a.n, begin)

        def stage(k: Index) -> None:
            a.evaluate(k)
            weight = w.name_value("weight", w.pick(k, [one, two, two, one]))
            reach = w.name_value("reach", w.pick(k, [half, half, a.h, a.h]))

            def entry(j: Index) -> None:
                rate = w.name_value("rate", a.slope.get(j))
                share = rate if weight == one else w.real("*", weight, rate)
                # Where stages are written one by one, the first begins the sum and the last leads nowhere.
                a.total.put(j, share if k == 0 else w.real("+", a.total.get(j), share))
                if k != 3:
                    a.at.put(j, w.product_sum(reach, rate, x.get(j)))

            w.each(a.n, entry)

        w.stages(4, stage)
        w.each(a.n, lambda j: a.after.put(j, w.product_sum(sixth, a.total.get(j), x.get(j))))
        # X must be finite as a whole: s, and z and u as they are during this step.
        updates = [(x, a.after, a.n), *(() if a.control is None else a.control.carried)]
        going = steps.active
        for _, new, size in updates:
            going = _all_finite(w, going, new, size)
        steps.leave_unless(going)
        for old, new, size in updates:
            _copy_vector(w, old, new, size)
        steps.count(completed)
        following = w.name_value("following", w.whole("+", steps.index, 1), "whole")
        with w.when(a.is_stored(following)):
            a.store(following)
    return completed


def _all_finite(w: SampleWriter, bit: str, vector: Vector, size: int) -> str:
    """Whether a bit is set, and all entries of a vector are finite."""
    return w.fold(
        "finite",
        size,
        bit,
        lambda j, so_far: w.combine_bits("&", so_far, w.unary("finite", vector.get(j))),
        "bit",
    )


def _copy_vector(w: SampleWriter, to: Vector, vector: Vector, size: int) -> None:
    """Write a vector into another."""
    w.each(size, lambda j: to.put(j, vector.get(j)))


def _write_control(w: SampleWriter, a: Rk4Loop, control: ControlLoop, step: str) -> None:
    """Write what gives the inputs of a step."""
    row = w.name_value("row", w.whole("/", step, control.held), "whole")
    phase = w.name_value("phase", w.whole("-", step, w.whole("*", row, control.held)), "whole")
    with w.when(w.whole("==", phase, 0)):
        control.evaluate(row)
    control_output, before = control.outputs, control.before
    if before is not None:
        acts = w.whole(">=", phase, control.delay)
        w.each(a.m, lambda j: a.u.put(j, w.select_if(acts, control_output.get(j), before.get(j))))
    elif control_output is not a.u:
        _copy_vector(w, a.u, control_output, a.m)
