"""What commands share: JSON without NaN, files that are never overwritten, errors in one form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nacelle.cli.common import check_new, print_error, print_json, write_new
from nacelle.errors import NacelleError


def test_json_has_null_where_there_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": np.array([1.0, np.nan]), "b": float("inf"), "c": [np.float64(2.0)], "d": {"e": True}})
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None], "b": None, "c": [2.0], "d": {"e": True}}


def test_new_files_only(tmp_path: Path) -> None:
    place = tmp_path / "table.csv"
    check_new(None)
    check_new(place)
    write_new(place, "1,2\n")
    assert place.read_text() == "1,2\n"
    with pytest.raises(NacelleError, match=r"table\.csv"):
        check_new(place)
    with pytest.raises(NacelleError):
        write_new(place, "other")
    assert place.read_text() == "1,2\n"
    with pytest.raises(NacelleError):
        check_new(tmp_path / "picture.txt", (".png", ".svg"))
    with pytest.raises(NacelleError):
        check_new(tmp_path / "nowhere" / "table.csv")


def test_errors_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(NacelleError("no such robot"), True)
    assert json.loads(capsys.readouterr().out) == {"ok": False, "error": "no such robot"}
