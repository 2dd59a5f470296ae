"""Singularities on a data sheet: the nearest of all slices is named."""

from __future__ import annotations

from nacelle.report.sheet.singular import NearestSingularities, Singular


def test_the_nearest_is_named_with_its_leg() -> None:
    def entry(measure: float, leg: str = "") -> dict[str, object]:
        return {"measure": measure, "at": [0.5], "leg": leg}

    one = NearestSingularities("c", ("x",), {"serial": entry(0.5, "left"), "parallel": entry(0.2)})
    two = NearestSingularities("c", ("x",), {"serial": entry(1e-9, "<right>"), "parallel": entry(0.3)})
    page = Singular((one, two), ("x",), "mechanism").markup()
    assert "a serial singularity is met: measure 1e-09 at x = 0.5, leg &lt;right&gt;" in page
    assert "it moves while the mechanism rests" in page
    assert "nothing was measured" in Singular((), ("x",), "nacelle").markup()
