"""Named arrays as columns: vectors, matrices, and what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nacelle.identification.data.formats.recording import from_arrays, unreadable


def test_columns_of_arrays() -> None:
    row, matrix = np.array([[1.0, 2.0, 3.0]]), np.arange(6.0).reshape(3, 2)
    arrays = {"row": row, "column": row.T, "matrix": matrix, "flag": np.array([True, False, True])}
    arrays |= {"text": np.array(["a"]), "cube": np.zeros((2, 2, 2)), "empty": np.zeros(0)}
    read = from_arrays(Path("run.npz"), arrays)
    assert read.names == ("row", "column", "matrix[0]", "matrix[1]", "flag")
    values = read.load(read.names)
    for name in ("row", "column"):
        np.testing.assert_array_equal(values[name], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(values["matrix[1]"], matrix[:, 1])
    np.testing.assert_array_equal(values["flag"], [1.0, 0.0, 1.0])
    assert read.rows(3) == 1
    assert read.header == 0


def test_an_unreadable_file_is_named() -> None:
    error = unreadable("run.csv", "it is empty", "record it again")
    assert "run.csv" in str(error)
    assert "it is empty" in str(error)
    assert error.problems[0].hint == "record it again"
