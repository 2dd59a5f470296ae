"""Markup that the sections of a page share: commands to type, and bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nacelle.page import svg
from nacelle.page.markup import element, number, text

# Pixels of charts with a row a line: width, left and right margin, height of a row.
_WIDTH, _LEFT, _RIGHT, _ROW = 720.0, 190.0, 70.0, 26.0
_DENSE_ROW = 17.0  # of charts with many rows


def command_lines(commands: Iterable[str]) -> str:
    """Commands to type, a line each; nothing if there are none."""
    listed = [text(line) for line in commands]
    return element("pre", element("code", "\n".join(listed)), kind="typed") if listed else ""


@dataclass(frozen=True)
class ChartBar:
    """A bar of a chart: parts one after the other, each of a kind (a number of the style), and its label."""

    label: str
    parts: tuple[float, ...]


def bar_chart(bars: Sequence[ChartBar], names: Sequence[str], title: str) -> str:
    """Horizontal bars of parts from zero on, each with its sum behind it; parts differ in colour and outline.

    Args:
        bars: from the top down.
        names: of the parts, for the legend.
        title: caption of the figure.
    """
    most = max((sum(bar.parts) for bar in bars), default=0.0) or 1.0
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    drawn, left = [], _LEFT
    for k, name in enumerate(names):
        drawn += [svg.box(left, 4.0, left + 14.0, 16.0, f"part p{k}"), svg.words_at(left + 20.0, 14.0, name)]
        left += 42.0 + 6.4 * len(name)
    for row, bar in enumerate(bars):
        top = 28.0 + _ROW * row
        drawn.append(svg.words_at(_LEFT - 8.0, top + 14.0, bar.label, anchor="end"))
        start = _LEFT
        for k, part in enumerate(bar.parts):
            drawn.append(svg.box(start, top + 2.0, start + scale * part, top + _ROW - 6.0, f"part p{k}"))
            start += scale * part
        drawn.append(svg.words_at(start + 6.0, top + 14.0, number(sum(bar.parts), 6), kind="total"))
    chart = svg.drawing(_WIDTH, 34.0 + _ROW * len(bars), title, *drawn, kind="chart bars")
    return figure(chart, title)


def log_dots(rows: Sequence[tuple[str, Sequence[float]]], names: Sequence[str], *, x: str, title: str) -> str:
    """A row of dots a quantity over a logarithmic axis, a mark for each series.

    Args:
        rows: label and values of each row; values that are zero lie at the left end, NaN is not drawn.
        names: of the series, for the legend.
        x: label of the axis with its unit.
        title: caption of the figure.
    """
    values = [value for _, row in rows for value in row if value > 0.0]
    low = math.floor(math.log10(min(values, default=0.1)))
    high = max(math.ceil(math.log10(max(values, default=1.0))), low + 1)
    top, bottom = 28.0, 28.0 + _DENSE_ROW * len(rows)
    panel = svg.ChartPanel(
        _LEFT, top, _WIDTH - _LEFT - 30.0, bottom - top, (float(low), float(high)), (0.0, 1.0)
    )
    drawn, left = [], _LEFT
    for k, name in enumerate(names):
        drawn += [svg.marker(left + 7.0, 10.0, k), svg.words_at(left + 18.0, 14.0, name)]
        left += 46.0 + 6.4 * len(name)
    step = max(1, math.ceil((high - low) / 9))
    for power in range(low, high + 1, step):
        place = float(panel.across(float(power)))
        drawn.append(svg.line(place, top, place, bottom, "grid"))
        drawn.append(svg.words_at(place, bottom + 14.0, f"1e{power}" if power else "1", anchor="middle"))
    for row, (label, cells) in enumerate(rows):
        middle = top + _DENSE_ROW * (row + 0.5)
        drawn.append(svg.words_at(_LEFT - 10.0, middle + 4.0, label, anchor="end"))
        drawn.append(svg.line(_LEFT, middle, panel.left + panel.width, middle, "grid"))
        for k, value in enumerate(cells):
            if math.isnan(value):
                continue
            place = float(panel.across(math.log10(value) if value > 0.0 else float(low)))
            drawn.append(svg.marker(place, middle, k))
    drawn.append(svg.words_at(panel.left + 0.5 * panel.width, bottom + 30.0, x, anchor="middle"))
    chart = svg.drawing(_WIDTH, bottom + 38.0, title, *drawn, kind="chart")
    return figure(chart, title)


def figure(chart: str, title: str) -> str:
    """A drawing with its caption below; where it is wider than the screen it scrolls."""
    return element(
        "figure", element("div", chart, kind="wide"), element("figcaption", text(title), kind="quiet")
    )
