"""Inline SVG: panels with axes, curves with gaps, bars. Colours are classes of the page's style."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nacelle.report.identification.markup import element, number, text
from nacelle.spatial.scalar import Array

# Points of a curve a pixel beyond which only the lowest and highest of a pixel are drawn.
_DENSE = 2.0


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from `low` to `high`, at most about `most` of them."""
    raw = (high - low) / max(most, 1)
    if not (raw > 0.0 and math.isfinite(raw)):
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw * (1.0 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def span(*values: Array, around: float | None = None) -> tuple[float, float]:
    """Lowest and highest of finite values with a little room; `around` makes it symmetric about a value."""
    joined = np.concatenate([np.ravel(part) for part in values]) if values else np.zeros(0)
    joined = joined[np.isfinite(joined)]
    low, high = (float(np.min(joined)), float(np.max(joined))) if joined.size else (0.0, 0.0)
    if around is not None:
        reach = max(abs(low - around), abs(high - around))
        low, high = around - reach, around + reach
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def drawing(width: float, height: float, label: str, *content: str, kind: str = "") -> str:
    """A drawing of a size in pixels, which scales with the page; `label` says what it shows."""
    attributes = f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{text(label)}"'
    shown = f' class="{text(kind)}"' if kind else ""
    return f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}{shown}>{"".join(content)}</svg>'


def write(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "") -> str:
    """Plain words at a place."""
    return element("text", text(words), x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, kind=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return element("line", kind=kind, **{name: f"{value:.1f}" for name, value in ends.items()})


def box(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A rectangle by two corners."""
    sides = {"x": min(x1, x2), "y": min(y1, y2), "width": abs(x2 - x1), "height": abs(y2 - y1)}
    return element("rect", kind=kind, **{name: f"{value:.1f}" for name, value in sides.items()})


def dot(x: float, y: float, radius: float, kind: str) -> str:
    """A circle."""
    return element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:.1f}", kind=kind)


@dataclass(frozen=True)
class Panel:
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
        place = self.top + self.height * (1.0 - part)
        return np.asarray(np.clip(place, self.top - 1.0, self.top + self.height + 1.0))

    def axes(self, *, x_label: str = "", y_label: str = "", y_ticks: int = 5, numbers: bool = True) -> str:
        """Grid, frame, numbers and labels; without `numbers` the horizontal axis has none."""
        right, bottom = self.left + self.width, self.top + self.height
        parts = []
        for value in ticks(*self.x, most=max(5, int(self.width / 90.0))):
            place = float(self.across(value))
            parts.append(line(place, self.top, place, bottom, "grid"))
            if numbers:
                parts.append(write(place, bottom + 14.0, number(value, 6), anchor="middle"))
        for value in ticks(*self.y, most=y_ticks):
            place = float(self.down(value))
            parts.append(line(self.left, place, right, place, "grid"))
            parts.append(write(self.left - 6.0, place + 4.0, number(value, 6), anchor="end"))
        parts.append(box(self.left, self.top, right, bottom, "frame"))
        if x_label:
            parts.append(write(self.left + 0.5 * self.width, bottom + 29.0, x_label, anchor="middle"))
        if y_label:
            parts.append(write(self.left, self.top - 6.0, y_label))
        return "".join(parts)

    def curve(self, x: Array, y: Array, runs: list[slice], kind: str) -> str:
        """A curve over runs of samples, with gaps between them; a run of one sample is a dot."""
        commands = []
        for run in runs:
            places = _thinned(self.across(x[run]), self.down(y[run]))
            points = [f"{a:.1f} {b:.1f}" for a, b in places]
            if points:
                commands.append("M" + "L".join(points) + ("h0" if len(points) == 1 else ""))
        return element("path", kind=f"curve {kind}", d="".join(commands)) if commands else ""


def _thinned(x: Array, y: Array) -> list[tuple[float, float]]:
    """Points of a curve, of many in a pixel only the lowest and the highest."""
    if len(x) < 2 or len(x) <= _DENSE * max(x[-1] - x[0], 1.0):
        return list(zip(x.tolist(), y.tolist(), strict=True))
    starts = np.flatnonzero(np.diff(np.floor(x), prepend=-np.inf) > 0)
    points = []
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(x)], strict=True):
        ends = sorted({start + int(np.argmin(y[start:end])), start + int(np.argmax(y[start:end]))})
        points += [(float(x[k]), float(y[k])) for k in ends]
    return points
