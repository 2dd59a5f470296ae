"""Which format a file of measured data has, by its ending."""

from __future__ import annotations

from pathlib import Path

from nacelle.identification.data.formats.csv import open_csv
from nacelle.identification.data.formats.mat import open_mat
from nacelle.identification.data.formats.mcap import open_mcap
from nacelle.identification.data.formats.npz import open_npz
from nacelle.identification.data.formats.parquet import open_parquet
from nacelle.identification.data.formats.recording import Recording, unreadable

_FORMATS = {
    ".csv": open_csv,
    ".txt": open_csv,
    ".tsv": open_csv,
    ".npz": open_npz,
    ".mat": open_mat,
    ".parquet": open_parquet,
    ".mcap": open_mcap,
}


def open_recording(path: Path) -> Recording:
    """Open a file of measured data.

    Raises:
        MeasurementError: if it cannot be read, or its ending is of no format that is read.
    """
    reader = _FORMATS.get(path.suffix.lower())
    if reader is None:
        hint = f"endings that are read: {' '.join(_FORMATS)}"
        raise unreadable(path, f"the ending {path.suffix!r} is of no format that is read", hint)
    return reader(path)
