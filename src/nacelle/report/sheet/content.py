"""What sections are made of: data with markup, and markup that several of them use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from nacelle.page.markup import element, folded, table, text

# Rows beyond which a table is folded.
_LONG = 12


class Content(Protocol):
    """The result of a section: plain data, and how they look."""

    def data(self) -> dict[str, Any]:
        """Plain data, ready for JSON; beside numbers the "command" that prints them."""

    def markup(self) -> str:
        """The same for the page."""


def said_by(command: str) -> str:
    """The command that gives the numbers beside it."""
    return element("p", element("code", text(command)), kind="command")


def long_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are markup, under a title; folded if it is long."""
    listed = list(rows)
    shown = table(columns, listed)
    if len(listed) <= _LONG:
        return element("h3", text(title)) + shown
    return folded(f"{title} ({len(listed)} rows)", shown)


def figures(*entries: tuple[str, str]) -> str:
    """A few numbers in large type, each with what it is; plain words."""
    cells = [
        element("div", element("strong", text(value)), element("span", text(what))) for value, what in entries
    ]
    return element("div", *cells, kind="figures")


def short(value: float | None, digits: int = 4, unit: str = "") -> str:
    """A number in few digits with its unit, a dash where there is none; rounding to nothing is zero.

    Exponents are for what has more than seven digits: 12950 N, not 1.295e+04 N.
    """
    if value is None or not math.isfinite(value):
        return "–"
    shown = f"{0.0 if abs(value) < 1e-13 else value:.{digits}g}"
    if "e+" in shown and abs(value) < 1e7:
        shown = f"{float(shown):.0f}"
    return f"{shown} {unit}" if unit else shown


def span_words(pair: Sequence[float | None], angle: bool) -> str:
    """A range of a coordinate, degrees or millimetres; a dash where it has no end."""
    low, high = (None if v is None or not math.isfinite(v) else v for v in pair)
    if low is None and high is None:
        return "–"
    scale, unit = (180.0 / math.pi, "deg") if angle else (1e3, "mm")
    ends = ["…" if v is None else short(v * scale) for v in (low, high)]
    return f"{ends[0]} to {ends[1]} {unit}"
