"""Measurements: rows of the file, names of columns, and the rate of the samples."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.identification.data.measurement import Measurement, MeasurementSource
from support.library import library_robot


def test_rows_and_columns_of_the_file() -> None:
    source = MeasurementSource("run.csv", 2, {"q.left": "enc1"})
    assert source.row(0) == 2
    assert source.row(10) == 12
    assert source.column("q.left") == "enc1"
    assert source.column("time") == "time"
    assert MeasurementSource(rows=np.array([2, 3, 7])).row(2) == 7


def test_the_rate_is_that_of_most_steps() -> None:
    """A gap of half a second does not change it."""
    time = np.concatenate([0.002 * np.arange(50), 0.6 + 0.002 * np.arange(50)])
    zeros = np.zeros((100, 2))
    measured = Measurement(library_robot("fivebar"), time, zeros, zeros)
    assert len(measured) == 100
    assert measured.rate == pytest.approx(500.0)
