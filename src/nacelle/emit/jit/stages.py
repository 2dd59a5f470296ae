"""LLVM IR text of the parts of an implicit step: Jacobian, matrices, Newton's iteration for its stages.

They share one block of memory, whose layout is here, and follow the rules of `nacelle.emit.irk5`. The lanes
of the program's vectors hold the stages of a step, and for the Jacobian states that differ in one entry each,
so that a vector of W lanes gives W of its columns.
"""

from __future__ import annotations

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
    MOST_ITERATIONS,
    NODES,
    ROUNDING,
    SLOW,
    SMALL_STATE,
    STAGES,
    T_INVERSE,
    TOLERANCE,
    T,
)
from nacelle.emit.jit.loops import Lines
from nacelle.emit.jit.lu import column_stride, factor_and_solve
from nacelle.emit.jit.plan import NativePlan

# Integers that live through the steps: how often the step is halved, whether there are stages to go on from,
# how often their step was halved, whether there is a Jacobian, factors of it, how many iterations the first
# step with it took and the others took more, counts for the user.
LEVEL, STAGED, LAST, HAS_J, FACTORED, BASE, EXTRA, EVALUATIONS, JACOBIANS, WHOLES = range(10)
ARGUMENTS = "ptr %tile, ptr %work"


class StageLayout(NamedTuple):
    """What is where in the memory of a run, behind the tile and a control's tile; in doubles.

    Every array is preceded and followed by numbers that are not used, of a vector at least.
    """

    n: int
    m: int
    width: int

    @property
    def _vector(self) -> int:
        return column_stride(max(self.n, 3 * self.m, WHOLES), self.width) + self.width

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


class Stages:
    """Writes the functions.

    Args:
        plan: layout of the derivative program, inputs (x, u, p), output dx.
        taken: numbers of states n, of inputs m and of parameters k.
        width: lanes of a vector.
        fma: whether products are fused with sums.
    """

    def __init__(self, plan: NativePlan, taken: tuple[int, int, int], width: int, fma: bool) -> None:
        self.plan, self.width, self.fma = plan, width, fma
        self.n, self.m, self.k = taken
        self.layout = StageLayout(self.n, self.m, width)
        self.column = column_stride(self.n, width)

    def texts(self) -> list[str]:
        """All functions."""
        return [
            factor_and_solve(self.n, self.width, self.fma, "real_", complex_=False),
            factor_and_solve(self.n, self.width, self.fma, "complex_", complex_=True),
            self.jacobian(),
            self.factors(),
            self.iteration(),
        ]

    # ---- pieces

    def code(self, head: str) -> Lines:
        """Begin a function."""
        return Lines(self.width, self.fma, f"define {head}")

    def array(self, c: Lines, name: str) -> str:
        """The address of an array of the block."""
        place = self.layout.matrix(name) if name in _MATRICES else self.layout.vector(name)
        return c.place("%work", place)

    def wholes(self, c: Lines) -> str:
        """The address of the integers that live through the steps."""
        return self.array(c, "wholes")

    def fill(self, c: Lines, base: str, place: str | int, vector: str) -> None:
        """Store a vector into a tile."""
        index = c.whole("mul", place, self.width)
        c(f"store {c.kind(True)} {vector}, ptr {c.place(base, index)}, align {8 * self.width}")

    def _result(self, c: Lines, place: str) -> str:
        """Load a vector of the program's results."""
        index = c.whole("mul", c.whole("add", place, self.plan.result), self.width)
        return c.value(f"load {c.kind(True)}, ptr {c.place('%tile', index)}, align {8 * self.width}")

    def _lagrange(self, c: Lines, nodes: NDArray[np.float64], t: str) -> list[str]:
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

    def _inputs_at(self, c: Lines, u: str, weights: list[str], j: str) -> str:
        """An input at a time."""
        total = c.number(0.0)
        for stage, weight in enumerate(weights):
            row = c.load(u, c.whole("add", j, stage * self.m))
            total = c.product_sum(row, weight, total)
        return total

    # ---- functions

    def jacobian(self) -> str:
        """`@irk5_jacobian`: J by differences at x and the inputs at a time of the step."""
        c = self.code(f"internal void @irk5_jacobian({ARGUMENTS}, double %begin) noinline")
        x, u, f, J = (self.array(c, name) for name in ("x", "u", "f", "J"))
        with c.loop(0, self.n) as states:
            largest = states.carry(c.number(0.0))
            value = c.load(x, states.index)
            states.hand(largest, c.larger(largest, c.size(value)))
            self.fill(c, "%tile", states.index, c.spread(value))
        least = c.larger(c.real("fmul", largest, c.number(SMALL_STATE)), c.number(LEAST_STATE))
        if self.m:
            weights = self._lagrange(c, STAGES, "%begin")
            with c.loop(0, self.m) as inputs:
                value = self._inputs_at(c, u, weights, inputs.index)
                self.fill(c, "%tile", c.whole("add", inputs.index, self.n), c.spread(value))
        c("call void @v_tiles(ptr %tile, i64 1)")
        with c.loop(0, self.n) as states:
            c.store(c.lane(self._result(c, states.index), 0), f, states.index)
        with c.loop(0, self.n, self.width) as columns:
            first = columns.index
            inverses = [
                self._shift(c, c.whole("add", first, lane), lane, x, least) for lane in range(self.width)
            ]
            c("call void @v_tiles(ptr %tile, i64 1)")
            for lane in range(self.width):
                column = c.whole("add", first, lane)
                with c.when(c.whole("icmp slt", column, self.n)):
                    self.fill(c, "%tile", column, c.spread(c.load(x, column)))
                    target = c.place(J, c.whole("mul", column, self.column))
                    with c.loop(0, self.n) as rows:
                        value = c.lane(self._result(c, rows.index), lane)
                        change = c.real("fsub", value, c.load(f, rows.index))
                        c.store(c.real("fmul", change, inverses[lane]), target, rows.index)
        wholes = self.wholes(c)
        self.count(c, wholes, EVALUATIONS, self.n + 1)
        self.count(c, wholes, JACOBIANS, 1)
        return c.text()

    def _shift(self, c: Lines, column: str, lane: int, x: str, least: str) -> str:
        """Shift a state in one lane of the tile; give one over the shift. Beyond the last it is the last."""
        inside = c.whole("icmp slt", column, self.n)
        state = c.value(f"select i1 {inside}, i64 {column}, i64 {self.n - 1}")
        value = c.load(x, state)
        shift = c.real("fmul", c.larger(c.size(value), least), c.number(DIFFERENCE))
        index = c.whole("add", c.whole("mul", state, self.width), lane)
        c.store(c.real("fadd", value, shift), "%tile", index)
        return c.real("fdiv", c.number(1.0), shift)

    def count(self, c: Lines, wholes: str, place: int, more: int | str) -> None:
        """Add to one of these integers."""
        c.store_whole(c.whole("add", c.load_whole(wholes, place), more), wholes, place)

    def factors(self) -> str:
        """`@irk5_factors`: both matrices of Newton's step for a length of the step, factorised."""
        c = self.code("internal void @irk5_factors(ptr %work, double %h) noinline")
        J, E1, E2, E2i = (self.array(c, name) for name in _MATRICES)
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
        scales, first, second = (self.array(c, name) for name in ("scales", "pivots1", "pivots2"))
        c(
            f"call void @real_factor(ptr {E1}, ptr {E1}, ptr {scales}, ptr {first})",
            f"call void @complex_factor(ptr {E2}, ptr {E2i}, ptr {scales}, ptr {second})",
        )
        return c.text()

    def iteration(self) -> str:
        """`@irk5_iteration`: Newton's iteration for the stages; how many rounds it took, 0 if it fails."""
        c = self.code(
            f"internal i64 @irk5_iteration({ARGUMENTS}, double %begin, double %part, double %h) noinline"
        )
        z, w = ([self.array(c, f"{name}{i}") for i in range(3)] for name in "zw")
        wholes, last = self.wholes(c), [self.array(c, f"last{i}") for i in range(3)]
        staged = c.whole("icmp ne", c.load_whole(wholes, STAGED), 0)
        before = c.whole("shl", 1, c.load_whole(wholes, LAST))
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
                c.leave(rounds.index)
            growing = c.real("fcmp oge", ratio, c.number(1.0))
            late = c.whole("icmp sgt", rounds.index, 2)
            with c.when(c.value(f"and i1 {growing}, {late}")):
                c.leave(0)
            # Or NaN.
            infinite = c.real("fcmp uge", size, c.number(float("inf")))
            with c.when(infinite):
                c.leave(0)
            rounds.hand(before, size)
        return c.text("i64 0")

    def _newton_step(self, c: Lines, z: list[str], w: list[str]) -> str:
        """One round of the iteration; gives the size of the correction."""
        r = [self.array(c, f"r{i}") for i in range(3)]
        x, scale, change = (self.array(c, name) for name in ("x", "scale", "change"))
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
        E1, E2, E2i = (self.array(c, name) for name in _MATRICES[1:])
        first, second = self.array(c, "pivots1"), self.array(c, "pivots2")
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

    def _stage_rates(self, c: Lines, z: list[str], rates: list[str]) -> None:
        """Evaluate the derivative at all stages, as many at a time as there are lanes."""
        x, u = self.array(c, "x"), self.array(c, "u")
        for first in range(0, 3, self.width):
            stages = [min(first + lane, 2) for lane in range(self.width)]
            with c.loop(0, self.n) as states:
                own = c.load(x, states.index)
                at = {i: c.real("fadd", own, c.load(z[i], states.index)) for i in sorted(set(stages))}
                self.fill(c, "%tile", states.index, c.lanes([at[i] for i in stages]))
            if self.m:
                weights = {}
                for i in sorted(set(stages)):
                    time = c.product_sum("%part", c.number(STAGES[i]), "%begin")
                    weights[i] = self._lagrange(c, STAGES, time)
                with c.loop(0, self.m) as inputs:
                    values = {i: self._inputs_at(c, u, weights[i], inputs.index) for i in weights}
                    place = c.whole("add", inputs.index, self.n)
                    self.fill(c, "%tile", place, c.lanes([values[i] for i in stages]))
            c("call void @v_tiles(ptr %tile, i64 1)")
            with c.loop(0, self.n) as states:
                vector = self._result(c, states.index)
                for lane, i in enumerate(stages):
                    if i == first + lane:
                        c.store(c.lane(vector, lane), rates[i], states.index)
        self.count(c, self.wholes(c), EVALUATIONS, 3)
