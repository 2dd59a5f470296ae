"""Operations beside the published ones."""

from __future__ import annotations

from support.demo_steps import counted


def test_words_and_bars() -> None:
    result = counted()
    assert "1074 operations, 54 % of the 1987 of [AGH2005] Table II" in result.claim
    assert result.lines()[1].startswith(" 1987 [AGH2005] Table II")
    chart, cells = result.content()
    assert ">1074<" in chart
    assert ">1987<" in chart
    # The stages of Table II add up.
    assert ">1897<" in cells
    assert ">90<" in cells
