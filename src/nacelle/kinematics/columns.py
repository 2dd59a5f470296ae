"""Columns of numbers from a table: found by name, with units, and with a place for everything wrong."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from nacelle.errors import Problem, TableError
from nacelle.kinematics.table import Row, Table
from nacelle.model.units import QUANTITIES, Unit, UnitError, parse_number, parse_unit
from nacelle.spatial.scalar import Array

Dimension = tuple[int, ...]

TIME: Dimension = (0, 0, 1, 0, 0)
LENGTH: Dimension = QUANTITIES["length"].dimension
ANGLE: Dimension = QUANTITIES["angle"].dimension
_EXAMPLES = {TIME: "s or ms", LENGTH: "m or mm", ANGLE: "rad or deg"}
_MOST = 20  # more problems are counted, not listed


class Columns:
    """The columns of a table on their way to arrays, with the problems found.

    Attributes:
        table: the table.
        columns: for each name that was found, its place.
        problems: what is wrong, the first in the file.
        count: how many problems there are in all.
    """

    def __init__(self, table: Table, dimensions: Mapping[str, tuple[Dimension, ...]]) -> None:
        """Keep a table; `dimensions` gives for each name the dimensions that its unit may have."""
        self.table = table
        self.problems: list[Problem] = []
        self.count = 0
        self.columns: dict[str, int] = {}
        self._dimensions = dimensions
        self._units: dict[str, Unit] = {}

    def add(self, row: Row, k: int, path: str, message: str, hint: str) -> None:
        """Keep a problem at entry k of a row."""
        self.count += 1
        column = row.cells[k].column if k < len(row.cells) else row.cells[-1].column
        # A table may have a million of them: the first in the file are kept.
        if len(self.problems) < _MOST or (row.line, column) < self._last:
            insort(self.problems, Problem(self.table.file, row.line, column, path, message, hint))
            del self.problems[_MOST:]

    @property
    def _last(self) -> tuple[int, int]:
        """Line and column of the last problem that is kept."""
        return self.problems[-1].line, self.problems[-1].column

    def take(self, name: str, k: int) -> None:
        """Take the column at place k under a name."""
        if name in self.columns:
            self.add(self.table.header, k, name, "the column stands twice", "leave one out")
        else:
            self.columns[name] = k
            self._unit(name, k)

    def require(self, names: list[str]) -> None:
        """Demand columns."""
        for name in names:
            if name not in self.columns:
                hint = f"columns: {', '.join(names)}"
                self.add(self.table.header, 0, name, "the column is missing", hint)

    def _unit(self, name: str, k: int) -> None:
        """Read the unit of a column."""
        text = self.table.units[k]
        if not text:
            return
        allowed = self._dimensions.get(name, (LENGTH, ANGLE))
        try:
            unit = parse_unit(text)
        except UnitError as fault:
            self.add(self.table.header, k, name, str(fault), fault.hint)
            return
        if unit.dimension not in allowed:
            hint = "write " + (" or ".join(_EXAMPLES[d] for d in allowed) or "no unit")
            self.add(self.table.header, k, name, f"{text!r} is not a unit of this column", hint)
            return
        self._units[name] = unit

    def whole_rows(self) -> list[Row]:
        """The rows that have as many entries as the header."""
        return [row for row in self.table.rows if self._whole(row)]

    def _whole(self, row: Row) -> bool:
        """Whether a row has as many entries as the header."""
        have, want = len(row.cells), len(self.table.names)
        if have != want:
            self.add(row, have - 1, "", f"{have} entries in the line", f"the header names {want} columns")
        return have == want

    def column(self, rows: list[Row], name: str, *, gaps: bool = False) -> Array:
        """Read the numbers of a column in SI units; NaN where there is none.

        With `gaps` an entry "nan" is no mistake: tables that commands write have it where there is no result.
        """
        k = self.columns[name]
        convert = _conversion(self._units.get(name))
        values = np.full(len(rows), np.nan)
        for i, row in enumerate(rows):
            text = row.cells[k].text
            if gaps and text.lower() == "nan":
                continue
            number = parse_number(text)
            value = math.nan if number is None else convert(number)
            if math.isfinite(value):
                values[i] = value
            else:
                told = repr(text if len(text) <= 40 else text[:37] + "...") if text else "nothing"
                self.add(row, k, name, f"{told} is not a finite number", "write a number such as 0.25")
        return values

    def stop(self, what: str) -> None:
        """Raise what has been found, in the order of the file."""
        if self.problems:
            head = "1 problem" if self.count == 1 else f"{self.count} problems"
            first = f", the first {_MOST}" if self.count > _MOST else ""
            raise TableError(f"{head} in the {what}{first}:", self.problems)


def _conversion(unit: Unit | None) -> Callable[[float], float]:
    """The function that takes numbers of a unit to SI; decimal factors are exact."""
    if unit is None:
        return float
    if unit.exact == 1:
        return lambda number: number * unit.irrational
    return lambda number: (
        float(Fraction(repr(number)) * unit.exact) * unit.irrational if math.isfinite(number) else number
    )
