"""Bars and dots are where their numbers are."""

from __future__ import annotations

import math
import re

import numpy as np

from nacelle.report.demo.parts import ChartBar, bar_chart, command_lines, log_dots


def test_bars_are_as_long_as_their_parts() -> None:
    chart = bar_chart([ChartBar("a<b", (30.0, 10.0)), ChartBar("c", (20.0, 0.0))], ["x", "y"], "title")
    wide = [
        float(w)
        for w in re.findall(r'width="([\d.]+)"[^>]*class="part|class="part p\d"[^>]*width="([\d.]+)"', chart)
        for w in w
        if w
    ]
    # Two squares of the legend, then the parts.
    np.testing.assert_allclose(np.array(wide[2:]) / wide[2], [1.0, 1 / 3, 2 / 3, 0.0], atol=1e-3)
    assert "a&lt;b" in chart


def test_dots_lie_on_a_logarithmic_axis() -> None:
    chart = log_dots([("q", [1e-15, 1e-13]), ("r", [0.0, math.nan])], ["one", "two"], x="error", title="t")
    places = [float(x) for x in re.findall(r'marker s\d"[^>]*translate\(([\d.]+) ', chart)]
    ticks = [float(x) for x in re.findall(r'x="([\d.]+)" y="[\d.]+" text-anchor="middle">1e', chart)]
    assert len(places) == 2 + 3
    np.testing.assert_allclose(places[2:], [ticks[0], ticks[-1], ticks[0]], atol=0.11)


def test_commands_are_escaped() -> None:
    assert command_lines(["nacelle ops 'a<b>'"]).count("&lt;") == 1
    assert command_lines([]) == ""
