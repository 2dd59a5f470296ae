"""Tables: columns, json text."""

from __future__ import annotations

import json

import numpy as np

from nacelle.tables.columns import ANGLE, LENGTH, TIME, Columns
from nacelle.tables.csv import read_table
from nacelle.tables.json_text import json_text

# ---- Columns in SI units, against conversions by hand; every mistake with its place

DIMENSIONS = {"t": (TIME,), "x": (LENGTH,), "a": (ANGLE,)}


def columns_of(text: str) -> Columns:
    columns = Columns(read_table(text), DIMENSIONS)
    for k, name in enumerate(columns.table.names):
        columns.take(name, k)
    return columns


def test_units() -> None:
    values = columns_of("t [ms],x [mm],a (deg)\n250,1.5,90\n-500,3000,-45\n").values()
    np.testing.assert_array_equal(values["t"], [0.25, -0.5])
    np.testing.assert_array_equal(values["x"], [0.0015, 3.0])
    np.testing.assert_allclose(values["a"], np.radians([90.0, -45.0]), rtol=1e-16)


def test_gaps_are_nan_where_they_may_be() -> None:
    text = "t,x\n0,\n1,inf\n"
    np.testing.assert_array_equal(columns_of(text).values(gaps=True)["x"], [np.nan, np.inf])
    columns = columns_of(text)
    columns.values()
    assert [(problem.line, problem.column) for problem in columns.problems] == [(2, 3), (3, 3)]


def test_what_is_no_number_is_null() -> None:
    """JSON has neither NaN nor infinity, also deep inside arrays and tuples."""
    data = {"a": np.array([1.0, np.nan]), "b": (np.inf, {"c": -np.inf}), "d": "nan"}
    assert json.loads(json_text(data)) == {"a": [1.0, None], "b": [None, {"c": None}], "d": "nan"}
