"""Time that goes back or stands, gaps, jitter: found with the row; rounded times are no fault."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.identification.data.checks.findings import Finding
from nacelle.identification.data.checks.timing import check_timing
from nacelle.identification.data.measurement import Measurement, MeasurementSource
from support.library import library_robot

N = 400
TIME = 0.002 * np.arange(N)


def found(time: np.ndarray) -> list[Finding]:
    zeros = np.zeros((len(time), 2))
    return check_timing(
        Measurement(library_robot("fivebar"), time, zeros, zeros, source=MeasurementSource("run.csv", 2))
    )


def test_clean() -> None:
    assert found(TIME) == []
    assert found(TIME + 1.7e9) == []


@pytest.mark.parametrize(("rate", "digits"), [(3000.0, 4), (1500.0, 3), (333.0, 3)])
def test_times_with_few_digits(rate: float, digits: int) -> None:
    assert found(np.round(np.arange(N) / rate, digits)) == [] or rate * 10.0**-digits >= 1.0


def test_time_goes_back() -> None:
    time = TIME.copy()
    time[200:] -= 0.1
    findings = found(time)
    assert [(f.kind, f.row, f.count) for f in findings] == [("time", 202, 1)]
    assert "goes back" in findings[0].message


def test_time_stands() -> None:
    time = TIME.copy()
    time[50] = time[49]
    kinds = {(f.kind, f.row) for f in found(time) if "stands" in f.message}
    assert kinds == {("time", 52)}


def test_gaps() -> None:
    time = np.delete(TIME, np.r_[30:40, 300])
    (gap,) = found(time)
    assert (gap.kind, gap.row, gap.count) == ("gap", 32, 2)
    assert "about 11 samples" in gap.message


@pytest.mark.parametrize("part", [0.1, 0.3])
def test_jitter(part: float) -> None:
    rng = np.random.default_rng(0)
    time = TIME + 0.002 * part * rng.uniform(-0.5, 0.5, N)
    (uneven,) = found(time)
    assert uneven.kind == "sampling"
    assert uneven.row >= 3


def test_one_late_sample() -> None:
    time = TIME.copy()
    time[77:] += 0.0005
    (uneven,) = found(time)
    assert (uneven.kind, uneven.row, uneven.count) == ("sampling", 79, 1)


def test_missing_times_are_no_gaps() -> None:
    time = TIME.copy()
    time[5:8] = np.nan
    assert found(time) == []


def test_few_samples() -> None:
    assert found(TIME[:2]) == []
