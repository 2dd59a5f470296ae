"""Printed and computed frequencies."""

from __future__ import annotations

import pytest

from support.demo_steps import flexible


def test_one_that_differs_is_not_counted() -> None:
    result = flexible()
    assert result.same == 29
    assert result.above == pytest.approx(1.0 / 0.9 - 1.0)
    chart, cells = result.content()
    # All printed numbers and one mark in the legend; all three rows of each position.
    assert chart.count("marker s1") == 31
    assert cells.count("<tr") == 1 + 3 * 5
    assert result.lines()[-1].startswith("29 of 30 frequencies at 5 positions")
