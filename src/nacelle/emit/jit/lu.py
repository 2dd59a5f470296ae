"""LLVM IR text of LU factorisation and solves, real and complex, of one size.

Matrices are by columns, `column_stride` apart, followed and preceded by at least a vector of numbers that
are not used; complex ones are two real ones, real and imaginary parts. P A = L U is made in place, column by
column behind each pivot: columns that have a zero in the pivot's row are left alone, so that the rows of
positions in the Jacobian of a mechanism, which have few entries, cost little. For that reason the diagonal is
the pivot, unless another row has an entry more than ten times as large, each against the largest of its row.
"""

from __future__ import annotations

from nacelle.emit.jit.loops import Lines

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
            below = c.whole("add", k, 1)
            inverse = self._inverse(c, [c.load(part, k) for part in column])
            spread = [c.spread(entry) for entry in inverse]
            with c.loop(below, self.n, self.width) as rows:
                entries = [c.load(part, rows.index, vector=True) for part in column]
                for part, scaled in zip(column, self._product(c, entries, spread), strict=True):
                    c.store(scaled, part, rows.index, vector=True)
            with c.loop(below, self.n) as columns:
                other = self._column(c, columns.index)
                entry = [c.load(part, k) for part in other]
                nonzero = [c.real("fcmp une", value, c.number(0.0)) for value in entry]
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
            with c.loop(c.whole("add", k, 1), self.n, self.width) as rows:
                self._reduce(c, entry, column, unknowns, rows.index)
        with c.loop(0, self.n) as step:
            k = c.whole("sub", self.n - 1, step.index)
            column = self._column(c, k)
            diagonal = self._inverse(c, [c.load(part, k) for part in column])
            entry = self._product(c, [c.load(part, k) for part in unknowns], diagonal, vector=False)
            for part, value in zip(unknowns, entry, strict=True):
                c.store(value, part, k)
            spread = [c.spread(value) for value in entry]
            # Vectors end at the diagonal; the first of them may begin before the column.
            with c.loop(0, k, self.width) as rows:
                place = c.whole("sub", c.whole("sub", k, self.width), rows.index)
                self._reduce(c, spread, column, unknowns, place)
        return c.text()

    def _column(self, c: Lines, k: str) -> list[str]:
        offset = c.whole("mul", k, self.stride)
        return [c.place(part, offset) for part in self.parts]

    def _magnitude(self, c: Lines, column: list[str], row: str) -> str:
        sizes = [c.size(c.load(part, row)) for part in column]
        return sizes[0] if len(sizes) == 1 else c.real("fadd", *sizes)

    def _row_scales(self, c: Lines) -> None:
        """One over the largest entry of every row."""
        with c.loop(0, self.n) as rows:
            with c.loop(0, self.n) as columns:
                largest = columns.carry(c.number(0.0))
                entry = self._magnitude(c, self._column(c, columns.index), rows.index)
                columns.hand(largest, c.larger(largest, entry))
            c.store(c.real("fdiv", c.number(1.0), largest), "%scales", rows.index)

    def _pivot(self, c: Lines, k: str, column: list[str]) -> None:
        """Choose the pivot of a column, and exchange rows."""

        def scaled(row: str) -> str:
            return c.real("fmul", self._magnitude(c, column, row), c.load("%scales", row))

        own = scaled(k)
        with c.loop(c.whole("add", k, 1), self.n) as rows:
            largest, place = rows.carry(own), rows.carry(k, "i64")
            entry = scaled(rows.index)
            more = c.real("fcmp ogt", entry, largest)
            rows.hand(largest, c.value(f"select i1 {more}, double {entry}, double {largest}"))
            rows.hand(place, c.value(f"select i1 {more}, i64 {rows.index}, i64 {place}"))
        enough = c.real("fcmp oge", own, c.real("fmul", largest, c.number(_PREFERENCE)))
        chosen = c.value(f"select i1 {enough}, i64 {k}, i64 {place}")
        c.store_whole(chosen, "%pivots", k)
        with c.when(c.whole("icmp ne", chosen, k)):
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
            return [c.real("fdiv", c.number(1.0), entry[0])]
        a, b = entry
        square = c.product_sum(a, a, c.real("fmul", b, b))
        return [c.real("fdiv", a, square), c.real("fdiv", c.negative(b), square)]

    def _product(self, c: Lines, a: list[str], b: list[str], *, vector: bool = True) -> list[str]:
        if len(a) == 1:
            return [c.real("fmul", a[0], b[0], vector=vector)]
        cross = c.real("fmul", a[1], b[1], vector=vector)
        return [
            c.product_sum(a[0], b[0], c.negative(cross, vector=vector), vector=vector),
            c.product_sum(a[0], b[1], c.real("fmul", a[1], b[0], vector=vector), vector=vector),
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
