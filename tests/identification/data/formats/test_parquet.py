"""Parquet files: numbers, units in names, gaps, and points in time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from nacelle.errors import MeasurementError
from nacelle.identification.data.formats.parquet import open_parquet


def test_numbers_gaps_and_times(tmp_path: Path) -> None:
    # Nanoseconds since 1970 that a float does not hold.
    stamps = np.array([10**18 + 1, 10**18 + 501, 10**18 + 1001], dtype="datetime64[ns]")
    table = pa.table(
        {"time": stamps, "q [deg]": [1, None, 3], "i": [0.5, 0.25, 0.125], "note": ["a", "b", "c"]}
    )
    parquet.write_table(table, tmp_path / "run.parquet")
    read = open_parquet(tmp_path / "run.parquet")
    assert read.names == ("time", "q", "i")
    assert dict(read.units) == {"q": "deg"}
    values = read.load(["time", "q"])
    np.testing.assert_allclose(values["time"], [0.0, 5e-7, 1e-6], rtol=1e-12)
    np.testing.assert_array_equal(values["q"], [1.0, np.nan, 3.0])


def test_what_is_no_parquet_file(tmp_path: Path) -> None:
    (tmp_path / "run.parquet").write_bytes(b"PAR1 but nothing else PAR1")
    with pytest.raises(MeasurementError):
        open_parquet(tmp_path / "run.parquet")
