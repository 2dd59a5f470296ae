"""The ending of a file says its format."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacelle.errors import MeasurementError
from nacelle.identification.data.formats.formats import open_recording


def test_endings_in_capitals(tmp_path: Path) -> None:
    (tmp_path / "run.CSV").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    with (tmp_path / "run.NPZ").open("wb") as stream:
        np.savez(stream, a=np.array([1.0, 3.0]))
    for name in ("run.CSV", "run.NPZ"):
        np.testing.assert_array_equal(open_recording(tmp_path / name).load(["a"])["a"], [1.0, 3.0])


def test_other_endings(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"'\.xlsx' is of no format"):
        open_recording(tmp_path / "run.xlsx")


@pytest.mark.parametrize(("ending", "package"), [(".parquet", "pyarrow"), (".mcap", "mcap")])
def test_missing_extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, package: str) -> None:
    found = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> object:
        if name.split(".", 1)[0] == package:
            raise ImportError(name)
        return found(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MeasurementError, match=r"nacelle\[logs\]"):
        open_recording(tmp_path / f"run{ending}")
