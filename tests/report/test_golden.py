"""Pages in words, as golden files in tests/golden/report; `make golden` writes them again."""

from __future__ import annotations

from nacelle.library import load
from nacelle.report.demo.page import demo_page
from nacelle.report.sheet.sheet import data_sheet
from support.demo_steps import steps
from support.golden import assert_golden
from support.page_reader import PageReader

# Others name engines that are installed, gaps of ranks, the first of joints that are loaded alike.
SECTIONS = ("robot", "structure", "mobility", "actuators", "frequencies", "check")


def test_a_data_sheet() -> None:
    sheet = data_sheet("fivebar", sections=SECTIONS)
    assert_golden("report/sheet.txt", "\n".join(PageReader(sheet.html()).lines))


def test_the_page_of_the_demonstration() -> None:
    """With results that are made up; above it what the command prints."""
    printed = [line for step in steps() if step.result for line in (step.result.claim, *step.result.lines())]
    page = PageReader(demo_page(load("palida"), steps(), "0.1"))
    assert_golden("report/demo.txt", "\n".join([*printed, "", *page.lines]))
