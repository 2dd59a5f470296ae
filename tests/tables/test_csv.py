"""Tables and JSON: numbers come back bit by bit, fast and slow ways agree, mistakes have their places."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacelle.errors import TableError
from nacelle.tables.csv import ANGLE, LENGTH, TIME, Columns, Table, read_table, table_text
from nacelle.tables.json_text import json_text

ANY = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(ANY, ANY, st.integers(0, 63)), max_size=40))
def test_numbers_are_read_back_as_the_same_floats(rows: list[tuple[float, float, int]]) -> None:
    columns = [np.array([row[k] for row in rows], dtype=float if k < 2 else np.int64) for k in range(3)]
    table = read_table("".join(table_text(["a", "b", "flags"], ["m", "", ""], columns)))
    assert (table.names, table.units) == (("a", "b", "flags"), ("m", "", ""))
    found = table.entries([0, 1, 2])
    assert not found.wrong
    assert not found.ragged_rows
    for k, column in enumerate(columns):
        same = np.where(np.isnan(column), np.isnan(found.values[:, k]), found.values[:, k] == column)
        assert same.all()
        assert (np.signbit(found.values[:, k]) == np.signbit(column))[~np.isnan(column)].all()


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_blocks_with_and_without_odd_entries(separator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that compiled code reads and blocks that are read one by one hold the same numbers."""
    values = np.random.default_rng(2).normal(size=(100, 3)) * 10.0 ** np.arange(-3, 0)
    lines = [separator.join(map(repr, row)) for row in values.tolist()]
    text = separator.join("abc") + "\n" + "\n".join(lines)
    assert np.array_equal(read_table(text).entries([0, 1, 2]).values, values)
    monkeypatch.setattr("nacelle.tables.csv._BLOCK", 9)
    assert np.array_equal(read_table(text).entries([2, 0]).values, values[:, [2, 0]])
    monkeypatch.setattr(Table, "_read_numeric_block", lambda *_: None)
    assert np.array_equal(read_table(text).entries([0, 1, 2]).values, values)


def test_columns_that_are_not_read_may_hold_anything() -> None:
    table = read_table('name,x,y\n"first, or so",1,2\nb,3,4\n')
    assert table.entries([1]).ragged_rows == [0]
    table = read_table("name,x,y\nfirst,1,2\nb,3,4\n")
    assert table.entries([2, 1]).values.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert table.entries([0]).wrong == [(0, 0), (1, 0)]


def test_forms_of_numbers() -> None:
    """What is read does not depend on which way a block takes."""
    texts = ["1", "+1.", ".5", "-1e-3", ' "2" ', "pi/2", "NaN", "-inf", "Infinity", "", '""', "1e400"]
    expected = [1, 1, 0.5, -1e-3, 2, np.pi / 2, np.nan, -np.inf, np.inf, np.nan, np.nan, np.inf]
    together = read_table("a,b\n" + "\n".join(f"{text},0" for text in texts)).entries([0]).values[:, 0]
    alone = [read_table(f"a,b\n{text},0\n").entries([0]).values[0, 0] for text in texts]
    np.testing.assert_array_equal(together, expected)
    np.testing.assert_array_equal(alone, expected)
    for text in ("1_000", "0x10", "1d3", "one", "1 2", "--1"):
        for rows in (f"{text},0\n", f"{text},0\n,0\n"):
            assert read_table("a,b\n" + rows).entries([0]).wrong == [(0, 0)], text


def test_places_count_comments_and_empty_lines() -> None:
    table = read_table("# said\n\nx, y\n1, 2\n# more\n\n 3, 4\n")
    assert table.header.line == 3
    assert [table.row(k).line for k in range(len(table))] == [4, 7]
    assert [cell.column for cell in table.row(1).cells] == [2, 5]


def test_all_mistakes_are_counted_and_the_first_listed() -> None:
    columns = Columns(read_table("t [s],x\n" + "0,1\n" * 5 + "0,?\n" * 900 + "0\n" * 100), {"t": (TIME,)})
    columns.take("t", 0)
    columns.take("x", 1)
    columns.values(gaps=True)
    with pytest.raises(TableError, match=r"^1000 problems in the forces, the first 20:") as caught:
        columns.stop("forces")
    assert [problem.line for problem in caught.value.problems] == list(range(7, 27))


def test_units_cost_one_rounding() -> None:
    columns = Columns(read_table("x [mm],y [km],z\n100,0.3,7\n0.25,,1\n"), {})
    for k, name in enumerate("xyz"):
        columns.take(name, k)
    found = columns.values(gaps=True)
    assert found["x"].tolist() == [0.1, 0.25 / 1000]
    assert found["y"][0] == 0.3 * 1000
    assert np.isnan(found["y"][1])
    strict = Columns(read_table("x [mm]\n1\nnan\n"), {"x": (LENGTH,)})
    strict.take("x", 0)
    strict.values()
    with pytest.raises(TableError, match="'nan' is not a finite number"):
        strict.stop("table")


def test_progress_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nacelle.tables.csv._BLOCK", 10)
    parts: list[float] = []
    table = read_table("a\n" + "1\n" * 35)
    table.entries([0], parts.append)
    assert parts == pytest.approx([10 / 35, 20 / 35, 30 / 35, 1.0])
    parts.clear()
    list(table_text(["a"], [""], [np.zeros(25)], parts.append))
    assert parts == pytest.approx([0.4, 0.8, 1.0])


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
