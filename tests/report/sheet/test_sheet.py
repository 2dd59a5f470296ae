"""Data sheets: sections that fail say why, hostile names stay names, and a browser opens the page."""

from __future__ import annotations

import dataclasses
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import nacelle
from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from nacelle.report.sheet.sheet import TITLES, DataSheet, data_sheet, make_sections
from nacelle.report.sheet.subject import subject_of
from support.browser import chromium_page, fits, until

HOSTILE = "</script><img src=x onerror=alert(1)>&\"'`$(rm)\u202e"
CHEAP = ("robot", "structure", "mobility", "workspace", "check")


def hostile(robot: Robot) -> Robot:
    """The robot with a hostile name, and hostile names of all its parts."""

    def renamed(parts: Any) -> Any:
        return tuple(dataclasses.replace(part, name=f"{HOSTILE}{k}") for k, part in enumerate(parts))

    parts = {name: renamed(getattr(robot, name)) for name in ("bodies", "joints", "legs", "actuators")}
    return dataclasses.replace(robot, name=HOSTILE, title=HOSTILE, sources=(HOSTILE,), **parts)


class Tags(HTMLParser):
    """The elements of a page; those that are open must be closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "br", "img", "input", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "rect":
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def tags_of(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    sheet = data_sheet(hostile(nacelle.load("fivebar")), sections=CHEAP)
    tags = tags_of(sheet.html())
    assert "img" not in tags.seen
    shown = HOSTILE.replace("\u202e", "�")
    assert f"Data sheet of {shown}" in tags.words
    assert f"{shown}0 – " in tags.words  # a body in the table of joints
    assert json.loads(sheet.json())["robot"] == HOSTILE
    assert "made in Python" in tags.words
    file = sheet.save(tmp_path / "sheet.html")
    with pytest.raises(NacelleError, match="exists already"):
        sheet.save(file)


def test_a_section_that_fails_says_why_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from nacelle.report.sheet import sheet as module

    def refused(subject: object) -> object:
        raise NacelleError("the moon is <full>")

    def broken(subject: object) -> object:
        return {}["nothing"]

    makers = {**module._MAKERS, "workspace": refused, "mobility": broken}
    monkeypatch.setattr(module, "_MAKERS", makers)
    sheet = data_sheet("fivebar", sections=["mobility", "workspace", "verification", "check"], verifier=None)
    assert [part.name for part in sheet.sections] == ["mobility", "workspace", "verification", "check"]
    words = tags_of(sheet.html()).words
    assert "This section could not be made: the moon is <full>." in words
    assert "unexpected KeyError" in words
    assert "nacelle verify fivebar compares the robot" in words
    assert sheet["check"].data()["problems"] == []
    assert sheet.data()["sections"]["workspace"] == {"reason": "the moon is <full>"}


def test_sections_that_are_done_remain_after_an_interruption() -> None:
    subject = subject_of("fivebar")
    made = make_sections(subject, tuple(TITLES))
    sheet = DataSheet(subject, (next(made), next(made)), ("mobility",))
    words = tags_of(sheet.html()).words
    assert "what is missing: Mobility" in words
    assert "left.proximal-input" in words
    with pytest.raises(NacelleError, match=r"no section is called .structur.; .*structure"):
        data_sheet("fivebar", sections=["structur"])


def test_a_browser_opens_the_page_and_the_robot_moves(tmp_path: Path) -> None:
    sheet = data_sheet("fivebar", sections=CHEAP)
    assert sheet._repr_html_().startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    file = sheet.save(tmp_path / "sheet.html")
    place = "document.querySelector('input[type=range]').value"
    with chromium_page(390) as page:
        page.goto(file.as_uri())
        assert fits(page)
        before = page.evaluate(place)
        until(page, f"{place} != {before!r}")
        page.locator("nav a", has_text="Workspace").click()
        assert page.locator("#workspace svg.map").is_visible()
        page.set_viewport_size({"width": 1280, "height": 900})
        assert fits(page)
