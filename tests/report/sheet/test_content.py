"""Numbers and tables of data sheets."""

from __future__ import annotations

import math

from nacelle.report.sheet.content import long_table, short, span_words


def test_numbers_in_few_digits() -> None:
    assert short(1.23456) == "1.235"
    assert short(-1e-16) == "0"
    assert short(-12953.6, 4, "N") == "-12950 N"
    assert short(1.5e9) == "1.5e+09"
    assert short(math.nan) == short(None) == "–"
    assert span_words((-math.pi, math.inf), True) == "-180 to … deg"
    assert span_words((None, None), False) == "–"


def test_long_tables_are_folded() -> None:
    assert "<details>" not in long_table("a", ["b"], [["1"]])
    assert "a (13 rows)" in long_table("a", ["b"], [["1"]] * 13)
