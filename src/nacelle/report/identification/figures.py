"""Figures of a page: forces over time, what is left of them, its memory and spread, intervals."""

from __future__ import annotations

import itertools
import math

import numpy as np

from nacelle.identification.estimation.regression import Regression
from nacelle.identification.validation import Validation
from nacelle.page import svg
from nacelle.page.markup import number
from nacelle.spatial.scalar import Array

# Pixels of the figures over time: of the whole and of margins.
_WIDTH, _LEFT, _RIGHT = 980.0, 64.0, 12.0
# Lags that are shown at most, and that take part in a test of so many samples at least.
_LAGS, _FEWEST = 40, 4
# 95 % of normal noise lie within so many deviations.
_NORMAL = 1.96
# Intervals are drawn over asinh(change / 1 %), up to so much of the parameter's size.
_LINEAR, _REACH = 0.01, 3.0
_BAR = (250.0, 22.0)


def runs_of(data: Regression) -> list[slice]:
    """Runs of samples that count, one after another within a part."""
    runs = []
    for part in data.parts():
        edges = np.flatnonzero(np.diff(data.used[part].astype(int), prepend=0, append=0)) + part.start
        runs += [slice(int(a), int(b)) for a, b in edges.reshape(-1, 2)]
    return runs


def shown_time(data: Regression) -> tuple[Array, list[float], str]:
    """Time to draw over (M,), where one part ends and the next begins, and the label of the axis.

    Parts that follow one another keep their time; runs whose times overlap are put one after another.
    """
    parts = [part for part in data.parts() if part.stop > part.start]
    time = np.array(data.time, dtype=float)
    pairs = list(itertools.pairwise(parts))
    if all(time[b.start] > time[a.stop - 1] for a, b in pairs):
        return time, [0.5 * (time[b.start] + time[a.stop - 1]) for a, b in pairs], "time (s)"
    total = sum(float(np.ptp(time[part])) for part in parts)
    end, breaks = 0.0, []
    for k, part in enumerate(parts):
        if k:
            breaks.append(end + 0.01 * total)
            end += 0.02 * total
        time[part] += end - time[part.start]
        end = float(time[part.stop - 1])
    return time, breaks, "time, runs one after another (s)"


def force_figure(validation: Validation, row: int, unit: str) -> str:
    """Measured and predicted force of a row over time, and below what is left, with the band of noise."""
    data = validation.regression
    time, breaks, label = shown_time(data)
    runs, used = runs_of(data), data.used
    measured, predicted = validation.measured[:, row], validation.predicted[:, row]
    left = validation.residuals[:, row]
    floor = float(validation.floor[row])
    limits = (float(time[0]), float(time[-1])) if time[-1] > time[0] else svg.span(time)
    width = _WIDTH - _LEFT - _RIGHT
    above = svg.ChartPanel(_LEFT, 20.0, width, 190.0, limits, svg.span(measured[used], predicted[used]))
    reach = [left[used], np.array([2.0 * floor if math.isfinite(floor) else 0.0])]
    below = svg.ChartPanel(_LEFT, 240.0, width, 90.0, limits, svg.span(*reach, around=0.0))
    back = [_unused(panel, data, time) for panel in (above, below)]
    if math.isfinite(floor):
        edges = (float(below.down(2.0 * floor)), float(below.down(-2.0 * floor)))
        back.append(svg.box(below.left, edges[0], below.left + width, edges[1], "noise"))
    marks = [
        svg.line(
            float(panel.across(at)), panel.top, float(panel.across(at)), panel.top + panel.height, "break"
        )
        for at in breaks
        for panel in (above, below)
    ]
    zero = float(below.down(0.0))
    return svg.drawing(
        _WIDTH,
        365.0,
        f"{validation.rows[row]}: measured and predicted force over time, and the residual",
        *back,
        above.axes(y_label=f"force ({unit})", numbers=False),
        below.axes(x_label=label, y_label=f"residual ({unit})"),
        *marks,
        svg.line(below.left, zero, below.left + width, zero, "zero"),
        above.curve(time, measured, runs, "measured"),
        above.curve(time, predicted, runs, "predicted"),
        below.curve(time, left, runs, "residual"),
        _legend(_WIDTH - _RIGHT, 14.0),
    )


def _legend(right: float, y: float) -> str:
    parts = []
    for words, kind, back in (("predicted", "predicted", 62.0), ("measured", "measured", 160.0)):
        parts.append(svg.line(right - back - 28.0, y - 4.0, right - back - 6.0, y - 4.0, f"curve {kind}"))
        parts.append(svg.words_at(right - back, y, words))
    return "".join(parts)


def _unused(panel: svg.ChartPanel, data: Regression, time: Array) -> str:
    """Grey where samples do not count, within each part."""
    boxes = []
    for part in data.parts():
        edges = np.flatnonzero(np.diff((~data.used[part]).astype(int), prepend=0, append=0)) + part.start
        for a, b in edges.reshape(-1, 2):
            # From the sample before to the sample after.
            first, last = max(int(a) - 1, part.start), min(int(b), part.stop - 1)
            ends = [float(panel.across(time[k])) for k in (first, last)]
            boxes.append(svg.box(ends[0], panel.top, ends[1], panel.top + panel.height, "unused"))
    return "".join(boxes)


def memory_figure(validation: Validation, row: int) -> str:
    """Autocorrelation of the residuals of a row, with the bounds that white ones keep 95 times of 100."""
    count = validation.regression.count
    longest = max((part.stop - part.start for part in validation.regression.parts()), default=0)
    lags = max(1, min(_LAGS, count // _FEWEST, longest - 1))
    values = validation.autocorrelation(lags)[:, row]
    bound = _NORMAL / math.sqrt(max(count, 1))
    panel = svg.ChartPanel(
        44.0, 22.0, 410.0, 150.0, (0.0, lags + 1.0), svg.span(values, np.array([bound]), around=0.0)
    )
    edges = [float(panel.down(sign * bound)) for sign in (1.0, -1.0)]
    zero = float(panel.down(0.0))
    stems = [
        svg.line(float(panel.across(lag)), zero, float(panel.across(lag)), float(panel.down(value)), "stem")
        for lag, value in enumerate(values.tolist(), start=1)
    ]
    return svg.drawing(
        470.0,
        206.0,
        f"{validation.rows[row]}: autocorrelation of the residuals over lags",
        panel.axes(x_label="lag (samples)", y_label="autocorrelation of the residuals"),
        *(svg.line(panel.left, edge, panel.left + panel.width, edge, "bound") for edge in edges),
        svg.line(panel.left, zero, panel.left + panel.width, zero, "zero"),
        *stems,
    )


def spread_figure(validation: Validation, row: int, unit: str) -> str:
    """Histogram of the residuals of a row, and normal noise of the same deviation."""
    values = validation.residuals[validation.regression.used, row]
    deviation = float(np.std(values))
    if not deviation > 0.0:
        return ""
    reach = max(4.0 * deviation, float(np.max(np.abs(values))))
    bins = int(min(41, max(9, 2 * round(len(values) ** (1.0 / 3.0)) + 1)))
    counts, edges = np.histogram(values, bins=bins, range=(-reach, reach))
    at = np.linspace(-reach, reach, 121)
    normal = np.exp(-0.5 * ((at - np.mean(values)) / deviation) ** 2) / (deviation * math.sqrt(2.0 * math.pi))
    normal *= len(values) * (edges[1] - edges[0])
    high = 1.08 * max(float(np.max(counts)), float(np.max(normal)))
    panel = svg.ChartPanel(44.0, 22.0, 410.0, 150.0, (-reach, reach), (0.0, high))
    places = panel.across(edges).tolist()
    columns = [
        svg.box(left, panel.top + panel.height, right - 1.0, float(panel.down(value)), "column")
        for left, right, value in zip(places[:-1], places[1:], counts.tolist(), strict=True)
        if value
    ]
    return svg.drawing(
        470.0,
        206.0,
        f"{validation.rows[row]}: histogram of the residuals, and normal noise",
        panel.axes(x_label=f"residual ({unit})", y_label="samples, and normal noise"),
        *columns,
        panel.curve(at, normal, [slice(0, len(at))], "normal"),
    )


def bar_scale() -> str:
    """The scale above the bars of a table."""
    parts = []
    for change in (-1.0, -0.1, 0.0, 0.1, 1.0):
        words = number(100.0 * change) + (" %" if change == 1.0 else "")
        parts.append(svg.words_at(_place(change), 16.0, words, anchor="middle", kind="tiny"))
    return svg.drawing(*_BAR, "scale: change from the description in percent", *parts, kind="small")


def interval_bar(described: float, estimate: float, interval: tuple[float, float], kind: str) -> str:
    """The 95 % interval of an estimate beside the described value, in parts of the parameter's size."""
    size = max(abs(described), abs(estimate)) or 1.0
    low, middle, high = ((value - described) / size for value in (interval[0], estimate, interval[1]))
    parts = [
        svg.line(_place(change), 2.0, _place(change), 20.0, "grid")
        for change in (-1.0, -0.1, -0.01, 0.01, 0.1, 1.0)
    ]
    if math.isfinite(low) and math.isfinite(high):
        ends = [_place(low), _place(high)]
        # Narrow ones stay visible.
        if ends[1] - ends[0] < 2.0:
            ends = [0.5 * sum(ends) - 1.0, 0.5 * sum(ends) + 1.0]
        parts.append(svg.box(ends[0], 7.0, ends[1], 15.0, f"interval {kind}".strip()))
        parts += [_arrow(sign) for sign, end in ((-1.0, low), (1.0, high)) if sign * end > _REACH]
    parts.append(svg.line(_place(0.0), 2.0, _place(0.0), 20.0, "described"))
    if math.isfinite(middle):
        parts.append(svg.disc(_place(middle), 11.0, 3.2, "estimate"))
    return svg.drawing(*_BAR, "95 % interval beside the described value", *parts, kind="small")


def _place(change: float) -> float:
    """Pixels across a bar of a change, in parts of the parameter's size."""
    part = math.asinh(max(-_REACH, min(_REACH, change)) / _LINEAR) / math.asinh(_REACH / _LINEAR)
    return 0.5 * _BAR[0] + (0.5 * _BAR[0] - 8.0) * part


def _arrow(sign: float) -> str:
    """A head at an end of a bar: the interval goes on."""
    tip, foot = 0.5 * _BAR[0] * (1.0 + sign), 0.5 * _BAR[0] + sign * (0.5 * _BAR[0] - 8.0)
    return f'<path class="interval poor" d="M{foot:.1f} 5L{tip:.1f} 11L{foot:.1f} 17z"></path>'
