"""Pages in headless Chromium: opened as a reader opens them, with errors and requests watched.

Debian's package `chromium` is driven by playwright. Without a browser such tests are skipped, or fail where
NACELLE_BROWSER=required is set, as in `.ci/run` after it has installed one.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# WebGL by software: neither a GPU nor a display is needed. Pages themselves are painted without it: software
# WebGL for these, too, takes 16 s of a core instead of 4 s until the viewer is drawn.
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader")
_LOCAL = ("file", "data", "blob", "about", "chrome")


def chromium() -> str:
    """Path of the browser; the test is skipped, or fails where one is required, if there is none."""
    path = next((found for found in map(shutil.which, _NAMES) if found), None)
    if path is not None:
        return path
    reason = "no Chromium on PATH (Debian: apt-get install chromium): pages were not opened"
    if os.environ.get("NACELLE_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


def foreign(address: str) -> bool:
    """Whether a request leaves the machine."""
    parts = urlsplit(address)
    return parts.scheme not in _LOCAL and parts.hostname not in ("127.0.0.1", "localhost", "::1")


@contextmanager
def chromium_page(width: int = 1280, height: int = 800, **options: Any) -> Iterator[Any]:
    """A new page of a width in pixels.

    The test fails if the page logs an error, raises one, or requests anything that is not on this machine.

    Args:
        width: of the window, pixels; 390 is a phone.
        height: of the window, pixels.
        options: for the browser's context, such as reduced_motion="reduce" or has_touch=True.
    """
    path = chromium()
    playwright = pytest.importorskip("playwright.sync_api")
    faults: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(_ARGUMENTS))
        try:
            context = browser.new_context(viewport={"width": width, "height": height}, **options)
            page = context.new_page()
            page.set_default_timeout(30_000)
            page.on(
                "console",
                lambda said: faults.append(f"console: {said.text}") if said.type == "error" else None,
            )
            page.on("pageerror", lambda error: faults.append(f"error: {error}"))
            page.on(
                "request", lambda sent: faults.append(f"request: {sent.url}") if foreign(sent.url) else None
            )
            yield page
        finally:
            browser.close()
    assert faults == []


def until(page: Any, expression: str, seconds: float = 30.0) -> None:
    """Wait until an expression is true in the page.

    playwright's own way evaluates text in the page, which the policy of nacelle's pages forbids.
    """
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"after {seconds} s still not: {expression}"
        page.wait_for_timeout(30)


def fits(page: Any) -> bool:
    """Whether the page is no wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
