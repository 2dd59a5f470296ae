"""The table of [BK2013] is symmetric, as the mechanism is."""

from __future__ import annotations

from nacelle.report.published_frequencies import PRRRP


def test_both_sides_are_alike() -> None:
    assert all(PRRRP[-slider] == row for slider, row in PRRRP.items())
    assert all(list(row) == sorted(row) and len(row) == 6 for row in PRRRP.values())
