"""The implicit Runge-Kutta method in native code: the rules of `nacelle.emit.irk5`, without Python.

One motion at a time. The lanes of the program's vectors hold the stages of a step, and for the Jacobian
states that differ in one entry each, so a vector of W lanes gives W of its columns.
"""

from __future__ import annotations

import ctypes
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
    ImplicitIntegrator,
    Irk5Result,
    T,
    refresh_cost,
)
from nacelle.emit.jit.instructions import evaluation, stride
from nacelle.emit.jit.library import Library, address, aligned_memory, library_table, step_of
from nacelle.emit.jit.loops import Code
from nacelle.emit.jit.lu import factor_and_solve
from nacelle.emit.jit.lu import stride as column_stride
from nacelle.emit.jit.plan import Plan
from nacelle.emit.jit.target import DEFAULT, Options, compile_text, info, make_plan, module, vector_width
from nacelle.emit.newton import CONVERGED, ITERATION_CAP
from nacelle.emit.rk4 import Task, sizes
from nacelle.program.program import Program

_POINTER, _INTEGER, _REAL = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
# Integers that live through the steps: how often the step is halved, whether there are stages to go on from,
# how often their step was halved, whether there is a Jacobian, factors of it, how many iterations the first
# step with it took and the others took more.
_LEVEL, _STAGED, _LAST, _HAS_J, _FACTORED, _BASE, _EXTRA, _EVALUATIONS, _JACOBIANS, _WHOLES = range(10)
_ARGUMENTS = "ptr %tile, ptr %work, ptr %table"


class _Layout(NamedTuple):
    """What is where in the memory of a run, behind the tile and a control's tile; in doubles.

    Every array is preceded and followed by numbers that are not used, of a vector at least.
    """

    n: int
    m: int
    width: int

    @property
    def _vector(self) -> int:
        return column_stride(max(self.n, 3 * self.m, _WHOLES), self.width) + self.width

    def vector(self, name: str) -> int:
        """Where an array of n numbers begins, or the inputs at the stages, (3, m)."""
        return self.width + self._vector * _VECTORS.index(name)

    def matrix(self, name: str) -> int:
        """Where a matrix begins."""
        each = self.n * column_stride(self.n, self.width) + 2 * self.width
        return self.vector(_VECTORS[-1]) + self._vector + self.width + each * _MATRICES.index(name)

    @property
    def size(self) -> int:
        """All of it."""
        return self.matrix(_MATRICES[-1]) + self.n * column_stride(self.n, self.width) + 2 * self.width


_VECTORS = (
    *("wholes", "pivots1", "pivots2", "scales", "u", "x", "f", "scale", "change"),
    *("last0", "last1", "last2", "z0", "z1", "z2", "w0", "w1", "w2", "r0", "r1", "r2"),
)
_MATRICES = ("J", "E1", "E2", "E2i")


class _Control(NamedTuple):
    """A program of inputs (x, w, p) that gives u at the begin of a step: its layout, the number of w."""

    plan: Plan
    given: int


class _Writer:
    """Writes the functions of the loop.

    Args:
        plan: layout of the derivative program, inputs (x, u, p), output dx.
        taken: numbers of states n, of inputs m and of parameters k.
        width: lanes of a vector.
        fma: whether products are fused with sums.
        control: what gives the inputs at the begin of a step.
    """

    def __init__(
        self, plan: Plan, taken: tuple[int, int, int], width: int, fma: bool, control: _Control | None
    ) -> None:
        self.plan, self.control, self.width, self.fma = plan, control, width, fma
        self.n, self.m, self.k = taken
        self.layout = _Layout(self.n, self.m, width)
        self.column = column_stride(self.n, width)

    def texts(self) -> list[str]:
        """All functions."""
        return [
            factor_and_solve(self.n, self.width, self.fma, "real_", complex_=False),
            factor_and_solve(self.n, self.width, self.fma, "complex_", complex_=True),
            self.jacobian(),
            self.factors(),
            self.iteration(),
            self.step(),
            self.entry(),
        ]

    # ---- pieces

    def _code(self, head: str) -> Code:
        return Code(self.width, self.fma, f"define {head}")

    def _array(self, c: Code, name: str) -> str:
        place = self.layout.matrix(name) if name in _MATRICES else self.layout.vector(name)
        return c.place("%work", place)

    def _wholes(self, c: Code) -> str:
        return self._array(c, "wholes")

    def _fill(self, c: Code, base: str, place: str | int, vector: str) -> None:
        """Store a vector into a tile."""
        index = c.whole("mul", place, self.width)
        c(f"store {c.kind(True)} {vector}, ptr {c.place(base, index)}, align {8 * self.width}")

    def _result(self, c: Code, place: str) -> str:
        """Load a vector of the program's results."""
        index = c.whole("mul", c.whole("add", place, self.plan.result), self.width)
        return c.value(f"load {c.kind(True)}, ptr {c.place('%tile', index)}, align {8 * self.width}")

    def _lagrange(self, c: Code, nodes: NDArray[np.float64], t: str) -> list[str]:
        """Weights of values at nodes in their interpolation at a time, in parts of the step."""
        weights = []
        for i, a in enumerate(nodes):
            product = c.number(1.0)
            for j, b in enumerate(nodes):
                if j != i:
                    over = c.real("fdiv", c.real("fsub", t, c.number(b)), c.number(a - b))
                    product = c.real("fmul", product, over)
            weights.append(product)
        return weights

    def _inputs_at(self, c: Code, u: str, weights: list[str], j: str) -> str:
        """An input at a time."""
        total = c.number(0.0)
        for stage, weight in enumerate(weights):
            row = c.load(u, c.whole("add", j, stage * self.m))
            total = c.product_sum(row, weight, total)
        return total

    # ---- functions

    def jacobian(self) -> str:
        """`@irk5_jacobian`: J by differences at x and the inputs at a time of the step."""
        c = self._code(f"internal void @irk5_jacobian({_ARGUMENTS}, double %begin) noinline")
        x, u, f, J = (self._array(c, name) for name in ("x", "u", "f", "J"))
        with c.loop(0, self.n) as states:
            largest = states.carry(c.number(0.0))
            value = c.load(x, states.index)
            states.hand(largest, c.larger(largest, c.size(value)))
            self._fill(c, "%tile", states.index, c.spread(value))
        least = c.larger(c.real("fmul", largest, c.number(SMALL_STATE)), c.number(LEAST_STATE))
        if self.m:
            weights = self._lagrange(c, STAGES, "%begin")
            with c.loop(0, self.m) as inputs:
                value = self._inputs_at(c, u, weights, inputs.index)
                self._fill(c, "%tile", c.whole("add", inputs.index, self.n), c.spread(value))
        c("call void @v_tiles(ptr %tile, i64 1, ptr %table)")
        with c.loop(0, self.n) as states:
            c.store(c.lane(self._result(c, states.index), 0), f, states.index)
        with c.loop(0, self.n, self.width) as columns:
            first = columns.index
            inverses = [
                self._shift(c, c.whole("add", first, lane), lane, x, least) for lane in range(self.width)
            ]
            c("call void @v_tiles(ptr %tile, i64 1, ptr %table)")
            for lane in range(self.width):
                column = c.whole("add", first, lane)
                with c.when(c.whole("icmp slt", column, self.n)):
                    self._fill(c, "%tile", column, c.spread(c.load(x, column)))
                    target = c.place(J, c.whole("mul", column, self.column))
                    with c.loop(0, self.n) as rows:
                        value = c.lane(self._result(c, rows.index), lane)
                        change = c.real("fsub", value, c.load(f, rows.index))
                        c.store(c.real("fmul", change, inverses[lane]), target, rows.index)
        wholes = self._wholes(c)
        self._count(c, wholes, _EVALUATIONS, self.n + 1)
        self._count(c, wholes, _JACOBIANS, 1)
        return c.text()

    def _shift(self, c: Code, column: str, lane: int, x: str, least: str) -> str:
        """Shift a state in one lane of the tile; give one over the shift. Beyond the last it is the last."""
        inside = c.whole("icmp slt", column, self.n)
        state = c.value(f"select i1 {inside}, i64 {column}, i64 {self.n - 1}")
        value = c.load(x, state)
        shift = c.real("fmul", c.larger(c.size(value), least), c.number(DIFFERENCE))
        index = c.whole("add", c.whole("mul", state, self.width), lane)
        c.store(c.real("fadd", value, shift), "%tile", index)
        return c.real("fdiv", c.number(1.0), shift)

    def _count(self, c: Code, wholes: str, place: int, more: int | str) -> None:
        c.store_whole(c.whole("add", c.load_whole(wholes, place), more), wholes, place)

    def factors(self) -> str:
        """`@irk5_factors`: both matrices of Newton's step for a length of the step, factorised."""
        c = self._code("internal void @irk5_factors(ptr %work, double %h) noinline")
        J, E1, E2, E2i = (self._array(c, name) for name in _MATRICES)
        with c.loop(0, self.n) as columns:
            offset = c.whole("mul", columns.index, self.column)
            with c.loop(0, self.n) as rows:
                place = c.whole("add", offset, rows.index)
                entry = c.negative(c.load(J, place))
                c.store(entry, E1, place)
                c.store(entry, E2, place)
                c.store(c.number(0.0), E2i, place)
            diagonal = c.whole("add", offset, columns.index)
            for matrix, number in ((E1, GAMMA), (E2, ALPHA), (E2i, -BETA)):
                over = c.real("fdiv", c.number(number), "%h")
                c.store(c.real("fadd", c.load(matrix, diagonal), over), matrix, diagonal)
        scales, first, second = (self._array(c, name) for name in ("scales", "pivots1", "pivots2"))
        c(
            f"call void @real_factor(ptr {E1}, ptr {E1}, ptr {scales}, ptr {first})",
            f"call void @complex_factor(ptr {E2}, ptr {E2i}, ptr {scales}, ptr {second})",
        )
        return c.text()

    def iteration(self) -> str:
        """`@irk5_iteration`: Newton's iteration for the stages; how many rounds it took, 0 if it fails."""
        c = self._code(
            f"internal i64 @irk5_iteration({_ARGUMENTS}, double %begin, double %part, double %h) noinline"
        )
        z, w = ([self._array(c, f"{name}{i}") for i in range(3)] for name in "zw")
        wholes, last = self._wholes(c), [self._array(c, f"last{i}") for i in range(3)]
        staged = c.whole("icmp ne", c.load_whole(wholes, _STAGED), 0)
        before = c.whole("shl", 1, c.load_whole(wholes, _LAST))
        longer = c.real("fmul", c.value(f"uitofp i64 {before} to double"), "%part")
        weights = []
        for stage in STAGES:
            time = c.product_sum(longer, c.number(stage), c.number(1.0))
            _, first, second, third = self._lagrange(c, NODES, time)
            weights.append([first, second, c.real("fsub", third, c.number(1.0))])
        with c.loop(0, self.n) as states:
            old = [c.load(stage, states.index) for stage in last]
            start = []
            for row in weights:
                value = c.number(0.0)
                for weight, stage in zip(row, old, strict=True):
                    value = c.product_sum(weight, stage, value)
                start.append(c.value(f"select i1 {staged}, double {value}, double {c.number(0.0)}"))
            for i in range(3):
                c.store(start[i], z[i], states.index)
                c.store(c.combination(list(zip(T_INVERSE[i], start, strict=True))), w[i], states.index)
        with c.loop(1, MOST_ITERATIONS + 1) as rounds:
            before = rounds.carry(c.number(0.0))
            size = self._newton_step(c, z, w)
            first = c.whole("icmp eq", rounds.index, 1)
            quotient = c.real("fdiv", size, before)
            ratio = c.value(f"select i1 {first}, double {c.number(FIRST_RATIO)}, double {quotient}")
            limit = c.real("fmul", c.real("fsub", c.number(1.0), ratio), c.number(TOLERANCE))
            small = c.real("fcmp ole", c.real("fmul", size, ratio), limit)
            slow = c.real("fcmp oge", ratio, c.number(SLOW))
            rounded = c.value(f"and i1 {slow}, {c.real('fcmp ole', size, c.number(ROUNDING))}")
            with c.when(c.value(f"or i1 {small}, {rounded}")):
                self._leave(c, rounds.index)
            growing = c.real("fcmp oge", ratio, c.number(1.0))
            late = c.whole("icmp sgt", rounds.index, 2)
            with c.when(c.value(f"and i1 {growing}, {late}")):
                self._leave(c, 0)
            # Or NaN.
            infinite = c.real("fcmp uge", size, c.number(float("inf")))
            with c.when(infinite):
                self._leave(c, 0)
            rounds.hand(before, size)
        return c.text("i64 0")

    def _leave(self, c: Code, result: str | int) -> None:
        """Return from within a function."""
        c(f"ret i64 {result}")
        c.label(c.name())

    def _newton_step(self, c: Code, z: list[str], w: list[str]) -> str:
        """One round of the iteration; gives the size of the correction."""
        r = [self._array(c, f"r{i}") for i in range(3)]
        x, scale, change = (self._array(c, name) for name in ("x", "scale", "change"))
        self._stage_rates(c, z, r)
        over = {value: c.real("fdiv", c.number(value), "%h") for value in (GAMMA, ALPHA, BETA)}
        with c.loop(0, self.n) as states:
            f = [c.load(part, states.index) for part in r]
            old = [c.negative(c.load(part, states.index)) for part in w]
            right = [c.combination(list(zip(row, f, strict=True))) for row in T_INVERSE]
            right[0] = c.product_sum(over[GAMMA], old[0], right[0])
            right[1] = c.product_sum(over[ALPHA], old[1], c.product_sum(over[BETA], old[2], right[1]))
            back = c.negative(old[1])
            right[2] = c.product_sum(over[ALPHA], old[2], c.product_sum(over[BETA], back, right[2]))
            for part, value in zip(r, right, strict=True):
                c.store(value, part, states.index)
        E1, E2, E2i = (self._array(c, name) for name in _MATRICES[1:])
        first, second = self._array(c, "pivots1"), self._array(c, "pivots2")
        c(
            f"call void @real_solve(ptr {E1}, ptr {E1}, ptr {first}, ptr {r[0]}, ptr {r[0]})",
            f"call void @complex_solve(ptr {E2}, ptr {E2i}, ptr {second}, ptr {r[1]}, ptr {r[2]})",
        )
        with c.loop(0, self.n) as states:
            largest = states.carry(c.number(0.0))
            steps = [c.load(part, states.index) for part in r]
            new = [c.real("fadd", c.load(part, states.index), s) for part, s in zip(w, steps, strict=True)]
            own, corrected = c.size(c.load(x, states.index)), c.number(0.0)
            for i in range(3):
                c.store(new[i], w[i], states.index)
                stage = c.combination(list(zip(T[i], new, strict=True)))
                c.store(stage, z[i], states.index)
                own = c.larger(own, c.size(stage))
                corrected = c.larger(corrected, c.size(c.combination(list(zip(T[i], steps, strict=True)))))
            c.store(own, scale, states.index)
            c.store(corrected, change, states.index)
            states.hand(largest, c.larger(largest, own))
        floor = c.product_sum(largest, c.number(FLOOR), c.number(float(np.finfo(float).tiny)))
        with c.loop(0, self.n) as states:
            size = states.carry(c.number(0.0))
            own = c.real("fadd", c.load(scale, states.index), floor)
            states.hand(size, c.larger(size, c.real("fdiv", c.load(change, states.index), own)))
        return size

    def _stage_rates(self, c: Code, z: list[str], rates: list[str]) -> None:
        """Evaluate the derivative at all stages, as many at a time as there are lanes."""
        x, u = self._array(c, "x"), self._array(c, "u")
        for first in range(0, 3, self.width):
            stages = [min(first + lane, 2) for lane in range(self.width)]
            with c.loop(0, self.n) as states:
                own = c.load(x, states.index)
                at = {i: c.real("fadd", own, c.load(z[i], states.index)) for i in sorted(set(stages))}
                self._fill(c, "%tile", states.index, c.lanes([at[i] for i in stages]))
            if self.m:
                weights = {}
                for i in sorted(set(stages)):
                    time = c.product_sum("%part", c.number(STAGES[i]), "%begin")
                    weights[i] = self._lagrange(c, STAGES, time)
                with c.loop(0, self.m) as inputs:
                    values = {i: self._inputs_at(c, u, weights[i], inputs.index) for i in weights}
                    place = c.whole("add", inputs.index, self.n)
                    self._fill(c, "%tile", place, c.lanes([values[i] for i in stages]))
            c("call void @v_tiles(ptr %tile, i64 1, ptr %table)")
            with c.loop(0, self.n) as states:
                vector = self._result(c, states.index)
                for lane, i in enumerate(stages):
                    if i == first + lane:
                        c.store(c.lane(vector, lane), rates[i], states.index)
        self._count(c, self._wholes(c), _EVALUATIONS, 3)

    def step(self) -> str:
        """`@irk5_step`: one step, in parts where the iteration does not converge; 1 if it is done."""
        c = self._code(f"internal i64 @irk5_step({_ARGUMENTS}, double %h) noinline")
        wholes, x = self._wholes(c), self._array(c, "x")
        z, last = ([self._array(c, f"{name}{i}") for i in range(3)] for name in ("z", "last"))
        again, ended = c.name(), c.name()
        c(f"br label %{again}")
        c.label(again)
        done, fresh = f"%{c.name()}", f"%{c.name()}"
        place = len(c.lines)
        level = c.load_whole(wholes, _LEVEL)
        ticks = c.whole("lshr", TICKS, level)
        begin, part = (
            c.real("fmul", c.value(f"uitofp i64 {value} to double"), c.number(1.0 / TICKS))
            for value in (done, ticks)
        )
        h = c.real("fmul", "%h", part)
        old = c.whole("icmp sge", c.load_whole(wholes, _EXTRA), refresh_cost(self.n))
        none = c.whole("icmp eq", c.load_whole(wholes, _HAS_J), 0)
        anew = c.value(f"or i1 {old}, {none}")
        with c.when(anew):
            c(f"call void @irk5_jacobian(ptr %tile, ptr %work, ptr %table, double {begin})")
            for number, whole in ((_HAS_J, 1), (_FACTORED, 0), (_EXTRA, 0), (_BASE, 0)):
                c.store_whole(whole, wholes, number)
        own = c.value(f"or i1 {anew}, {fresh}")
        with c.when(c.whole("icmp eq", c.load_whole(wholes, _FACTORED), 0)):
            c(f"call void @irk5_factors(ptr %work, double {h})")
            c.store_whole(1, wholes, _FACTORED)
        arguments = f"ptr %tile, ptr %work, ptr %table, double {begin}, double {part}, double {h}"
        taken = c.value(f"call i64 @irk5_iteration({arguments})")
        good, bad, halve, stale = (c.name() for _ in range(4))
        c(f"br i1 {c.whole('icmp ne', taken, 0)}, label %{good}, label %{bad}")
        c.label(bad)
        c(f"br i1 {own}, label %{halve}, label %{stale}")
        c.label(stale)
        c.store_whole(0, wholes, _HAS_J)
        c(f"br label %{again}")
        c.label(halve)
        with c.when(c.whole("icmp eq", level, MOST_HALVINGS)):
            self._leave(c, 0)
        c.store_whole(c.whole("add", level, 1), wholes, _LEVEL)
        c.store_whole(0, wholes, _FACTORED)
        halved = c.block
        c(f"br label %{again}")
        c.label(good)
        with c.loop(0, self.n) as states:
            stages = [c.load(part, states.index) for part in z]
            c.store(c.real("fadd", c.load(x, states.index), stages[2]), x, states.index)
            for part, value in zip(last, stages, strict=True):
                c.store(value, part, states.index)
        after = c.whole("add", done, ticks)
        c.store_whole(1, wholes, _STAGED)
        c.store_whole(level, wholes, _LAST)
        base = c.load_whole(wholes, _BASE)
        first = c.whole("icmp eq", base, 0)
        c.store_whole(c.value(f"select i1 {first}, i64 {taken}, i64 {base}"), wholes, _BASE)
        more = c.whole("sub", taken, c.load_whole(wholes, _BASE))
        above = c.value(f"call i64 @llvm.smax.i64(i64 {more}, i64 0)")
        self._count(c, wholes, _EXTRA, above)
        remainder = c.whole("urem", after, c.whole("shl", ticks, 1))
        aligned = c.whole("icmp eq", remainder, 0)
        parted = c.whole("icmp ne", level, 0)
        with c.when(c.value(f"and i1 {aligned}, {parted}")):
            c.store_whole(c.whole("sub", level, 1), wholes, _LEVEL)
            c.store_whole(0, wholes, _FACTORED)
        going = c.block
        c(f"br i1 {c.whole('icmp slt', after, TICKS)}, label %{again}, label %{ended}")
        c.label(ended)
        c.lines[place:place] = [
            f"{done} = phi i64 [ 0, %start ], [ {done}, %{stale} ], [ {done}, %{halved} ], "
            f"[ {after}, %{going} ]",
            f"{fresh} = phi i1 [ 0, %start ], [ 0, %{stale} ], [ 1, %{halved} ], [ 0, %{going} ]",
        ]
        return c.text("i64 1")

    def entry(self) -> str:
        """`@nacelle_irk5`: all steps. `counts` gets steps, status, evaluations and Jacobians."""
        c = self._code(
            "void @nacelle_irk5(ptr %x0, ptr %u, i64 %u.step, i64 %u.stage, ptr %p, ptr %stored, "
            "ptr %counts, double %h, i64 %steps, i64 %every, i64 %held, ptr %tile, ptr %table)"
        )
        skipped = stride(self.plan, self.width)
        if self.control is not None:
            c(f"%control = getelementptr i8, ptr %tile, i64 {skipped}")
            skipped += stride(self.control.plan, self.width)
        c(f"%work = getelementptr i8, ptr %tile, i64 {skipped}")
        wholes, x, u = self._wholes(c), self._array(c, "x"), self._array(c, "u")
        for number in range(_WHOLES):
            c.store_whole(0, wholes, number)
        with c.loop(0, self.n) as states:
            c.store(c.load("%x0", states.index), x, states.index)
        self._parameters(c, "%tile", self.n + self.m)
        if self.control is not None:
            self._parameters(c, "%control", self.n + self.control.given)
        with c.loop(0, "%steps") as steps:
            row = c.whole("mul", c.whole("sdiv", steps.index, "%held"), "%u.step")
            given = c.place("%u", row)
            if self.control is None:
                for stage in range(3):
                    source = c.place(given, c.whole("mul", "%u.stage", stage))
                    with c.loop(0, self.m) as inputs:
                        target = c.whole("add", inputs.index, stage * self.m)
                        c.store(c.load(source, inputs.index), u, target)
            else:
                fresh = c.whole("icmp eq", c.whole("srem", steps.index, "%held"), 0)
                with c.when(fresh):
                    self._controlled(c, self.control, given)
            ok = c.value("call i64 @irk5_step(ptr %tile, ptr %work, ptr %table, double %h)")
            with c.when(c.whole("icmp eq", ok, 0)):
                self._finish(c, steps.index, 1)
                c("ret void")
                c.label(c.name())
            completed = c.whole("add", steps.index, 1)
            with c.when(c.whole("icmp eq", c.whole("srem", completed, "%every"), 0)):
                place = c.whole("sub", c.whole("sdiv", completed, "%every"), 1)
                target = c.place("%stored", c.whole("mul", place, self.n))
                with c.loop(0, self.n) as states:
                    c.store(c.load(x, states.index), target, states.index)
        self._finish(c, "%steps", 0)
        return c.text()

    def _parameters(self, c: Code, tile: str, place: int) -> None:
        with c.loop(0, self.k) as parameters:
            value = c.spread(c.load("%p", parameters.index))
            self._fill(c, tile, c.whole("add", parameters.index, place), value)

    def _controlled(self, c: Code, control: _Control, given: str) -> None:
        """Have the control give the inputs of a step, the same at all stages."""
        x, u = self._array(c, "x"), self._array(c, "u")
        with c.loop(0, self.n) as states:
            self._fill(c, "%control", states.index, c.spread(c.load(x, states.index)))
        with c.loop(0, control.given) as inputs:
            place = c.whole("add", inputs.index, self.n)
            self._fill(c, "%control", place, c.spread(c.load(given, inputs.index)))
        c("call void @c_tiles(ptr %control, i64 1, ptr %table)")
        with c.loop(0, self.m) as inputs:
            index = c.whole("mul", c.whole("add", inputs.index, control.plan.result), self.width)
            value = c.load("%control", index)
            for stage in range(3):
                c.store(value, u, c.whole("add", inputs.index, stage * self.m))

    def _finish(self, c: Code, steps: str, status: int) -> None:
        wholes = self._wholes(c)
        counts = [c.load_whole(wholes, number) for number in (_EVALUATIONS, _JACOBIANS)]
        for place, value in enumerate([steps, str(status), *counts]):
            c.store_whole(value, "%counts", place)


class Irk5(ImplicitIntegrator):
    """The implicit steps in native code, from what `compile_irk5` has made of the programs."""

    def __init__(self, image: bytes, program: Program, control: Program | None = None) -> None:
        super().__init__(program, control)
        self._library = Library(image, ("nacelle_info", "nacelle_irk5"))
        (self._bytes,) = self._library.numbers("nacelle_info", 1)
        self._entry = ctypes.CFUNCTYPE(
            None,
            *(_POINTER, _POINTER, _INTEGER, _INTEGER, _POINTER, _POINTER, _POINTER),
            *(_REAL, _INTEGER, _INTEGER, _INTEGER, _POINTER, _POINTER),
        )(self._library.address("nacelle_irk5"))

    def _integrate(self, task: Task, h: float, stored: NDArray[np.float64]) -> Irk5Result:
        m = self.sizes.m
        u_step, u_stage = (3 * m, m) if task.staged else (step_of(task.u), 0)
        counts, tile = np.zeros(4, dtype=np.int64), aligned_memory(self._bytes)
        self._entry(
            *(address(task.x0), address(task.u), u_step, u_stage, address(task.p), address(stored)),
            *(address(counts), h, task.steps, task.every, task.held, address(tile), library_table()),
        )
        steps, failed, evaluations, jacobians = counts.tolist()
        status = ITERATION_CAP if failed else CONVERGED
        return Irk5Result(stored, steps, status, evaluations, jacobians)


def compile_irk5(program: Program, options: Options = DEFAULT, control: Program | None = None) -> bytes:
    """Compile the implicit method around a derivative program, as bytes that `Irk5` takes."""
    program.check()
    given = sizes(program, control).m
    n, m, k = (variable.size for variable in program.inputs)
    machine = options.of_machine()
    fma = machine.fma if options.fma is None else options.fma
    width, plan = vector_width(options), make_plan(program, options)
    parts, held, tile = [evaluation(plan, width, "v_")], None, stride(plan, width)
    if control is not None:
        control.check()
        held = _Control(make_plan(control, options), given)
        parts.append(evaluation(held.plan, width, "c_"))
        tile += stride(held.plan, width)
    writer = _Writer(plan, (n, m, k), width, fma, held)
    parts = [info([tile + 8 * writer.layout.size]), *parts, *writer.texts()]
    return compile_text(module(parts, options), options)
