"""Inline SVG: panels with axes, curves with gaps, bars, and maps of cells.

Colours are classes of the page's style. A map is a grid of cells in two coordinates, each of one kind, with
a legend and marks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nacelle.page.markup import element, escape_text, format_number
from nacelle.spatial.scalar import Array

# Points of a curve a pixel beyond which only the lowest and highest of a pixel are drawn.
_DENSE_POINTS = 2.0


def ticks(low: float, high: float, max_count: int = 6) -> list[float]:
    """Round numbers from `low` to `high`, at most about `max_count` of them."""
    raw = (high - low) / max(max_count, 1)
    if not (raw > 0.0 and math.isfinite(raw)):
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw * (1.0 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def span(*values: Array, around: float | None = None, room: float = 0.05) -> tuple[float, float]:
    """Lowest and highest of finite values with a little room; `around` makes it symmetric about a value."""
    joined = np.concatenate([np.zeros(0), *(np.ravel(np.asarray(part, dtype=float)) for part in values)])
    joined = joined[np.isfinite(joined)]
    low, high = (float(np.min(joined)), float(np.max(joined))) if joined.size else (0.0, 0.0)
    if around is not None:
        reach = max(abs(low - around), abs(high - around))
        low, high = around - reach, around + reach
    if high > low:
        return low - room * (high - low), high + room * (high - low)
    margin = 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def drawing(width: float, height: float, label: str, *content: str, kind: str = "") -> str:
    """A drawing of a size in pixels, which scales with the page; `label` says what it shows."""
    attributes = f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape_text(label)}"'
    class_text = f' class="{escape_text(kind)}"' if kind else ""
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}{class_text}>{"".join(content)}</svg>'


def text_at(x: float, y: float, text_shown: str, *, anchor: str = "start", kind: str = "") -> str:
    """Plain words at a place."""
    return element("text", escape_text(text_shown), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, kind=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return element("line", kind=kind, **{name: f"{value:.1f}" for name, value in ends.items()})


def box(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A rectangle by two corners."""
    sides = {"x": min(x1, x2), "y": min(y1, y2), "width": abs(x2 - x1), "height": abs(y2 - y1)}
    return element("rect", kind=kind, **{name: f"{value:.1f}" for name, value in sides.items()})


def disc(x: float, y: float, radius: float, kind: str) -> str:
    """A circle."""
    return element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:.1f}", kind=kind)


@dataclass(frozen=True)
class ChartPanel:
    """Axes on a drawing.

    Attributes:
        left: of the frame, pixels.
        top: of the frame, pixels.
        width: of the frame, pixels.
        height: of the frame, pixels.
        x: lowest and highest value of the horizontal axis.
        y: lowest and highest value of the vertical axis.
    """

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, x: Array | float) -> Array:
        """Pixels of values of the horizontal axis."""
        part = (np.asarray(x, dtype=float) - self.x[0]) / (self.x[1] - self.x[0])
        return np.asarray(self.left + self.width * part)

    def down(self, y: Array | float) -> Array:
        """Pixels of values of the vertical axis, at most a pixel outside the frame."""
        part = (np.asarray(y, dtype=float) - self.y[0]) / (self.y[1] - self.y[0])
        pixels = self.top + self.height * (1.0 - part)
        return np.asarray(np.clip(pixels, self.top - 1.0, self.top + self.height + 1.0))

    def axes(self, *, x_label: str = "", y_label: str = "", numbers: bool = True) -> str:
        """Grid, frame, numbers and labels; without `numbers` the horizontal axis has none."""
        right, bottom = self.left + self.width, self.top + self.height
        parts = []
        for value in ticks(*self.x, max_count=max(5, int(self.width / 90.0))):
            pixel = float(self.across(value))
            parts.append(line(pixel, self.top, pixel, bottom, "grid"))
            if numbers:
                parts.append(text_at(pixel, bottom + 14.0, format_number(value, 6), anchor="middle"))
        for value in ticks(*self.y, max_count=5):
            pixel = float(self.down(value))
            parts.append(line(self.left, pixel, right, pixel, "grid"))
            parts.append(text_at(self.left - 6.0, pixel + 4.0, format_number(value, 6), anchor="end"))
        parts.append(box(self.left, self.top, right, bottom, "frame"))
        if x_label:
            parts.append(text_at(self.left + 0.5 * self.width, bottom + 29.0, x_label, anchor="middle"))
        if y_label:
            parts.append(text_at(self.left, self.top - 6.0, y_label))
        return "".join(parts)

    def curve(self, x: Array, y: Array, runs: list[slice], kind: str) -> str:
        """A curve over runs of samples, with gaps between them; a run of one sample is a dot."""
        commands = []
        for run in runs:
            pixels = _thin_curve(self.across(x[run]), self.down(y[run]))
            points = [f"{a:.1f} {b:.1f}" for a, b in pixels]
            if points:
                commands.append("M" + "L".join(points) + ("h0" if len(points) == 1 else ""))
        return element("path", kind=f"curve {kind}", d="".join(commands)) if commands else ""


def _thin_curve(x: Array, y: Array) -> list[tuple[float, float]]:
    """Points of a curve, of many in a pixel only the lowest and the highest."""
    if len(x) < 2 or len(x) <= _DENSE_POINTS * max(x[-1] - x[0], 1.0):
        return list(zip(x.tolist(), y.tolist(), strict=True))
    starts = np.flatnonzero(np.diff(np.floor(x), prepend=-np.inf) > 0)
    points = []
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(x)], strict=True):
        ends = sorted({start + int(np.argmin(y[start:end])), start + int(np.argmax(y[start:end]))})
        points += [(float(x[k]), float(y[k])) for k in ends]
    return points


# ---------------------------------------------------------------------------- charts

# Okabe and Ito's colours, which the colour-blind tell apart; dashes (page/style.css) and markers differ too.
SERIES_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = (
    "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z",  # circle
    "M-3 -3h6v6h-6Z",  # square
    "M0 -4L3.6 3H-3.6Z",  # triangle
    "M0 -4L4 0L0 4L-4 0Z",  # diamond
    "M-3 -3L3 3M-3 3L3 -3",  # cross
    "M0 4L3.6 -3H-3.6Z",  # triangle upside down
    "M-4 0H4M0 -4V4",  # plus
)
_MARKERS_PER_CURVE = 9  # markers along a curve


@dataclass(frozen=True, eq=False)
class Series:
    """One curve of a chart.

    Attributes:
        name: for the legend, plain words.
        x: places along the horizontal axis (N,).
        y: values (N,); NaN where missing: the curve has a gap there.
    """

    name: str
    x: Array
    y: Array


def line_chart(
    series: Sequence[Series],
    *,
    x: str,
    y: str,
    title: str = "",
    width: float = 720.0,
    height: float = 260.0,
) -> str:
    """Curves over one axis as a figure, legible in black and white: colours, dashes and markers differ.

    Args:
        series: the curves; from the eighth on the styles repeat.
        x: label of the horizontal axis with its unit, "time (s)".
        y: label of the vertical axis with its unit, "force (N)".
        title: what the chart shows, for its caption and for those who do not see it.
        width: of the axes in pixels; the drawing scales with the page.
        height: of the axes in pixels.
    """
    legend, rows = _legend(series, width)
    panel = ChartPanel(
        64.0,
        24.0 + 18.0 * rows,
        width - 80.0,
        height,
        span(*(curve.x for curve in series), room=0.0),
        span(*(np.asarray(curve.y, dtype=float) for curve in series)),
    )
    parts = [legend, panel.axes(x_label=x, y_label=y)]
    for k, curve in enumerate(series):
        abscissae, values = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
        finite = true_runs(np.isfinite(abscissae) & np.isfinite(values))
        parts.append(panel.curve(abscissae, values, finite, _series_class(k)))
        for i in _marked_samples(finite, k):
            parts.append(marker(float(panel.across(abscissae[i])), float(panel.down(values[i])), k))
    label = title or f"{y} over {x}: {', '.join(curve.name for curve in series)}"
    chart = drawing(width, panel.top + height + 38.0, label, *parts, kind="chart")
    caption = element("figcaption", escape_text(title), kind="quiet") if title else ""
    return element("figure", element("div", chart, kind="wide"), caption)


def _series_class(k: int) -> str:
    return f"s{k % len(SERIES_COLOURS)}"


def marker(x: float, y: float, k: int) -> str:
    """The mark of series k at a place."""
    shape = _MARKERS[k % len(_MARKERS)]
    return element(
        "path", kind=f"marker {_series_class(k)}", d=shape, transform=f"translate({x:.1f} {y:.1f})"
    )


def _legend(series: Sequence[Series], width: float) -> tuple[str, int]:
    """Names with samples of their lines in rows, and the number of rows; nothing for one without a name."""
    labels = [(k, curve.name) for k, curve in enumerate(series) if curve.name]
    parts, left, row = [], 64.0, 0
    for k, name in labels:
        label = name if len(name) <= 60 else name[:57] + "..."
        room = 46.0 + 6.2 * len(label)
        if left > 64.0 and left + room > width:
            left, row = 64.0, row + 1
        at = 12.0 + 18.0 * row
        parts.append(element("path", kind=f"curve {_series_class(k)}", d=f"M{left:.0f} {at:.0f}h28"))
        parts.append(marker(left + 14.0, at, k))
        parts.append(text_at(left + 34.0, at + 4.0, label))
        left += room
    return "".join(parts), row + 1 if labels else 0


def true_runs(mask: Array) -> list[slice]:
    """Runs of chosen samples, one after another."""
    edges = np.flatnonzero(np.diff(np.pad(np.asarray(mask, dtype=int), 1)))
    return [slice(int(first), int(after)) for first, after in edges.reshape(-1, 2)]


def _marked_samples(runs: list[slice], k: int) -> list[int]:
    """Samples that have a marker: some along the curve, away from those of the other curves."""
    samples = [i for part in runs for i in range(part.start, part.stop)]
    step = max(1, len(samples) // _MARKERS_PER_CURVE)
    first = (k * step) // len(SERIES_COLOURS) % max(step, 1)
    return samples[first::step]


# ---- A map as inline SVG: a grid of cells in two coordinates, each of one kind, with a legend and marks


_WIDTH = 330.0  # of the axes, pixels
# Hatching for cells without a colour; the same on every map of a page.
_HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<rect width="6" height="6" fill="#fff"/><path d="M0 6L6 0" stroke="#8a929b"/></pattern>'
)


class CellKind(NamedTuple):
    """A kind of cell.

    Attributes:
        label: for the legend, plain words.
        colour: of its cells; empty for hatched ones.
    """

    label: str
    colour: str = ""

    @property
    def fill(self) -> str:
        """How its cells are filled."""
        return self.colour or "url(#hatch)"


class MapPoint(NamedTuple):
    """A point on a map: its place and what it is, plain words."""

    x: float
    y: float
    label: str


class MapAxis(NamedTuple):
    """An axis of a map: centres of the cells along it (N,), ascending, and its label with unit, "x (m)"."""

    centres: Array
    label: str

    @property
    def step(self) -> float:
        """Size of a cell along it."""
        return float(self.centres[-1] - self.centres[0]) / (len(self.centres) - 1)

    @property
    def span(self) -> tuple[float, float]:
        """Where the first cell begins and the last one ends."""
        return float(self.centres[0]) - 0.5 * self.step, float(self.centres[-1]) + 0.5 * self.step

    @property
    def unit(self) -> str:
        """The unit as it is written behind the label."""
        return self.label.rpartition("(")[2]


def map_chart(
    x: MapAxis,
    y: MapAxis,
    kind_of: Array,
    kinds: Sequence[CellKind],
    *,
    marks: Sequence[MapPoint] = (),
    title: str = "",
) -> str:
    """A map as a figure, legible in black and white.

    Args:
        x: the horizontal axis, with N cells.
        y: the vertical axis, with M cells.
        kind_of: place in `kinds` of every cell (N, M); negative for empty ones.
        kinds: the kinds of cells.
        marks: points to mark.
        title: what the map shows, for its caption and for those who do not see it.
    """
    (left, right), (bottom, top) = x.span, y.span
    ratio = (top - bottom) / (right - left)
    # One scale for both axes where their units are the same, unless the map would be a ribbon.
    height = _WIDTH * ratio if x.unit == y.unit and 0.4 < ratio < 1.4 else _WIDTH
    panel = ChartPanel(58.0, 24.0, _WIDTH, height, x.span, y.span)
    parts = [element("defs", _HATCH)]
    for k, kind in enumerate(kinds):
        cells = _cells(panel, kind_of == k, x, y)
        if cells:
            parts.append(element("path", d=cells, fill=kind.fill, shape_rendering="crispEdges"))
    parts.append(panel.axes(x_label=x.label, y_label=y.label))
    for mark in marks:
        parts.append(_cross(float(panel.across(mark.x)), float(panel.down(mark.y))))
    below = panel.top + height + 42.0
    legend, rows = _map_legend(kinds, marks, below)
    chart = drawing(panel.left + _WIDTH + 12.0, below + 18.0 * rows, title, *parts, legend, kind="map")
    caption = element("figcaption", escape_text(title), kind="quiet") if title else ""
    return element("figure", chart, caption)


def _cross(x: float, y: float) -> str:
    return element("path", kind="mark", d=f"M{x - 6.0:.1f} {y:.1f}h12M{x:.1f} {y - 6.0:.1f}v12")


def _cells(panel: ChartPanel, mask: Array, x: MapAxis, y: MapAxis) -> str:
    """Cells as one path, those side by side in a row together."""
    commands = []
    for j, centre in enumerate(y.centres):
        top, bottom = (float(panel.down(centre + part * y.step)) for part in (0.5, -0.5))
        for run in true_runs(mask[:, j]):
            left = float(panel.across(x.centres[run.start] - 0.5 * x.step))
            right = float(panel.across(x.centres[run.stop - 1] + 0.5 * x.step))
            commands.append(f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}Z")
    return "".join(commands)


def _map_legend(kinds: Sequence[CellKind], marks: Sequence[MapPoint], top: float) -> tuple[str, int]:
    """Samples of all kinds and marks with their labels in two columns; and the number of rows."""
    entries: list[CellKind | MapPoint] = [*kinds, *marks]
    parts, rows = [], (len(entries) + 1) // 2
    for k, entry in enumerate(entries):
        left, at = 58.0 + 170.0 * (k // rows), top + 18.0 * (k % rows)
        if isinstance(entry, CellKind):
            size = {"x": f"{left:.0f}", "y": f"{at - 1.0:.0f}", "width": "16", "height": "11"}
            parts.append(element("rect", fill=entry.fill, stroke="#aab2bb", **size))
        else:
            parts.append(_cross(left + 8.0, at + 5.0))
        parts.append(text_at(left + 22.0, at + 9.0, entry.label))
    return "".join(parts), rows
