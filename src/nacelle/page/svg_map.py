"""A map as inline SVG: a grid of cells in two coordinates, each of one kind, with a legend and marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nacelle.page.markup import element, text
from nacelle.page.svg import ChartPanel, drawing, words_at
from nacelle.spatial.scalar import Array

# Light to dark, so that the order remains in black and white (viridis, reversed).
SEQUENCE = ("#fde725", "#90d743", "#35b779", "#21918c", "#31688e", "#443983")
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


def map_chart(
    places: tuple[Array, Array],
    kind_of: Array,
    kinds: Sequence[CellKind],
    *,
    labels: tuple[str, str],
    marks: Sequence[MapPoint] = (),
    title: str = "",
) -> str:
    """A map as a figure, legible in black and white.

    Args:
        places: centres of the cells along the horizontal (N,) and the vertical axis (M,), ascending.
        kind_of: place in `kinds` of every cell (N, M); negative for empty ones.
        kinds: the kinds of cells.
        labels: of both axes, with units: "x (m)".
        marks: points to mark.
        title: what the map shows, for its caption and for those who do not see it.
    """
    steps = [float(v[-1] - v[0]) / (len(v) - 1) for v in places]
    spans = [(float(v[0]) - 0.5 * d, float(v[-1]) + 0.5 * d) for v, d in zip(places, steps, strict=True)]
    ratio = (spans[1][1] - spans[1][0]) / (spans[0][1] - spans[0][0])
    # One scale for both axes where their units are the same, unless the map would be a ribbon.
    same = labels[0].rpartition("(")[2] == labels[1].rpartition("(")[2]
    height = _WIDTH * ratio if same and 0.4 < ratio < 1.4 else _WIDTH
    panel = ChartPanel(58.0, 24.0, _WIDTH, height, spans[0], spans[1])
    parts = [element("defs", _HATCH)]
    for k, kind in enumerate(kinds):
        cells = _cells(panel, kind_of == k, places, steps)
        if cells:
            parts.append(element("path", d=cells, fill=kind.fill, shape_rendering="crispEdges"))
    parts.append(panel.axes(x_label=labels[0], y_label=labels[1]))
    for mark in marks:
        parts.append(_cross(float(panel.across(mark.x)), float(panel.down(mark.y))))
    below = panel.top + height + 42.0
    legend, rows = _legend(kinds, marks, below)
    chart = drawing(panel.left + _WIDTH + 12.0, below + 18.0 * rows, title, *parts, legend, kind="map")
    caption = element("figcaption", text(title), kind="quiet") if title else ""
    return element("figure", chart, caption)


def _cross(x: float, y: float) -> str:
    return element("path", kind="mark", d=f"M{x - 6.0:.1f} {y:.1f}h12M{x:.1f} {y - 6.0:.1f}v12")


def _cells(panel: ChartPanel, chosen: Array, places: tuple[Array, Array], steps: Sequence[float]) -> str:
    """Cells as one path, those side by side in a row together."""
    x, y = places
    commands = []
    for j in range(len(y)):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen[:, j], [False]]).astype(int)))
        top, bottom = (float(panel.down(y[j] + part * steps[1])) for part in (0.5, -0.5))
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            left = float(panel.across(x[first] - 0.5 * steps[0]))
            right = float(panel.across(x[last - 1] + 0.5 * steps[0]))
            commands.append(f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}Z")
    return "".join(commands)


def _legend(kinds: Sequence[CellKind], marks: Sequence[MapPoint], top: float) -> tuple[str, int]:
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
        parts.append(words_at(left + 22.0, at + 9.0, entry.label))
    return "".join(parts), rows
