"""Operation counts on a data sheet, beside published ones."""

from __future__ import annotations

import nacelle
from nacelle.report.sheet.counts import operations_table


def test_published_counts_are_beside_ours() -> None:
    count = nacelle.operation_count(nacelle.load("3rrr"), "jacobian")
    page = operations_table((("nacelle ops 3rrr jacobian", count),))
    assert f"<strong>{count.total}</strong>" in page
    assert "93: HybrDyn" in page
