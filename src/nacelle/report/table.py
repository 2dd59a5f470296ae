"""Tables on a terminal, without lines."""

from __future__ import annotations

from rich.table import Table


def plain_table(*columns: str) -> Table:
    """An empty table; a column whose name ends with > is aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column.strip(">"), justify="right" if column.endswith(">") else "left")
    return table
