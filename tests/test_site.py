"""The built site: links and anchors in the pages as they are served, and what a browser makes of them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from support.api_pages import main as write_api_pages
from support.browser import chromium_page, fits, until

ROOT = Path(__file__).parent.parent
# In the page: formulas not typeset, or wrongly; escapes that are shown; what is wider than its place.
_WRONG = """() => {
  const wrong = [];
  for (const place of document.querySelectorAll(".arithmatex"))
    if (!place.querySelector(".katex")) wrong.push("not typeset: " + place.textContent);
  for (const place of document.querySelectorAll(".katex-error")) wrong.push("wrong: " + place.textContent);
  for (const code of document.querySelectorAll("td code"))
    if (code.textContent.includes("\\\\|")) wrong.push("escape shown: " + code.textContent);
  const room = document.documentElement.clientWidth + 1;
  for (const part of document.querySelectorAll("article > *"))
    if (part.getBoundingClientRect().right > room) wrong.push("too wide: " + part.textContent.slice(0, 60));
  for (const picture of document.querySelectorAll("article img"))
    if (!picture.complete || !picture.naturalWidth) wrong.push("no picture: " + picture.src);
  return wrong;
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built in a folder of its own as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("api"))
    shutil.copy(ROOT / "mkdocs.yml", folder)
    write_api_pages(folder / "docs" / "api")
    program = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [program, "build"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served, on this machine alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def paths(site: Path) -> list[str]:
    """Addresses of all pages below the site's."""
    return sorted(page.parent.relative_to(site).as_posix() + "/" for page in site.rglob("index.html"))


def test_everything_that_pages_name_is_there(site: Path) -> None:
    wrong, count = [], 0
    texts = {page: (site / page / "index.html").read_text(encoding="utf-8") for page in paths(site)}
    ids = {page: set(re.findall(r'\bid="?([^"\s>]+)', text)) for page, text in texts.items()}
    for page, text in texts.items():
        for name in re.findall(r'(?:href|src)="?([^"\s>]+)', text):
            parts = urlsplit(urljoin(f"http://here/{page.removeprefix('./')}", unescape(name)))
            if parts.hostname != "here":
                assert not re.search(rf'src="?{re.escape(name)}', text), f"{page} loads {name}"
                continue
            count += 1
            path = unquote(parts.path).lstrip("/")
            there = site / path
            if not (there.is_file() or (there / "index.html").is_file()):
                wrong.append(f"{page}: {name}")
            elif (
                parts.fragment and (path or "./") in ids and unquote(parts.fragment) not in ids[path or "./"]
            ):
                wrong.append(f"{page}: {name}: no such anchor")
    assert wrong == []
    assert count > 2000


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_in_a_browser(site: Path, address: str, width: int) -> None:
    """Formulas are typeset, nothing is wider than the window, no error, and no request leaves the machine."""
    formulas = 0
    with chromium_page(width) as page:
        for path in paths(site):
            page.goto(address + path)
            until(page, "!!window.katex")
            found = page.evaluate(_WRONG)
            assert found == [], path
            assert fits(page), path
            formulas += page.evaluate("document.querySelectorAll('.katex').length")
    assert formulas > 300
