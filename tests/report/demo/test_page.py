"""The page, as a reader opens it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacelle.library import load
from nacelle.report.demo.page import demo_page
from nacelle.report.demo.step import FAILED, STOPPED, DemoStep
from support.browser import chromium_page, fits, until
from support.demo_steps import steps


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("demo") / "a report.html"
    file.write_text(demo_page(load("palida"), steps(), "0.1"), encoding="utf-8")
    return file


@pytest.mark.parametrize("width", [1280, 390])
def test_it_opens_and_moves(page_file: Path, width: int) -> None:
    """From file://, without a request, an error, or anything wider than the screen."""
    with chromium_page(width) as page:
        page.goto(page_file.as_uri())
        until(page, "document.querySelector('.scene-view canvas') !== null")
        clock = "document.querySelector('.scene-bar output').textContent"
        first = page.evaluate(clock)
        until(page, f"{clock} !== {first!r}")
        assert fits(page)
        assert page.evaluate("document.querySelectorAll('section').length") == 6
        assert page.evaluate("document.querySelectorAll('section svg').length") >= 5
        page.evaluate("location.hash = '#flexible'")
        assert "Table II" in page.text_content("#flexible svg")


def test_it_prints(page_file: Path) -> None:
    """On A4 paper nothing is cut: commands wrap, folded tables are open, the robot keeps its proportion."""
    with chromium_page(690) as page:
        page.goto(page_file.as_uri())
        until(page, "document.querySelector('.scene-view canvas') !== null")
        page.emulate_media(media="print")
        assert fits(page)
        cut = "e => e.scrollWidth > e.clientWidth + 1"
        assert page.evaluate(f"[...document.querySelectorAll('pre, .wide')].filter({cut}).length") == 0
        folded = "[...document.querySelectorAll('details > :not(summary)')].map(e => e.offsetHeight)"
        heights = page.evaluate(folded)
        assert heights
        assert min(heights) > 20
        shape = page.evaluate(
            "(c => [c.width / c.height, c.clientWidth / c.clientHeight])"
            "(document.querySelector('.scene-view canvas'))"
        )
        assert shape[1] == pytest.approx(shape[0], rel=0.01)
        assert not page.is_visible(".scene-bar")


def test_what_failed_is_said() -> None:
    broken = [
        DemoStep("a", "Broken <1>", FAILED, 2.0, None, "no <engine>"),
        DemoStep("b", "Stopped", STOPPED, 1.0, None, "Ctrl-C"),
        DemoStep("c", "Later"),
    ]
    page = demo_page(load("palida"), broken, "0.1")
    assert "3 of 3 steps have no result" in page
    assert "no &lt;engine&gt;" in page
    assert "this step was not begun" in page
