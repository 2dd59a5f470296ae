"""The pages as a whole: links and anchors lead somewhere, all are listed, generated parts are current."""

from __future__ import annotations

import importlib.util
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from support.api_pages import HOMES
from support.api_pages import pages as api_pages

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


@cache
def texts() -> dict[str, str]:
    """All pages by path, those of the API reference as they are written from the docstrings."""
    found = {
        path.relative_to(ROOT).as_posix(): path for path in DOCS.rglob("*.md") if "api" not in path.parts
    }
    found["README.md"] = ROOT / "README.md"
    own = {name: path.read_text(encoding="utf-8") for name, path in found.items()}
    return own | {f"docs/api/{name}": text for name, text in api_pages().items()}


def without_code(text: str) -> str:
    return re.sub(r"^( *)(```+|~~~+).*?^\1\2 *$|`[^`\n]*`", "", text, flags=re.S | re.M)


@cache
def anchors(page: str) -> set[str]:
    """Anchors of the headings, as Python-Markdown makes them; and those that are given."""
    found: set[str] = set()
    plain = re.sub(r"^(```+).*?^\1 *$", "", texts()[page], flags=re.S | re.M)
    for heading in re.findall(r"^#+ (.*)$", plain, re.M):
        given = re.search(r"\{ *#([\w-]+) *\}", heading)
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"\{.*?\}", "", heading))
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())
        name, count = (given[1] if given else slug), 1
        while name in found and not given:
            name, count = f"{slug}_{count}", count + 1
        found.add(name)
    return found


def test_links_and_anchors_lead_somewhere() -> None:
    wrong, count = [], 0
    for page, text in texts().items():
        for target in re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", without_code(text)):
            if re.match(r"https?:|mailto:", target):
                continue
            count += 1
            path, _, anchor = target.partition("#")
            there = (ROOT / page).parent / path if path else ROOT / page
            name = there.resolve().relative_to(ROOT).as_posix()
            if name not in texts() and (name.endswith(".md") or not there.exists()):
                wrong.append(f"{page}: {target}: there is no such file")
            elif anchor and anchor not in anchors(name):
                wrong.append(f"{page}: {target}: there is no such heading")
    assert wrong == []
    assert count > 500


def test_every_page_is_in_the_navigation() -> None:
    config = YAML(typ="safe").load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))

    def files(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        inner = entry.values() if isinstance(entry, dict) else entry
        return [name for part in inner for name in files(part)]

    listed = files(config["nav"])
    pages = sorted(name.removeprefix("docs/") for name in texts() if name.startswith("docs/"))
    assert sorted(listed) == pages
    for asset in config["extra_css"] + config["extra_javascript"]:
        assert (DOCS / asset).is_file()


def test_the_api_reference_has_every_public_name() -> None:
    whole = "\n".join(text for page, text in texts().items() if page.startswith("docs/api/"))
    headings = set(re.findall(r"^## \w+ \{ #(\w+) \}$", whole, re.M))
    assert headings == {name for name in HOMES if not name.startswith("__")}


def test_pages_fetch_nothing() -> None:
    """Pictures, scripts and styles are among the pages; links may lead out, nothing is loaded from there."""
    for page, text in texts().items():
        assert not re.search(
            r"!\[[^]]*\]\(https?:|<(img|script|link|iframe)[^>]*https?:", without_code(text)
        ), page
    style = (DOCS / "assets" / "katex" / "katex.min.css").read_text(encoding="utf-8")
    fonts = set(re.findall(r"url\(([^)]*)\)", style))
    assert len(fonts) > 10
    assert all((DOCS / "assets" / "katex" / font).is_file() for font in fonts)


def test_the_page_of_benchmarks_is_made_of_the_results() -> None:
    spec = importlib.util.spec_from_file_location("collect", ROOT / "benchmarks" / "collect.py")
    collect = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(collect)
    assert texts()["docs/benchmarks.md"] == collect.page(collect.kept())
    programs = {path.stem for path in (ROOT / "benchmarks").glob("*.py")}
    assert set(collect.BENCHMARKS) <= programs


@pytest.mark.skipif(sys.platform != "linux", reason="the processor's name is read from the system")
def test_a_benchmark_is_run_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("collect", ROOT / "benchmarks" / "collect.py")
    collect = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(collect)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "startup.py").write_text("import sys; print('measured', sys.argv[1])")
    monkeypatch.setattr(collect, "ROOT", tmp_path)
    monkeypatch.setattr(collect, "RESULTS", tmp_path / "results")
    assert collect.run("startup", ["--rows"], 60)
    page = collect.page(collect.kept())
    assert "    python benchmarks/startup.py --rows\n\n```text\nmeasured --rows\n```" in page
    assert "Not run here: `benchmarks/calls.py`" in page
    assert collect.processor() in page
