"""Tables and lines of results, made once: printed on a terminal, and as HTML in pages and notebooks.

What there is to say of a result is a list of parts, each a line of plain words, a text with colours, or a
table. Cells of tables are rich's texts, or words in its markup: names from descriptions are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from nacelle.page import markup

Part = str | Text | Table
"""A line of plain words, a text with colours, or a table."""

# Elements of HTML for styles of the terminal; other styles are left out.
_ELEMENTS = {"underline": "u", "red": "strong", "bold green": "strong", "dim": "em"}


class _ShrinkingTable(Table):
    """A table whose columns move together where the terminal is narrower than it, before cells are folded."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.__rich_measure__(console, options.update(max_width=10_000)).maximum > options.max_width:
            self.padding = (0, 1, 0, 0)
        yield from super().__rich_console__(console, options)


def plain_table(*columns: str, rows: Iterable[Iterable[str | Text]] = ()) -> Table:
    """A table without lines; a column whose name ends with > is aligned to the right."""
    table = _ShrinkingTable(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column.strip(">"), justify="right" if column.endswith(">") else "left")
    for row in rows:
        table.add_row(*row)
    return table


def table_html(table: Table, max_rows: int | None = None) -> str:
    """A table as HTML.

    Args:
        table: the table.
        max_rows: rows that are shown; of more it is said how many there are. All if None.
    """
    heads = [_cell(column.header) + ">" * (column.justify == "right") for column in table.columns]
    rows = [[_cell(cell) for cell in row] for row in zip(*(c.cells for c in table.columns), strict=True)]
    return markup.table(heads, first_rows(rows, max_rows))


def first_rows(rows: list[list[str]], max_rows: int | None) -> list[list[str]]:
    """The first `max_rows` rows, and a last one that says how many more there are; all if None."""
    if max_rows is None or len(rows) <= max_rows:
        return rows
    return [*rows[:max_rows], [f"… {len(rows) - max_rows} more", *[""] * (len(rows[0]) - 1)]]


def parts_html(parts: Iterable[Part], max_rows: int | None = None) -> str:
    """Parts one below the other as HTML; `max_rows` as in `table_html`."""
    return "".join(
        table_html(part, max_rows) if isinstance(part, Table) else markup.paragraph(str(part))
        for part in parts
    )


def _cell(cell: object) -> str:
    """A cell as HTML: what is underlined or in colour on a terminal is an element."""
    whole = cell if isinstance(cell, Text) else Text.from_markup(str(cell))
    runs = whole.divide(sorted({edge for span in whole.spans for edge in (span.start, span.end)}))
    elements = []
    for run in runs:
        tag = next((_ELEMENTS[str(span.style)] for span in run.spans if str(span.style) in _ELEMENTS), "")
        elements.append(
            markup.element(tag, markup.escape_text(run.plain)) if tag else markup.escape_text(run.plain)
        )
    return "".join(elements)
