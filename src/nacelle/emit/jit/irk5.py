"""The implicit Runge-Kutta method in native code: the rules of `nacelle.emit.irk5`, without Python.

One motion at a time; `nacelle.emit.jit.irk5` has the parts of a step.

LLVM IR text of LU factorisation and solves, real and complex, of one size.

Matrices are by columns, `column_stride` apart, followed and preceded by at least a vector of numbers that
are not used; complex ones are two real ones, real and imaginary parts. P A = L U is made in place, column by
column behind each pivot: columns that have a zero in the pivot's row are left alone, so that the rows of
positions in the Jacobian of a mechanism, which have few entries, cost little. For that reason the diagonal is
the pivot, unless another row has an entry more than ten times as large, each against the largest of its row.

LLVM IR text of the parts of an implicit step: Jacobian, matrices, Newton's iteration for its stages.

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
from nacelle.emit.jit.loops import Lines
from nacelle.emit.jit.plan import NativePlan
from nacelle.emit.jit.target import (
    DEFAULT,
    JitOptions,
    Library,
    address,
    aligned_memory,
    compile_text,
    info,
    make_plan,
    module,
    step_of,
    vector_width,
)
from nacelle.emit.newton import CONVERGED, ITERATION_CAP
from nacelle.emit.rk4 import IntegrationTask, sizes
from nacelle.program.program import Program

# How much larger than the diagonal another entry must be to become the pivot.
_PREFERENCE = 0.1


def column_stride(n: int, width: int) -> int:
    """Distance of two columns: a vector that begins in one does not reach into the next."""
    return width * ((n + 2 * width - 2) // width)


def factor_and_solve(n: int, width: int, fma: bool, prefix: str, *, complex_: bool) -> str:
    """Write `@<prefix>factor(re, im, scales, pivots)` and `@<prefix>solve(re, im, pivots, x, y)`.

    `scales` has room for n numbers, `pivots` for n integers; x and y are the real and the imaginary part of
    the right side and then of the solution. Of a real matrix `im` and `y` are not used.
    """
    writer = _Writer(n, width, fma, prefix, complex_)
    return writer.factor() + "\n\n" + writer.solve()


class _Writer:
    """Writes both functions."""

    def __init__(self, n: int, width: int, fma: bool, prefix: str, complex_: bool) -> None:
        self.n, self.width, self.fma, self.prefix = n, width, fma, prefix
        self.parts = ("%re", "%im") if complex_ else ("%re",)
        self.stride = column_stride(n, width)

    def _begin(self, name: str, parameters: str) -> Lines:
        return Lines(
            self.width, self.fma, f"define internal void @{self.prefix}{name}({parameters}) noinline"
        )

    def factor(self) -> str:
        """Write the factorisation."""
        c = self._begin("factor", "ptr %re, ptr %im, ptr %scales, ptr %pivots")
        self._row_scales(c)
        with c.loop(0, self.n) as step:
            k = step.index
            column = self._column(c, k)
            self._pivot(c, k, column)
            below = c.whole("+", k, 1)
            inverse = self._inverse(c, [c.load(part, k) for part in column])
            spread = [c.spread(entry) for entry in inverse]
            with c.loop(below, self.n, self.width) as rows:
                entries = [c.load(part, rows.index, vector=True) for part in column]
                for part, scaled in zip(column, self._product(c, entries, spread), strict=True):
                    c.store(scaled, part, rows.index, vector=True)
            with c.loop(below, self.n) as columns:
                other = self._column(c, columns.index)
                entry = [c.load(part, k) for part in other]
                nonzero = [c.real("!=", value, c.number(0.0)) for value in entry]
                bit = nonzero[0] if len(nonzero) == 1 else c.value(f"or i1 {nonzero[0]}, {nonzero[1]}")
                with c.when(bit), c.loop(below, self.n, self.width) as rows:
                    self._reduce(c, [c.spread(value) for value in entry], column, other, rows.index)
        return c.text()

    def solve(self) -> str:
        """Write the solution."""
        c = self._begin("solve", "ptr %re, ptr %im, ptr %pivots, ptr %x, ptr %y")
        unknowns = ["%x", "%y"][: len(self.parts)]
        with c.loop(0, self.n) as step:
            k = step.index
            other = c.load_whole("%pivots", k)
            for part in unknowns:
                a, b = c.load(part, k), c.load(part, other)
                c.store(a, part, other)
                c.store(b, part, k)
        with c.loop(0, self.n) as step:
            k = step.index
            column = self._column(c, k)
            entry = [c.spread(c.load(part, k)) for part in unknowns]
            with c.loop(c.whole("+", k, 1), self.n, self.width) as rows:
                self._reduce(c, entry, column, unknowns, rows.index)
        with c.loop(0, self.n) as step:
            k = c.whole("-", self.n - 1, step.index)
            column = self._column(c, k)
            diagonal = self._inverse(c, [c.load(part, k) for part in column])
            entry = self._product(c, [c.load(part, k) for part in unknowns], diagonal, vector=False)
            for part, value in zip(unknowns, entry, strict=True):
                c.store(value, part, k)
            spread = [c.spread(value) for value in entry]
            # Vectors end at the diagonal; the first of them may begin before the column.
            with c.loop(0, k, self.width) as rows:
                place = c.whole("-", c.whole("-", k, self.width), rows.index)
                self._reduce(c, spread, column, unknowns, place)
        return c.text()

    def _column(self, c: Lines, k: str) -> list[str]:
        offset = c.whole("*", k, self.stride)
        return [c.place(part, offset) for part in self.parts]

    def _magnitude(self, c: Lines, column: list[str], row: str) -> str:
        sizes = [c.size(c.load(part, row)) for part in column]
        return sizes[0] if len(sizes) == 1 else c.real("+", *sizes)

    def _row_scales(self, c: Lines) -> None:
        """One over the largest entry of every row."""
        with c.loop(0, self.n) as rows:
            with c.loop(0, self.n) as columns:
                largest = columns.carry("largest", c.number(0.0))
                entry = self._magnitude(c, self._column(c, columns.index), rows.index)
                columns.hand(largest, c.larger(largest, entry))
            c.store(c.real("/", c.number(1.0), largest), "%scales", rows.index)

    def _pivot(self, c: Lines, k: str, column: list[str]) -> None:
        """Choose the pivot of a column, and exchange rows."""

        def scaled(row: str) -> str:
            return c.real("*", self._magnitude(c, column, row), c.load("%scales", row))

        own = scaled(k)
        with c.loop(c.whole("+", k, 1), self.n) as rows:
            largest, place = rows.carry("largest", own), rows.carry("pivot", k, "whole")
            entry = scaled(rows.index)
            more = c.real(">", entry, largest)
            rows.hand(largest, c.value(f"select i1 {more}, double {entry}, double {largest}"))
            rows.hand(place, c.value(f"select i1 {more}, i64 {rows.index}, i64 {place}"))
        enough = c.real(">=", own, c.real("*", largest, c.number(_PREFERENCE)))
        chosen = c.value(f"select i1 {enough}, i64 {k}, i64 {place}")
        c.store_whole(chosen, "%pivots", k)
        with c.when(c.whole("!=", chosen, k)):
            with c.loop(0, self.n) as columns:
                for part in self._column(c, columns.index):
                    self._exchange(c, part, k, chosen)
            self._exchange(c, "%scales", k, chosen)

    def _exchange(self, c: Lines, base: str, a: str, b: str) -> None:
        first, second = c.load(base, a), c.load(base, b)
        c.store(second, base, a)
        c.store(first, base, b)

    def _inverse(self, c: Lines, entry: list[str]) -> list[str]:
        """One over a number."""
        if len(entry) == 1:
            return [c.real("/", c.number(1.0), entry[0])]
        a, b = entry
        square = c.product_sum(a, a, c.real("*", b, b))
        return [c.real("/", a, square), c.real("/", c.negative(b), square)]

    def _product(self, c: Lines, a: list[str], b: list[str], *, vector: bool = True) -> list[str]:
        if len(a) == 1:
            return [c.real("*", a[0], b[0], vector=vector)]
        cross = c.real("*", a[1], b[1], vector=vector)
        return [
            c.product_sum(a[0], b[0], c.negative(cross, vector=vector), vector=vector),
            c.product_sum(a[0], b[1], c.real("*", a[1], b[0], vector=vector), vector=vector),
        ]

    def _reduce(self, c: Lines, entry: list[str], column: list[str], reduced: list[str], row: str) -> None:
        """Subtract a column times an entry, spread, from another one: a vector of rows."""
        factors = [c.negative(value, vector=True) for value in entry]
        L = [c.load(part, row, vector=True) for part in column]
        totals = [c.load(part, row, vector=True) for part in reduced]
        totals[0] = c.product_sum(factors[0], L[0], totals[0], vector=True)
        if len(L) == 2:
            totals[0] = c.product_sum(entry[1], L[1], totals[0], vector=True)
            totals[1] = c.product_sum(factors[0], L[1], totals[1], vector=True)
            totals[1] = c.product_sum(factors[1], L[0], totals[1], vector=True)
        for part, total in zip(reduced, totals, strict=True):
            c.store(total, part, row, vector=True)


# ---- LLVM IR text of the parts of an implicit step: Jacobian, matrices, Newton's iteration for its stages


# Integers that live through the steps: how much of the step is done, how often it is halved, whether there
# are stages to go on from, how often their step was halved, whether there is a Jacobian, one of this state,
# factors of it, how many iterations its first step took and the others took more, counts for the user.
DONE, LEVEL, STAGED, LAST, HAS_J, FRESH, FACTORED, BASE, EXTRA, EVALUATIONS, JACOBIANS, WHOLES = range(12)
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


_PARAMETERS = (
    "ptr %x0, ptr %u, i64 %u.step, i64 %u.stage, ptr %p, ptr %stored, ptr %counts, double %h, i64 %steps, "
    "i64 %every, i64 %held, ptr %tile"
)


class _Control(NamedTuple):
    """A program of inputs (x, w, p) that gives u at the begin of a step: its layout, the number of w."""

    plan: NativePlan
    given: int


class Stages:
    """Writes the functions.

    Args:
        plan: layout of the derivative program, inputs (x, u, p), output dx.
        taken: numbers of states n, of inputs m and of parameters k.
        width: lanes of a vector.
        fma: whether products are fused with sums.
        control: what gives the inputs at the begin of a step.
    """

    def __init__(
        self,
        plan: NativePlan,
        taken: tuple[int, int, int],
        width: int,
        fma: bool,
        control: _Control | None = None,
    ) -> None:
        self.plan, self.width, self.fma, self.control = plan, width, fma, control
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
            self.step(),
            self.entry(),
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
        index = c.whole("*", place, self.width)
        c(f"store {c.kind(True)} {vector}, ptr {c.place(base, index)}, align {8 * self.width}")

    def _result(self, c: Lines, place: str) -> str:
        """Load a vector of the program's results."""
        index = c.whole("*", c.whole("+", place, self.plan.result), self.width)
        return c.value(f"load {c.kind(True)}, ptr {c.place('%tile', index)}, align {8 * self.width}")

    def _lagrange(self, c: Lines, nodes: NDArray[np.float64], t: str) -> list[str]:
        """Weights of values at nodes in their interpolation at a time, in parts of the step."""
        weights = []
        for i, a in enumerate(nodes):
            product = c.number(1.0)
            for j, b in enumerate(nodes):
                if j != i:
                    over = c.real("/", c.real("-", t, c.number(b)), c.number(a - b))
                    product = c.real("*", product, over)
            weights.append(product)
        return weights

    def _inputs_at(self, c: Lines, u: str, weights: list[str], j: str) -> str:
        """An input at a time."""
        total = c.number(0.0)
        for stage, weight in enumerate(weights):
            row = c.load(u, c.whole("+", j, stage * self.m))
            total = c.product_sum(row, weight, total)
        return total

    # ---- functions

    def jacobian(self) -> str:
        """`@irk5_jacobian`: J by differences at x and the inputs at a time of the step."""
        c = self.code(f"internal void @irk5_jacobian({ARGUMENTS}, double %begin) noinline")
        x, u, f, J = (self.array(c, name) for name in ("x", "u", "f", "J"))
        with c.loop(0, self.n) as states:
            largest = states.carry("largest", c.number(0.0))
            value = c.load(x, states.index)
            states.hand(largest, c.larger(largest, c.size(value)))
            self.fill(c, "%tile", states.index, c.spread(value))
        least = c.larger(c.real("*", largest, c.number(SMALL_STATE)), c.number(LEAST_STATE))
        if self.m:
            weights = self._lagrange(c, STAGES, "%begin")
            with c.loop(0, self.m) as inputs:
                value = self._inputs_at(c, u, weights, inputs.index)
                self.fill(c, "%tile", c.whole("+", inputs.index, self.n), c.spread(value))
        c("call void @v_tiles(ptr %tile, i64 1)")
        with c.loop(0, self.n) as states:
            c.store(c.lane(self._result(c, states.index), 0), f, states.index)
        with c.loop(0, self.n, self.width) as columns:
            first = columns.index
            inverses = [
                self._shift(c, c.whole("+", first, lane), lane, x, least) for lane in range(self.width)
            ]
            c("call void @v_tiles(ptr %tile, i64 1)")
            for lane in range(self.width):
                column = c.whole("+", first, lane)
                with c.when(c.whole("<", column, self.n)):
                    self.fill(c, "%tile", column, c.spread(c.load(x, column)))
                    target = c.place(J, c.whole("*", column, self.column))
                    with c.loop(0, self.n) as rows:
                        value = c.lane(self._result(c, rows.index), lane)
                        change = c.real("-", value, c.load(f, rows.index))
                        c.store(c.real("*", change, inverses[lane]), target, rows.index)
        wholes = self.wholes(c)
        self.count(c, wholes, EVALUATIONS, self.n + 1)
        self.count(c, wholes, JACOBIANS, 1)
        return c.text()

    def _shift(self, c: Lines, column: str, lane: int, x: str, least: str) -> str:
        """Shift a state in one lane of the tile; give one over the shift. Beyond the last it is the last."""
        inside = c.whole("<", column, self.n)
        state = c.value(f"select i1 {inside}, i64 {column}, i64 {self.n - 1}")
        value = c.load(x, state)
        shift = c.real("*", c.larger(c.size(value), least), c.number(DIFFERENCE))
        index = c.whole("+", c.whole("*", state, self.width), lane)
        c.store(c.real("+", value, shift), "%tile", index)
        return c.real("/", c.number(1.0), shift)

    def count(self, c: Lines, wholes: str, place: int, more: int | str) -> None:
        """Add to one of these integers."""
        c.store_whole(c.whole("+", c.load_whole(wholes, place), more), wholes, place)

    def factors(self) -> str:
        """`@irk5_factors`: both matrices of Newton's step for a length of the step, factorised."""
        c = self.code("internal void @irk5_factors(ptr %work, double %h) noinline")
        J, E1, E2, E2i = (self.array(c, name) for name in _MATRICES)
        with c.loop(0, self.n) as columns:
            offset = c.whole("*", columns.index, self.column)
            with c.loop(0, self.n) as rows:
                place = c.whole("+", offset, rows.index)
                entry = c.negative(c.load(J, place))
                c.store(entry, E1, place)
                c.store(entry, E2, place)
                c.store(c.number(0.0), E2i, place)
            diagonal = c.whole("+", offset, columns.index)
            for matrix, number in ((E1, GAMMA), (E2, ALPHA), (E2i, -BETA)):
                over = c.real("/", c.number(number), "%h")
                c.store(c.real("+", c.load(matrix, diagonal), over), matrix, diagonal)
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
        staged = c.whole("!=", c.load_whole(wholes, STAGED), 0)
        before = c.whole("<<", 1, c.load_whole(wholes, LAST))
        longer = c.real("*", c.value(f"uitofp i64 {before} to double"), "%part")
        weights = []
        for stage in STAGES:
            time = c.product_sum(longer, c.number(stage), c.number(1.0))
            _, first, second, third = self._lagrange(c, NODES, time)
            weights.append([first, second, c.real("-", third, c.number(1.0))])
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
                c.store(c.combination(T_INVERSE[i], start), w[i], states.index)
        with c.loop(1, MOST_ITERATIONS + 1) as rounds:
            before = rounds.carry("before", c.number(0.0))
            size = self._newton_step(c, z, w)
            first = c.whole("==", rounds.index, 1)
            quotient = c.real("/", size, before)
            ratio = c.value(f"select i1 {first}, double {c.number(FIRST_RATIO)}, double {quotient}")
            limit = c.real("*", c.real("-", c.number(1.0), ratio), c.number(TOLERANCE))
            small = c.real("<=", c.real("*", size, ratio), limit)
            slow = c.real(">=", ratio, c.number(SLOW))
            rounded = c.value(f"and i1 {slow}, {c.real('<=', size, c.number(ROUNDING))}")
            with c.when(c.value(f"or i1 {small}, {rounded}")):
                c.leave(rounds.index)
            growing = c.real(">=", ratio, c.number(1.0))
            late = c.whole(">", rounds.index, 2)
            with c.when(c.value(f"and i1 {growing}, {late}")):
                c.leave(0)
            # Or NaN.
            infinite = c.value(f"fcmp uge double {size}, {c.number(float('inf'))}")
            with c.when(infinite):
                c.leave(0)
            rounds.hand(before, size)
        return c.text("i64 0")

    def _newton_step(self, c: Lines, z: list[str], w: list[str]) -> str:
        """One round of the iteration; gives the size of the correction."""
        r = [self.array(c, f"r{i}") for i in range(3)]
        x, scale, change = (self.array(c, name) for name in ("x", "scale", "change"))
        self._stage_rates(c, z, r)
        over = {value: c.real("/", c.number(value), "%h") for value in (GAMMA, ALPHA, BETA)}
        with c.loop(0, self.n) as states:
            f = [c.load(part, states.index) for part in r]
            old = [c.negative(c.load(part, states.index)) for part in w]
            right = [c.combination(row, f) for row in T_INVERSE]
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
            largest = states.carry("largest", c.number(0.0))
            steps = [c.load(part, states.index) for part in r]
            new = [c.real("+", c.load(part, states.index), s) for part, s in zip(w, steps, strict=True)]
            own, corrected = c.size(c.load(x, states.index)), c.number(0.0)
            for i in range(3):
                c.store(new[i], w[i], states.index)
                stage = c.combination(T[i], new)
                c.store(stage, z[i], states.index)
                own = c.larger(own, c.size(stage))
                corrected = c.larger(corrected, c.size(c.combination(T[i], steps)))
            c.store(own, scale, states.index)
            c.store(corrected, change, states.index)
            states.hand(largest, c.larger(largest, own))
        floor = c.product_sum(largest, c.number(FLOOR), c.number(float(np.finfo(float).tiny)))
        with c.loop(0, self.n) as states:
            size = states.carry("size", c.number(0.0))
            own = c.real("+", c.load(scale, states.index), floor)
            states.hand(size, c.larger(size, c.real("/", c.load(change, states.index), own)))
        return size

    def _stage_rates(self, c: Lines, z: list[str], rates: list[str]) -> None:
        """Evaluate the derivative at all stages, as many at a time as there are lanes."""
        x, u = self.array(c, "x"), self.array(c, "u")
        for first in range(0, 3, self.width):
            stages = [min(first + lane, 2) for lane in range(self.width)]
            with c.loop(0, self.n) as states:
                own = c.load(x, states.index)
                at = {i: c.real("+", own, c.load(z[i], states.index)) for i in sorted(set(stages))}
                self.fill(c, "%tile", states.index, c.lanes([at[i] for i in stages]))
            if self.m:
                weights = {}
                for i in sorted(set(stages)):
                    time = c.product_sum("%part", c.number(STAGES[i]), "%begin")
                    weights[i] = self._lagrange(c, STAGES, time)
                with c.loop(0, self.m) as inputs:
                    values = {i: self._inputs_at(c, u, weights[i], inputs.index) for i in weights}
                    place = c.whole("+", inputs.index, self.n)
                    self.fill(c, "%tile", place, c.lanes([values[i] for i in stages]))
            c("call void @v_tiles(ptr %tile, i64 1)")
            with c.loop(0, self.n) as states:
                vector = self._result(c, states.index)
                for lane, i in enumerate(stages):
                    if i == first + lane:
                        c.store(c.lane(vector, lane), rates[i], states.index)
        self.count(c, self.wholes(c), EVALUATIONS, 3)

    # ---- the loop over the steps

    def step(self) -> str:
        """`@irk5_step`: one step, in parts where the iteration does not converge; 1 if it is done."""
        c = self.code(f"internal i64 @irk5_step({ARGUMENTS}, double %h) noinline")
        wholes = self.wholes(c)
        for number in (DONE, FRESH):
            c.store_whole(0, wholes, number)
        with c.forever():
            done, level = c.load_whole(wholes, DONE), c.load_whole(wholes, LEVEL)
            ticks = c.whole(">>", TICKS, level)
            begin, part = (
                c.real("*", c.value(f"uitofp i64 {value} to double"), c.number(1.0 / TICKS))
                for value in (done, ticks)
            )
            h = c.real("*", "%h", part)
            old = c.whole(">=", c.load_whole(wholes, EXTRA), refresh_cost(self.n))
            none = c.whole("==", c.load_whole(wholes, HAS_J), 0)
            with c.when(c.value(f"or i1 {old}, {none}")):
                c(f"call void @irk5_jacobian(ptr %tile, ptr %work, double {begin})")
                for number, whole in ((HAS_J, 1), (FRESH, 1), (FACTORED, 0), (EXTRA, 0), (BASE, 0)):
                    c.store_whole(whole, wholes, number)
            with c.when(c.whole("==", c.load_whole(wholes, FACTORED), 0)):
                c(f"call void @irk5_factors(ptr %work, double {h})")
                c.store_whole(1, wholes, FACTORED)
            arguments = f"ptr %tile, ptr %work, double {begin}, double {part}, double {h}"
            taken = c.value(f"call i64 @irk5_iteration({arguments})")
            good = c.whole("!=", taken, 0)
            with c.when(c.value(f"xor i1 {good}, true")):
                # A Jacobian of an earlier step is made anew; with a new one the step is halved.
                fresh = c.load_whole(wholes, FRESH)
                c.store_whole(fresh, wholes, HAS_J)
                with c.when(c.whole("!=", fresh, 0)):
                    with c.when(c.whole("==", level, MOST_HALVINGS)):
                        c.leave(0)
                    c.store_whole(c.whole("+", level, 1), wholes, LEVEL)
                    c.store_whole(0, wholes, FACTORED)
            with c.when(good):
                self._advance(c, taken, level, ticks)
                with c.when(c.whole(">=", c.load_whole(wholes, DONE), TICKS)):
                    c.leave(1)
        return c.text("i64 0")

    def _advance(self, c: Lines, taken: str, level: str, ticks: str) -> None:
        """What follows a part of a step whose iteration has converged."""
        wholes, x = self.wholes(c), self.array(c, "x")
        z, last = ([self.array(c, f"{name}{i}") for i in range(3)] for name in ("z", "last"))
        with c.loop(0, self.n) as states:
            stages = [c.load(part, states.index) for part in z]
            c.store(c.real("+", c.load(x, states.index), stages[2]), x, states.index)
            for part, value in zip(last, stages, strict=True):
                c.store(value, part, states.index)
        self.count(c, wholes, DONE, ticks)
        for number, whole in ((STAGED, 1), (FRESH, 0), (LAST, level)):
            c.store_whole(whole, wholes, number)
        base = c.load_whole(wholes, BASE)
        first = c.whole("==", base, 0)
        c.store_whole(c.value(f"select i1 {first}, i64 {taken}, i64 {base}"), wholes, BASE)
        more = c.whole("-", taken, c.load_whole(wholes, BASE))
        self.count(c, wholes, EXTRA, c.value(f"call i64 @llvm.smax.i64(i64 {more}, i64 0)"))
        remainder = c.whole("%", c.load_whole(wholes, DONE), c.whole("<<", ticks, 1))
        aligned, parted = c.whole("==", remainder, 0), c.whole("!=", level, 0)
        with c.when(c.value(f"and i1 {aligned}, {parted}")):
            c.store_whole(c.whole("-", level, 1), wholes, LEVEL)
            c.store_whole(0, wholes, FACTORED)

    def entry(self) -> str:
        """`@nacelle_irk5`: all steps. `counts` gets steps, status, evaluations and Jacobians."""
        c = self.code(f"void @nacelle_irk5({_PARAMETERS})")
        skipped = stride(self.plan, self.width)
        if self.control is not None:
            c(f"%control = getelementptr i8, ptr %tile, i64 {skipped}")
            skipped += stride(self.control.plan, self.width)
        c(f"%work = getelementptr i8, ptr %tile, i64 {skipped}")
        wholes, x, u = self.wholes(c), self.array(c, "x"), self.array(c, "u")
        for number in range(WHOLES):
            c.store_whole(0, wholes, number)
        with c.loop(0, self.n) as states:
            c.store(c.load("%x0", states.index), x, states.index)
        self._parameters(c, "%tile", self.n + self.m)
        if self.control is not None:
            self._parameters(c, "%control", self.n + self.control.given)
        with c.loop(0, "%steps") as steps:
            row = c.whole("*", c.whole("/", steps.index, "%held"), "%u.step")
            given = c.place("%u", row)
            if self.control is None:
                for stage in range(3):
                    source = c.place(given, c.whole("*", "%u.stage", stage))
                    with c.loop(0, self.m) as inputs:
                        target = c.whole("+", inputs.index, stage * self.m)
                        c.store(c.load(source, inputs.index), u, target)
            else:
                fresh = c.whole("==", c.whole("%", steps.index, "%held"), 0)
                with c.when(fresh):
                    self._controlled(c, self.control, given)
            ok = c.value("call i64 @irk5_step(ptr %tile, ptr %work, double %h)")
            with c.when(c.whole("==", ok, 0)):
                self._finish(c, steps.index, 1)
                c("ret void")
                c.label(c.name())
            completed = c.whole("+", steps.index, 1)
            with c.when(c.whole("==", c.whole("%", completed, "%every"), 0)):
                place = c.whole("-", c.whole("/", completed, "%every"), 1)
                target = c.place("%stored", c.whole("*", place, self.n))
                with c.loop(0, self.n) as states:
                    c.store(c.load(x, states.index), target, states.index)
        self._finish(c, "%steps", 0)
        return c.text()

    def _parameters(self, c: Lines, tile: str, place: int) -> None:
        with c.loop(0, self.k) as parameters:
            value = c.spread(c.load("%p", parameters.index))
            self.fill(c, tile, c.whole("+", parameters.index, place), value)

    def _controlled(self, c: Lines, control: _Control, given: str) -> None:
        """Have the control give the inputs of a step, the same at all stages."""
        x, u = self.array(c, "x"), self.array(c, "u")
        with c.loop(0, self.n) as states:
            self.fill(c, "%control", states.index, c.spread(c.load(x, states.index)))
        with c.loop(0, control.given) as inputs:
            place = c.whole("+", inputs.index, self.n)
            self.fill(c, "%control", place, c.spread(c.load(given, inputs.index)))
        c("call void @c_tiles(ptr %control, i64 1)")
        with c.loop(0, self.m) as inputs:
            index = c.whole("*", c.whole("+", inputs.index, control.plan.result), self.width)
            value = c.load("%control", index)
            for stage in range(3):
                c.store(value, u, c.whole("+", inputs.index, stage * self.m))

    def _finish(self, c: Lines, steps: str, status: int) -> None:
        wholes = self.wholes(c)
        counts = [c.load_whole(wholes, number) for number in (EVALUATIONS, JACOBIANS)]
        for place, value in enumerate([steps, str(status), *counts]):
            c.store_whole(value, "%counts", place)


# ---- the implicit Runge-Kutta method in native code: the rules of `nacelle.emit.irk5`, without Python


class Irk5(ImplicitIntegrator):
    """The implicit steps in native code, from what `compile_irk5` has made of the programs."""

    def __init__(self, image: bytes, program: Program, control: Program | None = None) -> None:
        super().__init__(program, control)
        self._library = Library(image, ("nacelle_info", "nacelle_irk5"))
        (self._bytes,) = self._library.numbers("nacelle_info", 1)
        self._entry = self._library.function("nacelle_irk5", _PARAMETERS)

    def _integrate(self, task: IntegrationTask, h: float, stored: NDArray[np.float64]) -> Irk5Result:
        m = self.sizes.m
        u_step, u_stage = (3 * m, m) if task.staged else (step_of(task.u), 0)
        counts, tile = np.zeros(4, dtype=np.int64), aligned_memory(self._bytes)
        self._entry(
            *(address(task.x0), address(task.u), u_step, u_stage, address(task.p), address(stored)),
            *(address(counts), h, task.steps, task.every, task.held, address(tile)),
        )
        steps, failed, evaluations, jacobians = counts.tolist()
        status = ITERATION_CAP if failed else CONVERGED
        return Irk5Result(stored, steps, status, evaluations, jacobians)


def compile_irk5(program: Program, options: JitOptions = DEFAULT, control: Program | None = None) -> bytes:
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
    stages = Stages(plan, (n, m, k), width, fma, held)
    parts = [info([tile + 8 * stages.layout.size]), *parts, *stages.texts()]
    return compile_text(module(parts, options), options)
