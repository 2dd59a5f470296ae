"""Tables of numbers in CSV files, with the place of every entry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nacelle.errors import Problem, TableError
from nacelle.files import why_unread, write_whole
from nacelle.spatial.scalar import Array

_HEADER = re.compile(r"(?P<name>[^\[\]()]*?)\s*(?:\[(?P<square>[^\]]*)\]|\((?P<round>[^)]*)\))?")


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
class Table:
    """A table with a header.

    Attributes:
        file: name of the file, for messages.
        names: names of the columns, without units.
        units: units in the header, "" where there are none.
        header: the header as it stands.
        rows: the lines below it.
    """

    file: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    header: Row
    rows: tuple[Row, ...]


def read_table(source: str | Path) -> Table:
    """Read a CSV file, or its text if that has more than one line.

    Entries stand between commas, semicolons or tabs, whichever the header has; empty lines and lines that
    start with # are left out.

    Raises:
        TableError: if the file cannot be read or has no header.
    """
    file, text = _text(source)
    rows = []
    separator = None
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if separator is None:
            separator = next((mark for mark in (";", "\t") if mark in line), ",")
        rows.append(Row(number, _cells(line, separator)))
    if not rows:
        problem = Problem(file, 1, 1, "", "the file is empty", "the first line names the columns: t, x, y, z")
        raise TableError("no table:", [problem])
    names, units = [], []
    for cell in rows[0].cells:
        match = _HEADER.fullmatch(cell.text)
        names.append(cell.text if match is None else match["name"])
        units.append("" if match is None else (match["square"] or match["round"] or "").strip())
    return Table(file, tuple(names), tuple(units), rows[0], tuple(rows[1:]))


def write_table(path: Path, names: list[str], units: list[str], values: Array) -> None:
    """Write a table (rows, columns) as CSV; every number is read back as the same float."""
    header = [f"{name} [{unit}]" if unit else name for name, unit in zip(names, units, strict=True)]
    lines = [",".join(header), *(",".join(map(repr, row)) for row in values.tolist())]
    write_whole(path, "\n".join(lines) + "\n")


def _text(source: str | Path) -> tuple[str, str]:
    """Name and text of a source."""
    if isinstance(source, str) and ("\n" in source or not source):
        return "<text>", source
    try:
        return str(source), Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        problem = Problem(str(source), 0, 0, "", *why_unread(source, fault, "CSV file"))
        raise TableError("no table:", [problem]) from fault


def _cells(line: str, separator: str) -> tuple[Cell, ...]:
    """Split a line; quotes around an entry are taken off."""
    cells = []
    column = 1
    for part in line.split(separator):
        space = len(part) - len(part.lstrip())
        cells.append(Cell(part.strip().strip('"').strip(), column + space))
        column += len(part) + 1
    return tuple(cells)
