"""CSV files: a header with names, and units in brackets where they are not SI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from nacelle.errors import MeasurementError, TableError
from nacelle.identification.data.formats.recording import Recording
from nacelle.spatial.scalar import Array
from nacelle.tables.columns import Columns
from nacelle.tables.csv import Table, read_table


def open_csv(path: Path) -> Recording:
    """Read the header; numbers are read when columns are loaded."""
    try:
        table = read_table(path)
    except TableError as fault:
        raise MeasurementError("no measurement:", fault.problems) from None
    # Units are judged together with the column map.
    bare = replace(table, units=("",) * len(table.names))

    def load(names: Sequence[str]) -> dict[str, Array]:
        columns = Columns(bare, {})
        for k, name in enumerate(bare.names):
            if name in names:
                columns.take(name, k)
        try:
            columns.stop("measurement")
            values = columns.values(gaps=True)
            columns.stop("measurement")
        except TableError as fault:
            raise MeasurementError("the table cannot be read:", fault.problems) from None
        return {name: np.where(np.isfinite(column), column, np.nan) for name, column in values.items()}

    units = {name: unit for name, unit in zip(table.names, table.units, strict=True) if unit}
    return Recording(table.file, table.names, load, units, lambda n: _rows(table, n), table.header.line)


def _rows(table: Table, count: int) -> int | Array:
    """Lines of the rows: the first one, or all of them if comments or empty lines are between."""
    if not count:
        return table.header.line + 1
    first, last = table.row(0).line, table.row(count - 1).line
    if last - first == count - 1:
        return first
    return np.array([table.row(i).line for i in range(count)])
