"""The implicit Runge-Kutta method as functions over arrays: the rules of `nacelle.emit.irk5` for one motion.

From them LLVM, C and CUDA are written; a target (`StepTarget`) says where arrays are and how programs are
evaluated. The lanes of a program's vectors hold the stages of a step, and for the Jacobian states that differ
in one entry each, so that a vector of W lanes gives W of its columns; in C and on a device W is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nacelle.emit.irk5 import (
    ALPHA,
    BETA,
    DIFFERENCE,
    FIRST_RATIO,
    FLOOR,
    GAMMA,
    LEAST_STATE,
    MOST_HALVINGS,
    MOST_ITERATIONS,
    NODES,
    ROUNDING,
    SLOW,
    SMALL_STATE,
    STAGES,
    T_INVERSE,
    TICKS,
    TOLERANCE,
    T,
    refresh_cost,
)
from nacelle.emit.loop_writer import ArrayWriter, Index
from nacelle.emit.lu import LuLoops, Parameters, column_stride, factor_parameters, solve_parameters

COUNTERS = (
    *("done", "level", "staged", "last_level", "has_jacobian", "fresh", "factored", "base", "extra"),
    *("evaluations", "jacobians"),
)
"""Integers that live through the steps: how much of the step is done, how often it is halved, whether there
are stages to go on from, how often their step was halved, whether there is a Jacobian, one of this state,
factors of it, how many iterations its first step took and the others took more, counts for the user."""

VECTORS = (
    *("scales", "u", "x", "f", "scale", "change"),
    *("last0", "last1", "last2", "z0", "z1", "z2", "w0", "w1", "w2", "r0", "r1", "r2"),
)
"""Arrays of n numbers; u has the inputs at the stages, (3, m)."""
PIVOTS = ("pivots1", "pivots2")
"""Arrays of n integers."""
MATRICES = ("J", "E1", "E2", "E2i")
"""The Jacobian, and the factors of the real and of the complex matrix of Newton's step."""
REPORTED_COUNTS = ("completed", "status", "evaluations", "jacobians")
"""What a run gives in addition to states; the status is 0, or 1 if Newton's iteration did not converge."""
DERIVATIVE, CONTROL = "derivative", "control"


class StepSizes(NamedTuple):
    """Numbers of states, of inputs of the derivative, of parameters, and of inputs in a row for a control."""

    n: int
    m: int
    k: int
    run_inputs: int | None = None


class StepTarget(ABC):
    """Where the arrays of a run are, and how its programs are evaluated.

    A program has a tile: its inputs one after the other, W lanes of each, and its results.

    Attributes:
        width: lanes of a vector.
    """

    width: int

    @abstractmethod
    def function(self, name: str, parameters: Parameters, *, memory: bool, result: bool) -> ArrayWriter:
        """Begin a function; with the memory of the run, and an integer as its result."""

    @abstractmethod
    def end(self, c: ArrayWriter, result: int | None) -> None:
        """End a function that was begun."""

    @abstractmethod
    def call(
        self, c: ArrayWriter, name: str, arguments: Sequence[tuple[str, str]], *, memory: bool, result: bool
    ) -> str:
        """Call a function that was begun so."""

    @abstractmethod
    def array(self, c: ArrayWriter, name: str) -> str:
        """The address of one of `VECTORS`, `PIVOTS` and `MATRICES`."""

    @abstractmethod
    def counter(self, c: ArrayWriter, name: str) -> str:
        """One of `COUNTERS`."""

    @abstractmethod
    def set_counter(self, c: ArrayWriter, name: str, value: Index) -> None:
        """Change one of `COUNTERS`."""

    @abstractmethod
    def fill(self, c: ArrayWriter, program: str, index: Index, vector: str) -> None:
        """Store a vector into a program's tile."""

    @abstractmethod
    def shift(self, c: ArrayWriter, program: str, index: Index, lane: int, value: str) -> None:
        """Store a number into a lane of a program's tile."""

    @abstractmethod
    def result(self, c: ArrayWriter, program: str, index: Index) -> str:
        """Load a vector of a program's results."""

    @abstractmethod
    def evaluate(self, c: ArrayWriter, program: str) -> None:
        """Evaluate a program on its tile."""

    @abstractmethod
    def load_input(self, c: ArrayWriter, name: str, index: Index) -> str:
        """An entry of the arrays `x0`, `p` and `u` that a run is given."""

    @abstractmethod
    def keep(self, c: ArrayWriter, index: Index, value: str) -> None:
        """Store an entry of the states that a run gives."""

    @abstractmethod
    def report(self, c: ArrayWriter, values: Sequence[Index]) -> None:
        """Give what is `REPORTED_COUNTS`."""


RUN_PARAMETERS: Parameters = [
    *(("whole", "u_step"), ("whole", "u_stage"), ("real", "h"), ("whole", "steps")),
    *(("whole", "every"), ("whole", "held")),
]
"""Numbers of a run: how far apart rows of u are, by step and by stage of a step, and the counts of `irk5`."""


class ImplicitSteps:
    """Writes the functions of a run around a derivative program and, if there is one, a control program."""

    def __init__(self, target: StepTarget, sizes: StepSizes) -> None:
        self.target, self.sizes = target, sizes
        self.n, self.m, self.k, self.run_inputs = sizes
        self.column = column_stride(self.n, target.width)

    def write(self) -> None:
        """Write all functions; the last one, `run`, is the one to be called."""
        for prefix, complex_ in (("real", False), ("complex", True)):
            lu = LuLoops(self.n, self.target.width, complex_=complex_)
            for name, parameters, body in (
                (f"{prefix}_factor", factor_parameters(complex_), lu.factor),
                (f"{prefix}_solve", solve_parameters(complex_), lu.solve),
            ):
                c = self.target.function(name, parameters, memory=False, result=False)
                body(c)
                self.target.end(c, None)
        self._jacobian()
        self._factors()
        self._iteration()
        self._step()
        self._run()

    # ---- pieces

    def _arrays(self, c: ArrayWriter, names: Iterable[str]) -> list[str]:
        return [self.target.array(c, name) for name in names]

    def _call(
        self,
        c: ArrayWriter,
        name: str,
        *arguments: tuple[str, str],
        memory: bool = True,
        result: bool = False,
    ) -> str:
        return self.target.call(c, name, arguments, memory=memory, result=result)

    def _count(self, c: ArrayWriter, name: str, more: Index) -> None:
        """Add to a counter."""
        self.target.set_counter(c, name, c.whole("+", self.target.counter(c, name), more))

    def _set(self, c: ArrayWriter, **values: Index) -> None:
        for name, value in values.items():
            self.target.set_counter(c, name, value)

    def _is_set(self, c: ArrayWriter, name: str) -> str:
        return c.whole("!=", self.target.counter(c, name), 0)

    def _lagrange(self, c: ArrayWriter, nodes: NDArray[np.float64], t: str) -> list[str]:
        """Weights of values at nodes in their interpolation at a time, in parts of the step."""
        weights: list[str] = []
        for i, a in enumerate(nodes):
            product = c.number(1.0)
            for j, b in enumerate(nodes):
                if j != i:
                    over = c.real("/", c.real("-", t, c.number(b)), c.number(a - b))
                    product = c.real("*", product, over)
            weights.append(product)
        return weights

    def _input_weights(self, c: ArrayWriter, t: str) -> list[str]:
        """Weights of the inputs at the stages in those at a time."""
        return [c.name_value("weight", weight) for weight in self._lagrange(c, STAGES, t)]

    def _inputs_at(self, c: ArrayWriter, weights: list[str], j: str) -> str:
        """An input at a time."""
        total, u = c.number(0.0), self.target.array(c, "u")
        for stage, weight in enumerate(weights):
            total = c.product_sum(c.load(u, c.whole("+", j, stage * self.m)), weight, total)
        return c.name_value("input", total)

    # ---- functions

    def _jacobian(self) -> None:
        """`jacobian`: J by differences at x and the inputs at a time of the step."""
        target, n, width = self.target, self.n, self.target.width
        c = target.function("jacobian", [("real", "begin")], memory=True, result=False)
        x, f, J = self._arrays(c, ("x", "f", "J"))
        with c.loop(0, n) as states:
            largest = states.carry("largest", c.number(0.0))
            value = c.load(x, states.index)
            states.set_next(largest, c.maximum(largest, c.unary("abs", value)))
            target.fill(c, DERIVATIVE, states.index, c.spread(value))
        least = c.maximum(c.real("*", largest, c.number(SMALL_STATE)), c.number(LEAST_STATE))
        least = c.name_value("least", least)
        if self.m:
            weights = self._input_weights(c, c.argument("begin"))
            with c.loop(0, self.m) as inputs:
                value = self._inputs_at(c, weights, inputs.index)
                target.fill(c, DERIVATIVE, c.whole("+", inputs.index, n), c.spread(value))
        target.evaluate(c, DERIVATIVE)
        with c.loop(0, n) as states:
            c.store(c.lane(target.result(c, DERIVATIVE, states.index), 0), f, states.index)
        with c.loop(0, n, width) as columns:
            first = columns.index
            inverses = [self._shift(c, c.whole("+", first, lane), lane, x, least) for lane in range(width)]
            target.evaluate(c, DERIVATIVE)
            for lane in range(width):
                column = c.whole("+", first, lane)
                with c.when(c.whole("<", column, n)):
                    target.fill(c, DERIVATIVE, column, c.spread(c.load(x, column)))
                    column_address = c.address(J, c.whole("*", column, self.column))
                    with c.loop(0, n) as rows:
                        value = c.lane(target.result(c, DERIVATIVE, rows.index), lane)
                        change = c.real("-", value, c.load(f, rows.index))
                        c.store(c.real("*", change, inverses[lane]), column_address, rows.index)
        self._count(c, "evaluations", n + 1)
        self._count(c, "jacobians", 1)
        target.end(c, None)

    def _shift(self, c: ArrayWriter, column: str, lane: int, x: str, least: str) -> str:
        """Shift a state in one lane of the tile; give one over the shift. Beyond the last it is the last."""
        inside = c.whole("<", column, self.n)
        state = c.name_value("state", c.choose(inside, column, self.n - 1, "whole"), "whole")
        value = c.load(x, state)
        shift = c.name_value(
            "shift", c.real("*", c.maximum(c.unary("abs", value), least), c.number(DIFFERENCE))
        )
        self.target.shift(c, DERIVATIVE, state, lane, c.real("+", value, shift))
        return c.name_value("inverse", c.real("/", c.number(1.0), shift))

    def _factors(self) -> None:
        """`factors`: both matrices of Newton's step for a length of the step, factorised."""
        target = self.target
        c = target.function("factors", [("real", "h")], memory=True, result=False)
        J, E1, E2, E2i = self._arrays(c, MATRICES)
        with c.loop(0, self.n) as columns:
            offset = c.name_value("offset", c.whole("*", columns.index, self.column), "whole")
            with c.loop(0, self.n) as rows:
                position = c.name_value("entry", c.whole("+", offset, rows.index), "whole")
                entry = c.unary("-", c.load(J, position))
                c.store(entry, E1, position)
                c.store(entry, E2, position)
                c.store(c.number(0.0), E2i, position)
            diagonal = c.name_value("diagonal", c.whole("+", offset, columns.index), "whole")
            for matrix, number in ((E1, GAMMA), (E2, ALPHA), (E2i, -BETA)):
                over = c.real("/", c.number(number), c.argument("h"))
                c.store(c.real("+", c.load(matrix, diagonal), over), matrix, diagonal)
        scales, *pivots = self._arrays(c, ("scales", *PIVOTS))
        for name, factors, pivot_array in (
            ("real_factor", [E1], pivots[0]),
            ("complex_factor", [E2, E2i], pivots[1]),
        ):
            parts = [("array", part) for part in factors]
            self._call(c, name, *parts, ("array", scales), ("wholes", pivot_array), memory=False)
        target.end(c, None)

    def _iteration(self) -> None:
        """`iteration`: Newton's iteration for the stages; how many rounds it took, 0 if it fails."""
        times = [("real", name) for name in ("begin", "part", "h")]
        c = self.target.function("iteration", times, memory=True, result=True)
        z, w, last = ([*self._arrays(c, (f"{name}{i}" for i in range(3)))] for name in ("z", "w", "last"))
        staged = c.name_value("staged", self._is_set(c, "staged"), "bit")
        before = c.whole("<<", 1, self.target.counter(c, "last_level"))
        longer = c.name_value("longer", c.real("*", c.unary("real", before), c.argument("part")))
        weights = []
        for stage in STAGES:
            time = c.name_value("time", c.product_sum(longer, c.number(stage), c.number(1.0)))
            _, first, second, third = self._lagrange(c, NODES, time)
            row = [first, second, c.real("-", third, c.number(1.0))]
            weights.append([c.name_value("weight", weight) for weight in row])
        with c.loop(0, self.n) as states:
            old = [c.load(stage, states.index) for stage in last]
            start = []
            for row in weights:
                value = c.number(0.0)
                for weight, stage_value in zip(row, old, strict=True):
                    value = c.product_sum(weight, stage_value, value)
                start.append(c.name_value("start", c.choose(staged, value, c.number(0.0))))
            for i in range(3):
                c.store(start[i], z[i], states.index)
                c.store(c.combination(T_INVERSE[i], start), w[i], states.index)
        with c.loop(1, MOST_ITERATIONS + 1) as rounds:
            previous = rounds.carry("before", c.number(0.0))
            size = self._newton_step(c, z, w)
            first = c.whole("==", rounds.index, 1)
            quotient = c.real("/", size, previous)
            ratio = c.name_value("ratio", c.choose(first, c.number(FIRST_RATIO), quotient))
            limit = c.real("*", c.real("-", c.number(1.0), ratio), c.number(TOLERANCE))
            small = c.real("<=", c.real("*", size, ratio), limit)
            slow = c.real(">=", ratio, c.number(SLOW))
            rounded = c.combine_bits("&", slow, c.real("<=", size, c.number(ROUNDING)))
            with c.when(c.combine_bits("|", small, rounded)):
                c.return_integer(rounds.index)
            growing = c.real(">=", ratio, c.number(1.0))
            with c.when(c.combine_bits("&", growing, c.whole(">", rounds.index, 2))):
                c.return_integer(0)
            with c.when(c.unary("not", c.real("<", size, c.number(float("inf"))), "bit")):
                c.return_integer(0)
            rounds.set_next(previous, size)
        self.target.end(c, 0)

    def _newton_step(self, c: ArrayWriter, z: list[str], w: list[str]) -> str:
        """One round of the iteration; gives the size of the correction."""
        r = self._arrays(c, ("r0", "r1", "r2"))
        x, scale, change = self._arrays(c, ("x", "scale", "change"))
        self._stage_rates(c, z, r)
        gamma, alpha, beta = (
            c.name_value("over", c.real("/", c.number(value), c.argument("h")))
            for value in (GAMMA, ALPHA, BETA)
        )
        with c.loop(0, self.n) as states:
            f = [c.load(part, states.index) for part in r]
            old = [c.name_value("old", c.unary("-", c.load(part, states.index))) for part in w]
            right = [c.combination(row, f) for row in T_INVERSE]
            right[0] = c.product_sum(gamma, old[0], right[0])
            right[1] = c.product_sum(alpha, old[1], c.product_sum(beta, old[2], right[1]))
            back = c.unary("-", old[1])
            right[2] = c.product_sum(alpha, old[2], c.product_sum(beta, back, right[2]))
            for part, value in zip(r, right, strict=True):
                c.store(value, part, states.index)
        E1, E2, E2i, *pivots = self._arrays(c, (*MATRICES[1:], *PIVOTS))
        for name, matrix, pivot_rows, sides in (
            ("real_solve", [E1], pivots[0], r[:1]),
            ("complex_solve", [E2, E2i], pivots[1], r[1:]),
        ):
            parts, right_sides = ([("array", part) for part in several] for several in (matrix, sides))
            self._call(c, name, *parts, ("wholes", pivot_rows), *right_sides, memory=False)
        with c.loop(0, self.n) as states:
            largest = states.carry("largest", c.number(0.0))
            steps = [c.load(part, states.index) for part in r]
            new = [
                c.name_value("new", c.real("+", c.load(part, states.index), step))
                for part, step in zip(w, steps, strict=True)
            ]
            magnitude, corrected = c.unary("abs", c.load(x, states.index)), c.number(0.0)
            for i in range(3):
                c.store(new[i], w[i], states.index)
                stage = c.name_value("stage", c.combination(T[i], new))
                c.store(stage, z[i], states.index)
                magnitude = c.name_value("own", c.maximum(magnitude, c.unary("abs", stage)))
                corrected = c.maximum(corrected, c.unary("abs", c.combination(T[i], steps)))
                corrected = c.name_value("corrected", corrected)
            c.store(magnitude, scale, states.index)
            c.store(corrected, change, states.index)
            states.set_next(largest, c.maximum(largest, magnitude))
        floor = c.product_sum(largest, c.number(FLOOR), c.number(float(np.finfo(float).tiny)))
        floor = c.name_value("floor", floor)
        with c.loop(0, self.n) as states:
            size = states.carry("size", c.number(0.0))
            weight = c.real("+", c.load(scale, states.index), floor)
            states.set_next(size, c.maximum(size, c.real("/", c.load(change, states.index), weight)))
        return size

    def _stage_rates(self, c: ArrayWriter, z: list[str], rates: list[str]) -> None:
        """Evaluate the derivative at all stages, as many at a time as there are lanes."""
        target, x = self.target, self.target.array(c, "x")
        for first in range(0, 3, target.width):
            stages = [min(first + lane, 2) for lane in range(target.width)]
            different = sorted(set(stages))
            with c.loop(0, self.n) as states:
                state = c.load(x, states.index)
                at = {i: c.real("+", state, c.load(z[i], states.index)) for i in different}
                target.fill(c, DERIVATIVE, states.index, c.lanes([at[i] for i in stages]))
            if self.m:
                weights = {}
                for i in different:
                    time = c.product_sum(c.argument("part"), c.number(STAGES[i]), c.argument("begin"))
                    weights[i] = self._input_weights(c, c.name_value("time", time))
                with c.loop(0, self.m) as inputs:
                    values = {i: self._inputs_at(c, weights[i], inputs.index) for i in different}
                    position = c.whole("+", inputs.index, self.n)
                    target.fill(c, DERIVATIVE, position, c.lanes([values[i] for i in stages]))
            target.evaluate(c, DERIVATIVE)
            with c.loop(0, self.n) as states:
                vector = target.result(c, DERIVATIVE, states.index)
                for lane, i in enumerate(stages):
                    if i == first + lane:
                        c.store(c.lane(vector, lane), rates[i], states.index)
        self._count(c, "evaluations", 3)

    # ---- the loop over the steps

    def _step(self) -> None:
        """`step`: one step, in parts where the iteration does not converge; 1 if it is done."""
        target = self.target
        c = target.function("step", [("real", "h")], memory=True, result=True)
        self._set(c, done=0, fresh=0)
        with c.endless_loop():
            done, level = target.counter(c, "done"), target.counter(c, "level")
            ticks = c.name_value("ticks", c.whole(">>", TICKS, level), "whole")
            begin, part = (
                c.name_value(name, c.real("*", c.unary("real", value), c.number(1.0 / TICKS)))
                for name, value in (("begin", done), ("part", ticks))
            )
            h = c.name_value("length", c.real("*", c.argument("h"), part))
            old = c.whole(">=", target.counter(c, "extra"), refresh_cost(self.n))
            none = c.whole("==", target.counter(c, "has_jacobian"), 0)
            with c.when(c.combine_bits("|", old, none)):
                self._call(c, "jacobian", ("real", begin))
                self._set(c, has_jacobian=1, fresh=1, factored=0, extra=0, base=0)
            with c.when(c.whole("==", target.counter(c, "factored"), 0)):
                self._call(c, "factors", ("real", h))
                self._set(c, factored=1)
            times = [("real", value) for value in (begin, part, h)]
            iterations = self._call(c, "iteration", *times, result=True)
            with c.when(c.whole("==", iterations, 0)):
                # A Jacobian of an earlier step is made anew; with a new one the step is halved.
                fresh = target.counter(c, "fresh")
                self._set(c, has_jacobian=fresh)
                with c.when(c.whole("!=", fresh, 0)):
                    with c.when(c.whole("==", level, MOST_HALVINGS)):
                        c.return_integer(0)
                    self._set(c, level=c.whole("+", level, 1), factored=0)
            with c.when(c.whole("!=", iterations, 0)):
                self._advance(c, iterations, level, ticks)
                with c.when(c.whole(">=", target.counter(c, "done"), TICKS)):
                    c.return_integer(1)
        target.end(c, 0)

    def _advance(self, c: ArrayWriter, iterations: str, level: str, ticks: str) -> None:
        """What follows a part of a step whose iteration has converged."""
        target, x = self.target, self.target.array(c, "x")
        z, last = ([*self._arrays(c, (f"{name}{i}" for i in range(3)))] for name in ("z", "last"))
        with c.loop(0, self.n) as states:
            stages = [c.load(part, states.index) for part in z]
            c.store(c.real("+", c.load(x, states.index), stages[2]), x, states.index)
            for part, value in zip(last, stages, strict=True):
                c.store(value, part, states.index)
        self._count(c, "done", ticks)
        self._set(c, staged=1, fresh=0, last_level=level)
        base = target.counter(c, "base")
        first = c.whole("==", base, 0)
        base = c.name_value("first", c.choose(first, iterations, base, "whole"), "whole")
        self._set(c, base=base)
        more = c.choose(c.whole(">", iterations, base), c.whole("-", iterations, base), 0, "whole")
        self._count(c, "extra", more)
        remainder = c.whole("%", target.counter(c, "done"), c.whole("<<", ticks, 1))
        aligned, parted = c.whole("==", remainder, 0), c.whole("!=", level, 0)
        with c.when(c.combine_bits("&", aligned, parted)):
            self._set(c, level=c.whole("-", level, 1), factored=0)

    def _run(self) -> None:
        """`run`: all steps; gives the status."""
        target = self.target
        c = target.function("run", RUN_PARAMETERS, memory=True, result=True)
        u_step, u_stage, h, steps, every, held = (c.argument(name) for _, name in RUN_PARAMETERS)
        x, u = self._arrays(c, ("x", "u"))
        self._set(c, **dict.fromkeys(COUNTERS, 0))
        with c.loop(0, self.n) as states:
            c.store(target.load_input(c, "x0", states.index), x, states.index)
        self._load_parameters(c, DERIVATIVE, self.n + self.m)
        if self.run_inputs is not None:
            self._load_parameters(c, CONTROL, self.n + self.run_inputs)
        with c.loop(0, steps) as step:
            if self.run_inputs is not None:
                with c.when(c.whole("==", c.whole("%", step.index, held), 0)):
                    row = c.whole("*", c.whole("/", step.index, held), u_step)
                    self._evaluate_control(c, self.run_inputs, row)
            elif self.m:
                row = c.name_value("row", c.whole("*", c.whole("/", step.index, held), u_step), "whole")
                for stage in range(3):
                    position = c.name_value("place", c.whole("+", row, c.whole("*", u_stage, stage)), "whole")
                    with c.loop(0, self.m) as inputs:
                        value = target.load_input(c, "u", c.whole("+", position, inputs.index))
                        c.store(value, u, c.whole("+", inputs.index, stage * self.m))
            good = self._call(c, "step", ("real", h), result=True)
            with c.when(c.whole("==", good, 0)):
                self._finish(c, step.index, 1)
                c.return_integer(1)
            completed = c.name_value("completed", c.whole("+", step.index, 1), "whole")
            with c.when(c.whole("==", c.whole("%", completed, every), 0)):
                position = c.whole("*", c.whole("-", c.whole("/", completed, every), 1), self.n)
                position = c.name_value("place", position, "whole")
                with c.loop(0, self.n) as states:
                    target.keep(c, c.whole("+", position, states.index), c.load(x, states.index))
        self._finish(c, steps, 0)
        target.end(c, 0)

    def _load_parameters(self, c: ArrayWriter, program: str, offset: int) -> None:
        if self.k:
            with c.loop(0, self.k) as parameters:
                value = c.spread(self.target.load_input(c, "p", parameters.index))
                self.target.fill(c, program, c.whole("+", parameters.index, offset), value)

    def _evaluate_control(self, c: ArrayWriter, nw: int, row: str) -> None:
        """Have the control give the inputs of a step, the same at all stages."""
        target, (x, u) = self.target, self._arrays(c, ("x", "u"))
        with c.loop(0, self.n) as states:
            target.fill(c, CONTROL, states.index, c.spread(c.load(x, states.index)))
        if nw:
            with c.loop(0, nw) as inputs:
                value = c.spread(target.load_input(c, "u", c.whole("+", row, inputs.index)))
                target.fill(c, CONTROL, c.whole("+", inputs.index, self.n), value)
        target.evaluate(c, CONTROL)
        if self.m:
            with c.loop(0, self.m) as inputs:
                value = c.lane(target.result(c, CONTROL, inputs.index), 0)
                for stage in range(3):
                    c.store(value, u, c.whole("+", inputs.index, stage * self.m))

    def _finish(self, c: ArrayWriter, completed: str, status: int) -> None:
        counts = [self.target.counter(c, name) for name in REPORTED_COUNTS[2:]]
        self.target.report(c, [completed, status, *counts])
