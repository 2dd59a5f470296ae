"""Tables of numbers in CSV files: one reader and one writer, with the place of every entry.

Numbers are read and written in compiled code, a block of lines at a time; only a block with something other
than plain numbers in it is read entry by entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.errors import Problem, TableError
from nacelle.files import why_unread, write_whole
from nacelle.model.units import parse_number
from nacelle.progress import Progress, ignored
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
        ragged: rows that have more or fewer entries than the header.
    """

    values: Array
    wrong: list[tuple[int, int]]
    ragged: list[int]


@dataclass(frozen=True, eq=False)
class Table:
    """A table with a header.

    Attributes:
        file: name of the file, for messages.
        names: names of the columns, without units.
        units: units in the header, "" where there are none.
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
    def _below(self) -> list[str]:
        """The lines below the header, without empty ones and comments."""
        return [line for line in self.lines[self.first + 1 :] if _counts(line)]

    @cached_property
    def _numbers(self) -> range | list[int]:
        """The number of each row's line in the file, counted from 1."""
        start = self.first + 1
        if len(self._below) == len(self.lines) - start:
            return range(start + 1, len(self.lines) + 1)
        return [start + k + 1 for k, line in enumerate(self.lines[start:]) if _counts(line)]

    def __len__(self) -> int:
        return len(self._below)

    def row(self, i: int) -> Row:
        """Row i, with the places of its entries."""
        return Row(self._numbers[i], _cells(self._below[i], self.separator))

    def entries(self, columns: Sequence[int], report: Progress = ignored) -> Entries:
        """Read the numbers of some columns.

        Args:
            columns: their places.
            report: is given the part that is done.
        """
        rows = self._below
        values = np.full((len(rows), len(columns)), np.nan)
        wrong: list[tuple[int, int]] = []
        ragged: list[int] = []
        commas = len(self.names) - 1
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            plain = all(line.count(self.separator) == commas for line in block)
            numbers = self._plain(block, columns) if plain and columns else None
            if numbers is not None:
                values[start : start + len(block)] = numbers
            else:
                self._one_by_one(start, block, columns, Entries(values, wrong, ragged))
            report(min(1.0, (start + len(block)) / len(rows)))
        return Entries(values, wrong, ragged)

    def _plain(self, block: list[str], columns: Sequence[int]) -> Array | None:
        """Numbers of a block of lines with nothing but numbers in these columns; None of any other."""
        try:
            return np.loadtxt(
                block, delimiter=self.separator, usecols=columns, ndmin=2, comments=None, quotechar='"'
            )
        except ValueError:
            return None

    def _one_by_one(self, start: int, block: list[str], columns: Sequence[int], into: Entries) -> None:
        """Read a block of lines entry by entry."""
        for i, line in enumerate(block, start=start):
            parts = line.split(self.separator)
            if len(parts) != len(self.names):
                into.ragged.append(i)
                continue
            for place, k in enumerate(columns):
                text = _bare(parts[k])
                number = parse_number(text)
                if number is not None:
                    into.values[i, place] = number
                elif _NOT_FINITE.fullmatch(text):
                    into.values[i, place] = float(text)
                elif text:
                    into.wrong.append((i, k))


def read_table(source: str | Path) -> Table:
    """Read a CSV file, or its text if that has more than one line.

    Entries are separated by commas, semicolons or tabs, whichever the header has; empty lines and lines that
    start with # are left out.

    Raises:
        TableError: if the file cannot be read or has no header.
    """
    file, text = _text(source)
    lines = text.removeprefix("\ufeff").splitlines()
    first = next((k for k, line in enumerate(lines) if _counts(line)), None)
    if first is None:
        problem = Problem(file, 1, 1, "", "the file is empty", "the first line names the columns: t, x, y, z")
        raise TableError("no table:", [problem])
    separator = next((mark for mark in (";", "\t") if mark in lines[first]), ",")
    header = Row(first + 1, _cells(lines[first], separator))
    named = [name_and_unit(cell.text) for cell in header.cells]
    names, units = tuple(name for name, _ in named), tuple(unit for _, unit in named)
    return Table(file, names, units, header, separator, lines, first)


def name_and_unit(text: str) -> tuple[str, str]:
    """Name and unit of a column from its header, such as "x [mm]"; the unit is "" if there is none."""
    match = _HEADER.fullmatch(text)
    if match is None:
        return text, ""
    return match["name"], (match["square"] or match["round"] or "").strip()


def table_text(
    names: Sequence[str], units: Sequence[str], columns: Sequence[Any], report: Progress = ignored
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
    write_whole(path, "".join(table_text(names, units, list(values.T))))


def _text(source: str | Path) -> tuple[str, str]:
    """Name and text of a source."""
    if isinstance(source, str) and ("\n" in source or not source):
        return "<text>", source
    try:
        return str(source), Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        problem = Problem(str(source), 0, 0, "", *why_unread(source, fault, "CSV file"))
        raise TableError("no table:", [problem]) from fault


def _counts(line: str) -> bool:
    """Whether a line is neither empty nor a comment."""
    text = line.lstrip()
    return bool(text) and text[0] != "#"


def _bare(text: str) -> str:
    """An entry without the space and the quotes around it."""
    return text.strip().strip('"').strip()


def _cells(line: str, separator: str) -> tuple[Cell, ...]:
    """Split a line; quotes around an entry are taken off."""
    cells = []
    column = 1
    for part in line.split(separator):
        space = len(part) - len(part.lstrip())
        cells.append(Cell(_bare(part), column + space))
        column += len(part) + 1
    return tuple(cells)
