"""CSV files: units stay beside the columns, gaps are NaN, rows keep the numbers of their lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacelle.errors import MeasurementError
from nacelle.identification.data.formats.csv import open_csv


def written(folder: Path, text: str) -> Path:
    (folder / "run.csv").write_text(text, encoding="utf-8")
    return folder / "run.csv"


def test_columns_units_and_rows(tmp_path: Path) -> None:
    text = "t [ms],q,i [A]\n0,1,2\n1,,3\n# moved\n2,5,inf\n"
    read = open_csv(written(tmp_path, text))
    assert read.names == ("t", "q", "i")
    assert dict(read.units) == {"t": "ms", "i": "A"}
    values = read.load(["q", "i"])
    assert set(values) == {"q", "i"}
    np.testing.assert_array_equal(values["q"], [1.0, np.nan, 5.0])
    # What is no finite number is missing.
    np.testing.assert_array_equal(values["i"], [2.0, 3.0, np.nan])
    np.testing.assert_array_equal(read.rows(3), [2, 3, 5])
    assert read.rows(2) == 2
    assert read.header == 1


def test_texts_name_their_line(tmp_path: Path) -> None:
    read = open_csv(written(tmp_path, "t,q\n0,1\n1,overrun\n"))
    np.testing.assert_array_equal(read.load(["t"])["t"], [0.0, 1.0])
    with pytest.raises(MeasurementError, match="'overrun'") as caught:
        read.load(["q"])
    assert caught.value.problems[0].line == 3
