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
