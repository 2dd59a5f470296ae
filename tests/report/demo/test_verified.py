"""Agreement with engines in words."""

from __future__ import annotations

import dataclasses

from nacelle.report.demo.verified import Agreement
from support.demo_steps import verified


def test_words() -> None:
    result = verified()
    assert result.worst == 4e-14
    assert "the largest relative error is 4.0e-14" in result.claim
    lines = result.lines()
    assert lines[0].split() == ["relative", "error,", "20", "states", "pinocchio", "4.1.0", "mujoco", "4.0.0"]
    assert lines[-1].split() == ["largest", "of", "3", "quantities", "4.0e-14", "4.0e-14"]


def test_a_quantity_of_one_engine_alone() -> None:
    more = Agreement("mujoco", "4.0.0", {"own solver": 2e-13})
    result = dataclasses.replace(verified(), agreements=(verified().agreements[0], more))
    chart, cells = result.content()
    # Three quantities of one, one of the other: a mark each, and one each in the legend.
    assert chart.count("marker s0") == 4
    assert chart.count("marker s1") == 2
    assert "2.0e-13" in cells
    assert "nan" not in chart + cells
