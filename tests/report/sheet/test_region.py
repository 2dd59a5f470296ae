"""Maps of slices: cells are coloured where the nacelle can be."""

from __future__ import annotations

import nacelle
from nacelle.report.sheet.region import slice_map


def test_hatched_where_limits_are_exceeded_empty_out_of_reach() -> None:
    grid = nacelle.workspace(nacelle.load("fivebar"), {"x": (-0.5, 0.5, 21), "y": (-0.5, 0.5, 21)})
    page = slice_map(grid)
    assert 'fill="url(#hatch)" shape-rendering' in page
    assert "reached beyond limits" in page
    high = nacelle.workspace(nacelle.load("fivebar"), {"x": (-0.05, 0.05, 5), "y": (0.3, 0.35, 5)})
    assert "reached beyond limits" not in slice_map(high)
    assert page.count("<path d=") > slice_map(high).count("<path d=")
