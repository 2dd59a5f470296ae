"""Samples of several runs are numbered, those of one are over time."""

from __future__ import annotations

import numpy as np

from nacelle.report.results.identification import over_time


def test_time_or_numbers() -> None:
    assert over_time(np.array([0.0, 0.1, 0.3]))["across"] == "time (s)"
    assert over_time(np.array([0.0, 0.1, 0.0]))["across"] == "sample (-)"
    assert over_time(np.array([0.0, np.nan]))["across"] == "sample (-)"
