"""Tables of numbers in CSV files: one reader and one writer, with the place of every entry.

Numbers are read and written in compiled code, a block of lines at a time; only a block with something other
than plain numbers in it is read entry by entry. Columns are found by name, with units, and with a place for
everything wrong.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nacelle.errors import Problem, TableError, shorten
from nacelle.files import unread_reason, write_atomically
from nacelle.model.units import QUANTITIES, Unit, UnitError, parse_number, parse_unit
from nacelle.progress import Progress, ignore_progress
from nacelle.spatial.scalar import Array

_HEADER = re.compile(r"(?P<name>[^\[\]()]*?)\s*(?:\[(?P<square>[^\]]*)\]|\((?P<round>[^)]*)\))?")
# Lines that are read or written at once.
_BLOCK = 50_000
# Entries without a number: "nan", "-inf" and the like.
_NOT_FINITE = re.compile(r"[-+]?(?:nan|inf(?:inity)?)", re.IGNORECASE)


@dataclass(frozen=True)
class Cell:
    """An entry of a table, and the column where it starts, counted from 1."""

    text: str
    column: int


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    line: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Entries:
    """Numbers of some columns of a table.

    Attributes:
        values: the numbers (rows, columns); NaN where an entry is empty, "nan", or wrong.
        wrong: row and column (places in the table) of entries that are texts.
        ragged_rows: rows that have more or fewer entries than the header.
    """

    values: Array
    wrong: list[tuple[int, int]]
    ragged_rows: list[int]


@dataclass(frozen=True, eq=False)
class Table:
    """A table with a header.

    Attributes:
        file: name of the file, for messages.
        names: names of the columns, without units.
        units: units in the header, "" where it has none.
        header: the header as it is.
        separator: what is between entries.
        lines: all lines of the text.
        first: place of the header among them.
    """

    file: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    header: Row
    separator: str
    lines: list[str]
    first: int

    @cached_property
    def _data_lines(self) -> list[str]:
        """The lines below the header, without empty ones and comments."""
        return [line for line in self.lines[self.first + 1 :] if _is_data_line(line)]

    @cached_property
    def _line_numbers(self) -> range | list[int]:
        """The number of each row's line in the file, counted from 1."""
        start = self.first + 1
        if len(self._data_lines) == len(self.lines) - start:
            return range(start + 1, len(self.lines) + 1)
        return [start + k + 1 for k, line in enumerate(self.lines[start:]) if _is_data_line(line)]

    def __len__(self) -> int:
        return len(self._data_lines)

    def row(self, i: int) -> Row:
        """Row i, with the places of its entries."""
        return Row(self._line_numbers[i], _split_line(self._data_lines[i], self.separator))

    def entries(self, columns: Sequence[int], report: Progress = ignore_progress) -> Entries:
        """Read the numbers of some columns.

        Args:
            columns: their places.
            report: is given the part that is done.
        """
        rows = self._data_lines
        values = np.full((len(rows), len(columns)), np.nan)
        wrong: list[tuple[int, int]] = []
        ragged: list[int] = []
        commas = len(self.names) - 1
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            plain = all(line.count(self.separator) == commas for line in block)
            numbers = self._read_numeric_block(block, columns) if plain and columns else None
            if numbers is not None:
                values[start : start + len(block)] = numbers
            else:
                self._read_entries(start, block, columns, Entries(values, wrong, ragged))
            report(min(1.0, (start + len(block)) / len(rows)))
        return Entries(values, wrong, ragged)

    def _read_numeric_block(self, block: list[str], columns: Sequence[int]) -> Array | None:
        """Numbers of a block of lines with nothing but numbers in these columns; None of any other."""
        try:
            return np.loadtxt(
                block, delimiter=self.separator, usecols=columns, ndmin=2, comments=None, quotechar='"'
            )
        except ValueError:
            return None

    def _read_entries(self, start: int, block: list[str], columns: Sequence[int], entries: Entries) -> None:
        """Read a block of lines entry by entry."""
        for i, line in enumerate(block, start=start):
            parts = line.split(self.separator)
            if len(parts) != len(self.names):
                entries.ragged_rows.append(i)
                continue
            for index, k in enumerate(columns):
                text = _strip_entry(parts[k])
                number = parse_number(text)
                if number is not None:
                    entries.values[i, index] = number
                elif _NOT_FINITE.fullmatch(text):
                    entries.values[i, index] = float(text)
                elif text:
                    entries.wrong.append((i, k))


def read_table(source: str | Path) -> Table:
    """Read a CSV file, or its text if that has more than one line.

    Entries are separated by commas, semicolons or tabs, whichever the header has; empty lines and lines that
    start with # are left out.

    Raises:
        TableError: if the file cannot be read or has no header.
    """
    file, text = _read_text(source)
    lines = text.removeprefix("\ufeff").splitlines()
    first = next((k for k, line in enumerate(lines) if _is_data_line(line)), None)
    if first is None:
        problem = Problem(file, 1, 1, "", "the file is empty", "the first line names the columns: t, x, y, z")
        raise TableError("no table:", [problem])
    separator = next((mark for mark in (";", "\t") if mark in lines[first]), ",")
    header = Row(first + 1, _split_line(lines[first], separator))
    header_entries = [name_and_unit(cell.text) for cell in header.cells]
    names, units = tuple(name for name, _ in header_entries), tuple(unit for _, unit in header_entries)
    return Table(file, names, units, header, separator, lines, first)


def name_and_unit(text: str) -> tuple[str, str]:
    """Name and unit of a column from its header, such as "x [mm]"; the unit is "" if it has none."""
    match = _HEADER.fullmatch(text)
    if match is None:
        return text, ""
    return match["name"], (match["square"] or match["round"] or "").strip()


def table_text(
    names: Sequence[str], units: Sequence[str], columns: Sequence[Any], report: Progress = ignore_progress
) -> Iterator[str]:
    """Give a table as CSV, some lines at a time; every number is read back as the same float.

    Args:
        names: names of the columns.
        units: their units, "" for none.
        columns: their numbers, arrays (rows,) of floats or integers.
        report: is given the part that is done.
    """
    from pydantic_core import to_json

    header = [f"{name} [{unit}]" if unit else name for name, unit in zip(names, units, strict=True)]
    yield ",".join(header) + "\n"
    count = len(columns[0]) if len(columns) else 0
    for start in range(0, count, _BLOCK):
        block = [column[start : start + _BLOCK].tolist() for column in columns]
        # Shortest digits that are read back as the same float, as repr gives them, many times faster.
        rows = to_json(list(zip(*block, strict=True)), inf_nan_mode="constants")
        text = rows[2:-2].replace(b"],[", b"\n").replace(b"NaN", b"nan").replace(b"Infinity", b"inf")
        yield text.decode() + "\n"
        report(min(1.0, (start + _BLOCK) / count))


def write_table(path: Path, names: list[str], units: list[str], values: Array) -> None:
    """Write a table (rows, columns) as CSV; every number is read back as the same float."""
    write_atomically(path, "".join(table_text(names, units, list(values.T))))


def _read_text(source: str | Path) -> tuple[str, str]:
    """Name and text of a source."""
    if isinstance(source, str) and ("\n" in source or not source):
        return "<text>", source
    try:
        return str(source), Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        problem = Problem(str(source), 0, 0, "", *unread_reason(source, fault, "CSV file"))
        raise TableError("no table:", [problem]) from fault


def _is_data_line(line: str) -> bool:
    """Whether a line is neither empty nor a comment."""
    text = line.lstrip()
    return bool(text) and text[0] != "#"


def _strip_entry(text: str) -> str:
    """An entry without the space and the quotes around it."""
    return text.strip().strip('"').strip()


def _split_line(line: str, separator: str) -> tuple[Cell, ...]:
    """Split a line; quotes around an entry are taken off."""
    cells = []
    column = 1
    for part in line.split(separator):
        space = len(part) - len(part.lstrip())
        cells.append(Cell(_strip_entry(part), column + space))
        column += len(part) + 1
    return tuple(cells)


# ---- columns by name, with units


T = TypeVar("T")
Dimension = tuple[int, ...]

TIME: Dimension = (0, 0, 1, 0, 0)
LENGTH: Dimension = QUANTITIES["length"].dimension
ANGLE: Dimension = QUANTITIES["angle"].dimension
_EXAMPLES = {TIME: "s or ms", LENGTH: "m or mm", ANGLE: "rad or deg"}
_MAX_PROBLEMS = 20  # more problems are counted, not listed


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
        if len(self.problems) < _MAX_PROBLEMS or (row.line, column) < self._last_position:
            insort(self.problems, Problem(self.table.file, row.line, column, path, message, hint))
            del self.problems[_MAX_PROBLEMS:]

    @property
    def _last_position(self) -> tuple[int, int]:
        """Line and column of the last problem that is kept."""
        return self.problems[-1].line, self.problems[-1].column

    def take(self, name: str, k: int) -> None:
        """Take the column at place k under a name."""
        if name in self.columns:
            self.add(self.table.header, k, name, "the column is given twice", "leave one out")
        else:
            self.columns[name] = k
            self._read_unit(name, k)

    def require(self, names: list[str]) -> None:
        """Demand columns."""
        for name in names:
            if name not in self.columns:
                hint = f"columns: {', '.join(names)}"
                self.add(self.table.header, 0, name, "the column is missing", hint)

    def _read_unit(self, name: str, k: int) -> None:
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
        self.count += max(0, len(wrong) - _MAX_PROBLEMS)
        return wrong[:_MAX_PROBLEMS]

    def values(self, *, gaps: bool = False, report: Progress = ignore_progress) -> dict[str, Array]:
        """Read the numbers of all columns that were taken, in SI units, by name.

        A unit costs a product or a quotient with its factor, each rounded once.

        Args:
            gaps: whether an entry may be empty or not finite, which is NaN (or infinite) here; tables that
                commands write have "nan" where there is no result. Texts are mistakes all the same.
            report: is given the part that is done.
        """
        names, indices = list(self.columns), list(self.columns.values())
        entries = self.table.entries(indices, report)
        missing = np.isnan(entries.values)
        if gaps:
            missing[:] = False
        else:
            missing |= np.isinf(entries.values)
        missing[entries.ragged_rows] = False
        for i, k in entries.wrong:
            missing[i, indices.index(k)] = True
        want = len(self.table.names)
        for i in self.first(entries.ragged_rows):
            row = self.table.row(i)
            have = len(row.cells)
            self.add(row, have - 1, "", f"{have} entries in the line", f"the header names {want} columns")
        for i, index in self.first(np.argwhere(missing).tolist()):
            row, k = self.table.row(i), indices[index]
            text = row.cells[k].text
            entry = repr(shorten(text, 40)) if text else "nothing"
            self.add(row, k, names[index], f"{entry} is not a finite number", "write a number such as 0.25")
        return {
            name: convert_to_si(entries.values[:, index], self._units.get(name))
            for index, name in enumerate(names)
        }

    def stop(self, what: str) -> None:
        """Raise what is wrong, in the order of the file."""
        if self.problems:
            head = "1 problem" if self.count == 1 else f"{self.count} problems"
            first = f", the first {_MAX_PROBLEMS}" if self.count > _MAX_PROBLEMS else ""
            raise TableError(f"{head} in the {what}{first}:", self.problems)


def convert_to_si(values: Array, unit: Unit | None) -> Array:
    """Numbers of a unit in SI."""
    if unit is None:
        return values
    if unit.exact.numerator != 1:
        values = values * float(unit.exact.numerator)
    if unit.exact.denominator != 1:
        values = values / float(unit.exact.denominator)
    return values * unit.irrational
