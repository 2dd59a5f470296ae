"""Parquet files, by pyarrow (the extra `nacelle[logs]`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nacelle.files import why_unread
from nacelle.identification.data.formats.recording import Recording, as_floats, unreadable
from nacelle.spatial.scalar import Array
from nacelle.tables.csv import name_and_unit


def open_parquet(path: Path) -> Recording:
    """Read the names; columns are read when they are loaded."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise unreadable(path, "Parquet files need pyarrow", "pip install 'nacelle[logs]'") from None
    try:
        schema = parquet.read_schema(path)
    except OSError as fault:
        raise unreadable(path, *why_unread(path, fault, "Parquet file")) from None
    except pa.ArrowInvalid as fault:
        what = " ".join(str(fault).split())[:120]
        raise unreadable(path, f"not a Parquet file: {what}", "name a Parquet file") from None
    numeric = [
        entry.name
        for entry in schema
        if pa.types.is_integer(entry.type)
        or pa.types.is_floating(entry.type)
        or pa.types.is_timestamp(entry.type)
    ]
    named = {name: name_and_unit(name) for name in numeric}
    full = {name: whole for whole, (name, _) in named.items()}

    def load(names: Sequence[str]) -> dict[str, Array]:
        table = parquet.read_table(path, columns=[full[name] for name in names])
        return {name: _numbers(table.column(full[name])) for name in names}

    units = {name: unit for name, unit in named.values() if unit}
    return Recording(str(path), tuple(full), load, units)


def _numbers(column: Any) -> Array:
    """A column as floats, NaN where it is null; points in time as seconds after the first."""
    values = column.to_numpy()
    if values.dtype.kind != "M":
        return as_floats(values)
    # As whole numbers first: a float does not hold nanoseconds since 1970.
    missing = np.isnat(values)
    steps = (values - values[~missing][0]) if not missing.all() else values - values
    return np.where(missing, np.nan, steps / np.timedelta64(1, "s"))
