"""LU factorisation and solution, real and complex, of one size, as functions over arrays.

Matrices are by columns, `column_stride` apart, followed and preceded by at least a vector of numbers that
are not used; complex ones are two real ones, real and imaginary parts. P A = L U is made in place, column by
column behind each pivot: columns that have a zero in the pivot's row are left alone, so that the rows of
positions in the Jacobian of a mechanism, which have few entries, cost little. For that reason the diagonal is
the pivot, unless another row has an entry more than ten times as large, each against the largest of its row.
"""

from __future__ import annotations

from nacelle.emit.loop_writer import ArrayWriter

# How much larger than the diagonal another entry must be to become the pivot.
_PREFERENCE = 0.1
_PARTS = ("re", "im")
_SIDES = ("x", "y")

Parameters = list[tuple[str, str]]
"""Kinds and names of a function's parameters."""


def column_stride(n: int, width: int) -> int:
    """Distance of two columns: a vector that begins in one does not reach into the next."""
    return width * ((n + 2 * width - 2) // width)


def _part_parameters(names: tuple[str, ...], complex_: bool) -> Parameters:
    return [("array", name) for name in (names if complex_ else names[:1])]


def factor_parameters(complex_: bool) -> Parameters:
    """A matrix, room for n numbers, room for the n pivots."""
    return [*_part_parameters(_PARTS, complex_), ("array", "scales"), ("wholes", "pivots")]


def solve_parameters(complex_: bool) -> Parameters:
    """The factors, their pivots, and the right side, which becomes the solution."""
    return [*_part_parameters(_PARTS, complex_), ("wholes", "pivots"), *_part_parameters(_SIDES, complex_)]


class LuLoops:
    """Writes both functions, of n unknowns."""

    def __init__(self, n: int, width: int, *, complex_: bool) -> None:
        self.n, self.width, self.complex = n, width, complex_
        self.stride = column_stride(n, width)

    def _arguments(self, c: ArrayWriter, names: tuple[str, ...]) -> list[str]:
        return [c.argument(name) for _, name in _part_parameters(names, self.complex)]

    def factor(self, c: ArrayWriter) -> None:
        """Write the factorisation (`factor_parameters`)."""
        self._row_scales(c)
        with c.loop(0, self.n) as step:
            k = step.index
            column = self._column(c, k)
            self._pivot(c, k, column)
            below = c.name_value("below", c.whole("+", k, 1), "whole")
            inverse = self._inverse(c, [c.load(part, k) for part in column])
            spread = [c.spread(entry) for entry in inverse]
            with c.loop(below, self.n, self.width) as rows:
                entries = [c.load(part, rows.index, "vector") for part in column]
                for part, scaled in zip(column, self._product(c, entries, spread), strict=True):
                    c.store(scaled, part, rows.index, "vector")
            with c.loop(below, self.n) as columns:
                updated_column = self._column(c, columns.index)
                entry = [c.load(part, k) for part in updated_column]
                nonzero = [c.real("!=", value, c.number(0.0)) for value in entry]
                with (
                    c.when(nonzero[0] if len(nonzero) == 1 else c.combine_bits("|", *nonzero)),
                    c.loop(below, self.n, self.width) as rows,
                ):
                    self._reduce(c, [c.spread(value) for value in entry], column, updated_column, rows.index)

    def solve(self, c: ArrayWriter) -> None:
        """Write the solution (`solve_parameters`)."""
        unknowns = self._arguments(c, _SIDES)
        with c.loop(0, self.n) as step:
            pivot_row = c.load(c.argument("pivots"), step.index, "whole")
            for part in unknowns:
                self._exchange(c, part, step.index, pivot_row)
        with c.loop(0, self.n) as step:
            k = step.index
            column = self._column(c, k)
            entry = [c.spread(c.load(part, k)) for part in unknowns]
            with c.loop(c.whole("+", k, 1), self.n, self.width) as rows:
                self._reduce(c, entry, column, unknowns, rows.index)
        with c.loop(0, self.n) as step:
            k = c.name_value("k", c.whole("-", self.n - 1, step.index), "whole")
            column = self._column(c, k)
            diagonal = self._inverse(c, [c.load(part, k) for part in column])
            entry = self._product(c, [c.load(part, k) for part in unknowns], diagonal, "real")
            entry = [c.name_value("entry", value) for value in entry]
            for part, value in zip(unknowns, entry, strict=True):
                c.store(value, part, k)
            spread = [c.spread(value) for value in entry]
            # Vectors end at the diagonal; the first of them may begin before the column.
            with c.loop(0, k, self.width) as rows:
                first_row = c.whole("-", c.whole("-", k, self.width), rows.index)
                self._reduce(c, spread, column, unknowns, first_row)

    def _column(self, c: ArrayWriter, k: str) -> list[str]:
        offset = c.whole("*", k, self.stride)
        return [c.address(part, offset) for part in self._arguments(c, _PARTS)]

    def _magnitude(self, c: ArrayWriter, column: list[str], row: str) -> str:
        sizes = [c.unary("abs", c.load(part, row)) for part in column]
        return sizes[0] if len(sizes) == 1 else c.real("+", *sizes)

    def _row_scales(self, c: ArrayWriter) -> None:
        """One over the largest entry of every row."""
        with c.loop(0, self.n) as rows:
            with c.loop(0, self.n) as columns:
                largest = columns.carry("largest", c.number(0.0))
                entry = self._magnitude(c, self._column(c, columns.index), rows.index)
                columns.set_next(largest, c.maximum(largest, entry))
            c.store(c.real("/", c.number(1.0), largest), c.argument("scales"), rows.index)

    def _pivot(self, c: ArrayWriter, k: str, column: list[str]) -> None:
        """Choose the pivot of a column, and exchange rows."""
        scales = c.argument("scales")

        def scale(row: str) -> str:
            return c.name_value("scaled", c.real("*", self._magnitude(c, column, row), c.load(scales, row)))

        diagonal = scale(k)
        with c.loop(c.whole("+", k, 1), self.n) as rows:
            largest, pivot_row = rows.carry("largest", diagonal), rows.carry("place", k, "whole")
            entry = scale(rows.index)
            more = c.name_value("more", c.real(">", entry, largest), "bit")
            rows.set_next(largest, c.choose(more, entry, largest))
            rows.set_next(pivot_row, c.choose(more, rows.index, pivot_row, "whole"))
        enough = c.real(">=", diagonal, c.real("*", largest, c.number(_PREFERENCE)))
        chosen = c.name_value("chosen", c.choose(enough, k, pivot_row, "whole"), "whole")
        c.store(chosen, c.argument("pivots"), k, "whole")
        with c.when(c.whole("!=", chosen, k)):
            with c.loop(0, self.n) as columns:
                for part in self._column(c, columns.index):
                    self._exchange(c, part, k, chosen)
            self._exchange(c, scales, k, chosen)

    def _exchange(self, c: ArrayWriter, base: str, a: str, b: str) -> None:
        first, second = c.load(base, a), c.load(base, b)
        c.store(second, base, a)
        c.store(first, base, b)

    def _inverse(self, c: ArrayWriter, entry: list[str]) -> list[str]:
        """One over a number."""
        if len(entry) == 1:
            return [c.name_value("inverse", c.real("/", c.number(1.0), entry[0]))]
        a, b = entry
        square = c.name_value("square", c.product_sum(a, a, c.real("*", b, b)))
        real, imaginary = c.real("/", a, square), c.real("/", c.unary("-", b), square)
        return [c.name_value("inverse", real), c.name_value("inverse", imaginary)]

    def _product(self, c: ArrayWriter, a: list[str], b: list[str], kind: str = "vector") -> list[str]:
        if len(a) == 1:
            return [c.real("*", a[0], b[0], kind)]
        cross = c.real("*", a[1], b[1], kind)
        return [
            c.product_sum(a[0], b[0], c.unary("-", cross, kind), kind),
            c.product_sum(a[0], b[1], c.real("*", a[1], b[0], kind), kind),
        ]

    def _reduce(
        self, c: ArrayWriter, entry: list[str], column: list[str], reduced: list[str], row: str
    ) -> None:
        """Subtract a column times an entry, spread, from another one: a vector of rows."""
        factors = [c.unary("-", value, "vector") for value in entry]
        L = [c.load(part, row, "vector") for part in column]
        totals = [c.load(part, row, "vector") for part in reduced]
        totals[0] = c.product_sum(factors[0], L[0], totals[0], "vector")
        if len(L) == 2:
            totals[0] = c.product_sum(entry[1], L[1], totals[0], "vector")
            totals[1] = c.product_sum(factors[0], L[1], totals[1], "vector")
            totals[1] = c.product_sum(factors[1], L[0], totals[1], "vector")
        for part, total in zip(reduced, totals, strict=True):
            c.store(total, part, row, "vector")
