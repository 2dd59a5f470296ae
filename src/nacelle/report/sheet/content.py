"""What sections are made of: data with markup, and markup that several of them use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.table import Table

from nacelle.page.markup import details, element, escape_text
from nacelle.page.svg import Series, line_chart
from nacelle.report.results.panels import MAX_CURVES, Panel
from nacelle.report.table import Part, parts_html

# Rows beyond which a table is folded.
_MAX_ROWS = 12


@dataclass(frozen=True, eq=False)
class Content:
    """The result of a section.

    Attributes:
        data: plain data, ready for JSON; with numbers the "command" that prints them.
        markup: the same for the page.
    """

    data: dict[str, Any]
    markup: str


def command_line(command: str) -> str:
    """The command that gives the numbers next to it."""
    return element("p", element("code", escape_text(command)), kind="command")


def long_table(title: str, part: Part) -> str:
    """A table under a title; folded if it is long."""
    rows = part.row_count if isinstance(part, Table) else 0
    if rows <= _MAX_ROWS:
        return element("h3", escape_text(title)) + parts_html([part])
    return details(f"{title} ({rows} rows)", parts_html([part]))


def panel_chart(panel: Panel, title: str) -> str:
    """The curves of a panel as a chart of a page."""
    quantity = panel.quantity
    x, entries = quantity.along(), panel.largest(MAX_CURVES)
    series = [Series(quantity.names[k], x, quantity.values[:, k]) for k in entries]
    return line_chart(series, x=quantity.x_label, y=panel.label, title=title)
