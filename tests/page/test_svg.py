"""Axes and curves: round numbers, gaps, and many points in a pixel."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nacelle.page.svg import ChartPanel, span, ticks

FINITE = st.floats(-1e9, 1e9, allow_nan=False)


@given(FINITE, st.floats(1e-6, 1e9), st.integers(2, 12))
def test_ticks_are_round_and_within(low: float, width: float, most: int) -> None:
    high = low + width
    values = ticks(low, high, most)
    assert len(values) <= most + 1
    slack = 1e-6 * width + 1e-12 * abs(low)
    assert all(low - slack <= value <= high + slack for value in values)
    if len(values) > 1:
        step = values[1] - values[0]
        assert float(f"{step:.0e}"[0]) in (1.0, 2.0, 5.0) or width < 1e-9 * abs(low)


def test_ticks_of_nothing() -> None:
    assert ticks(1.0, 1.0) == [1.0]
    assert ticks(0.0, 1.0, 5) == [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]


@given(st.lists(st.one_of(FINITE, st.just(np.nan), st.just(np.inf)), max_size=8))
def test_span_holds_all_finite_values(values: list[float]) -> None:
    low, high = span(np.array(values))
    assert low < high
    assert all(low <= value <= high for value in values if np.isfinite(value))
    low, high = span(np.array(values), around=0.0)
    assert low == -high


def test_curves_have_gaps_and_dots() -> None:
    panel = ChartPanel(0.0, 0.0, 100.0, 100.0, (0.0, 10.0), (0.0, 1.0))
    time = np.arange(11.0)
    path = panel.curve(time, time / 10.0, [slice(0, 3), slice(5, 6), slice(8, 8)], "x")
    assert path.count("M") == 2
    assert path.count("L") == 2
    assert "h0" in path
    assert panel.curve(time, time, [], "x") == ""


def test_many_points_in_a_pixel_keep_their_extremes() -> None:
    panel = ChartPanel(0.0, 0.0, 100.0, 100.0, (0.0, 1.0), (-1.0, 1.0))
    time = np.linspace(0.0, 1.0, 20001)
    values = 0.5 * np.sin(300.0 * time)
    values[7777] = 0.9
    values[15000] = -0.9
    path = panel.curve(time, values, [slice(0, len(time))], "x")
    points = np.array([[float(n) for n in pair] for pair in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path)])
    assert len(points) <= 2 * 101
    assert np.min(points[:, 1]) == 5.0
    assert np.max(points[:, 1]) == 95.0
    assert np.all(np.diff(points[:, 0]) >= 0.0)
