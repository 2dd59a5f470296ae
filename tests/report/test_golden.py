"""A page in words, as a golden file in tests/golden/report; `make golden` writes them again."""

from __future__ import annotations

from nacelle.report.sheet.sheet import data_sheet
from support.golden import assert_golden
from support.page_reader import PageReader

# Others name engines that are installed, gaps of ranks, the first of joints that are loaded alike.
SECTIONS = ("robot", "structure", "mobility", "actuators", "frequencies", "check")


def test_a_data_sheet() -> None:
    sheet = data_sheet("fivebar", sections=SECTIONS)
    assert_golden("report/sheet.txt", "\n".join(PageReader(sheet.html()).lines))
