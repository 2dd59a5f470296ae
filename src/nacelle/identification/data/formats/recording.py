"""The columns of a file of measured data, whatever its format: names, units, numbers, rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nacelle.errors import MeasurementError, Problem
from nacelle.spatial.scalar import Array


@dataclass(frozen=True, eq=False)
class Recording:
    """The columns of a file.

    Attributes:
        file: name of the file.
        names: names of its columns.
        units: units by name of a column, where the file has them.
        load: gives numbers (N,) of columns by name, NaN where an entry is missing; raises
            `MeasurementError` where entries are no numbers.
        rows: gives the row of the file, counted from 1, of each of so many samples: the first row, or all
            rows where they do not follow one another.
        header: line of the names in a text file; 0 if there is none.
    """

    file: str
    names: tuple[str, ...]
    load: Callable[[Sequence[str]], dict[str, Array]]
    units: Mapping[str, str] = field(default_factory=dict)
    rows: Callable[[int], int | Array] = lambda _: 1
    header: int = 0


def unreadable(file: str | Path, message: str, hint: str) -> MeasurementError:
    """The error for a file from which nothing can be read."""
    return MeasurementError("no measurement:", [Problem(str(file), 0, 0, "", message, hint)])


def from_arrays(file: Path, arrays: Mapping[str, Array]) -> Recording:
    """The recording of named arrays: vectors are columns, matrices (N, k) columns NAME[0] ... NAME[k-1].

    Vectors as MATLAB keeps them, (N, 1) or (1, N), are columns. Other arrays are left out.
    """
    columns: dict[str, Array] = {}
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or not array.size:
            continue
        if array.ndim == 1 or 1 in array.shape:
            columns[name] = array.ravel()
        else:
            columns |= {f"{name}[{k}]": array[:, k] for k in range(array.shape[1])}
    return Recording(str(file), tuple(columns), lambda names: {n: as_floats(columns[n]) for n in names})


def as_floats(values: Array) -> Array:
    """Numbers as floats."""
    return np.asarray(values, dtype=float)
