"""NumPy's archives: arrays of numbers, no pickles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacelle.errors import MeasurementError
from nacelle.identification.data.formats.npz import open_npz


def test_arrays_are_columns(tmp_path: Path) -> None:
    q = np.arange(6).reshape(3, 2)
    np.savez(tmp_path / "run.npz", time=np.arange(3.0), q=q, cube=np.zeros((2, 2, 2)), word="text")
    read = open_npz(tmp_path / "run.npz")
    assert read.names == ("time", "q[0]", "q[1]")
    values = read.load(["q[1]"])["q[1]"]
    assert values.dtype == float
    np.testing.assert_array_equal(values, [1.0, 3.0, 5.0])


def test_pickles_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", time=np.array([{"a": 1}], dtype=object))
    with pytest.raises(MeasurementError, match="plain arrays"):
        open_npz(tmp_path / "run.npz")
