"""Tables on a terminal, without lines."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table


class _Fitting(Table):
    """A table whose columns move together where the terminal is narrower than it, before cells are folded."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if self.__rich_measure__(console, options.update(max_width=10_000)).maximum > options.max_width:
            self.padding = (0, 1, 0, 0)
        yield from super().__rich_console__(console, options)


def plain_table(*columns: str) -> Table:
    """An empty table; a column whose name ends with > is aligned to the right."""
    table = _Fitting(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column.strip(">"), justify="right" if column.endswith(">") else "left")
    return table
