"""Tables on a terminal: columns aligned as their names say."""

from __future__ import annotations

from rich.console import Console

from nacelle.report.table import plain_table


def test_numbers_are_aligned_to_the_right() -> None:
    table = plain_table("name", "mass>")
    table.add_row("rod", "1.5")
    table.add_row("platform", "12.25")
    console = Console(width=60)
    with console.capture() as caught:
        console.print(table)
    rows = [line.rstrip() for line in caught.get().splitlines() if "rod" in line or "platform" in line]
    assert ">" not in caught.get()
    assert len(rows[0]) == len(rows[1])
    assert rows[0].index("rod") == rows[1].index("platform")


def test_columns_move_together_where_there_is_little_room() -> None:
    """On a terminal as wide as cells with one blank between them no cell is folded."""
    cells = [f"{k}.25 N m" for k in range(9)]
    shown = {}
    for width in (120, 9 * len(cells[0]) + 8):
        table = plain_table(*(f"c{k}>" for k in range(9)))
        table.add_row(*cells)
        console = Console(width=width)
        with console.capture() as caught:
            console.print(table)
        shown[width] = [line.rstrip() for line in caught.get().splitlines()]
    wide, narrow = shown.values()
    assert wide[1] == "  ".join(cells)
    assert narrow[1] == " ".join(cells)
    assert len(wide) == len(narrow) == 2
