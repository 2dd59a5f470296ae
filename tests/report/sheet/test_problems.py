"""Warnings on a data sheet."""

from __future__ import annotations

from nacelle.report.sheet.problems import Problems


def test_warnings_beyond_the_first_are_counted() -> None:
    warning = {"path": "legs", "message": "<too> heavy", "hint": "weigh it"}
    page = Problems("nacelle check a", 3, [warning]).markup()
    assert "&lt;too&gt; heavy" in page
    assert "2 more are not listed." in page
    assert "warns of nothing" in Problems("nacelle check a", 0, []).markup()
