"""Columns of numbers from a table: found by name, with units, and with a place for everything wrong."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from nacelle.errors import Problem, TableError, shortened
from nacelle.model.units import QUANTITIES, Unit, UnitError, parse_unit
from nacelle.progress import Progress, ignored
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import Row, Table

T = TypeVar("T")
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
            self.add(self.table.header, k, name, "the column is given twice", "leave one out")
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

    def first(self, wrong: list[T]) -> list[T]:
        """The first of several places that are wrong in the same way, to be listed; all are counted."""
        self.count += max(0, len(wrong) - _MOST)
        return wrong[:_MOST]

    def values(self, *, gaps: bool = False, report: Progress = ignored) -> dict[str, Array]:
        """Read the numbers of all columns that were taken, in SI units, by name.

        A unit costs a product or a quotient with its factor, each rounded once.

        Args:
            gaps: whether an entry may be empty or not finite, which is NaN (or infinite) here; tables that
                commands write have "nan" where there is no result. Texts are mistakes all the same.
            report: is given the part that is done.
        """
        names, places = list(self.columns), list(self.columns.values())
        entries = self.table.entries(places, report)
        missing = np.isnan(entries.values)
        if gaps:
            missing[:] = False
        else:
            missing |= np.isinf(entries.values)
        missing[entries.ragged] = False
        for i, k in entries.wrong:
            missing[i, places.index(k)] = True
        want = len(self.table.names)
        for i in self.first(entries.ragged):
            row = self.table.row(i)
            have = len(row.cells)
            self.add(row, have - 1, "", f"{have} entries in the line", f"the header names {want} columns")
        for i, place in self.first(np.argwhere(missing).tolist()):
            row, k = self.table.row(i), places[place]
            text = row.cells[k].text
            entry = repr(shortened(text, 40)) if text else "nothing"
            self.add(row, k, names[place], f"{entry} is not a finite number", "write a number such as 0.25")
        return {
            name: in_si(entries.values[:, place], self._units.get(name)) for place, name in enumerate(names)
        }

    def stop(self, what: str) -> None:
        """Raise what is wrong, in the order of the file."""
        if self.problems:
            head = "1 problem" if self.count == 1 else f"{self.count} problems"
            first = f", the first {_MOST}" if self.count > _MOST else ""
            raise TableError(f"{head} in the {what}{first}:", self.problems)


def in_si(values: Array, unit: Unit | None) -> Array:
    """Numbers of a unit in SI."""
    if unit is None:
        return values
    if unit.exact.numerator != 1:
        values = values * float(unit.exact.numerator)
    if unit.exact.denominator != 1:
        values = values / float(unit.exact.denominator)
    return values * unit.irrational
