"""The command report: every number of a data sheet is what the command beside it prints."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacelle.report.sheet.sheet import TITLES
from support.command import run, run_json


def entries(data: Any) -> Iterator[dict[str, Any]]:
    """All parts of a data sheet that name a command."""
    if isinstance(data, dict):
        if "command" in data:
            yield data
        for value in data.values():
            yield from entries(value)
    elif isinstance(data, list):
        for value in data:
            yield from entries(value)


def assert_printed(mine: Any, printed: Any, place: str) -> None:
    """Whether all that a sheet says is in what a command prints."""
    if isinstance(mine, dict):
        assert isinstance(printed, dict), place
        for name, value in mine.items():
            assert_printed(value, printed[name], f"{place}.{name}")
    elif isinstance(mine, list):
        assert len(mine) == len(printed), place
        for k, (one, other) in enumerate(zip(mine, printed, strict=True)):
            assert_printed(one, other, f"{place}[{k}]")
    elif isinstance(mine, float) and isinstance(printed, int | float):
        assert math.isclose(mine, printed, rel_tol=1e-9, abs_tol=1e-12), f"{place}: {mine} {printed}"
    else:
        assert mine == printed, place


def assert_numbers(robot: str, *options: str) -> dict[str, Any]:
    """Run every command that a data sheet names, and compare what it prints."""
    sheet: dict[str, Any] = run_json("report", robot, *options)
    printed: dict[str, Any] = {}
    for entry in entries(sheet["sections"]):
        command = entry.pop("command")
        if command not in printed:
            words = shlex.split(command)
            assert words[0] == "nacelle"
            printed[command] = run_json(*words[1:])
        assert_printed(entry, printed[command], command)
    return sheet


@pytest.mark.slow
def test_every_number_is_that_of_the_command_beside_it() -> None:
    sheet = assert_numbers("fivebar")
    assert list(sheet["sections"]) == list(TITLES)
    assert not any("reason" in part for part in sheet["sections"].values())
    assert sheet["sections"]["verification"]["ok"]
    assert sheet["sections"]["workspace"]["slices"][0]["inside_limits"] > 100


@pytest.mark.thinned
@pytest.mark.parametrize("robot", ["3rps", "h4", "prrrp"])
def test_every_number_of_other_robots_too(robot: str) -> None:
    assert_numbers(robot)


def test_pages_are_written_once() -> None:
    out = run("report", "fivebar", "--section", "mobility").output
    assert "wrote fivebar.html: 1 section" in out
    page = Path("fivebar.html").read_text(encoding="utf-8")
    assert "The actuators control every motion of the platform." in page
    assert "exists already" in run("report", "fivebar", "--section", "mobility", code=1).output


def test_ctrl_c_leaves_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    from nacelle.report.sheet import sheet

    def stopped(subject: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setitem(sheet._MAKERS, "mobility", stopped)
    out = run("report", "fivebar", "--section", "structure", "--section", "mobility", code=130).output
    assert "interrupted before mobility" in out
    assert "left.proximal-input" in Path("fivebar.html").read_text(encoding="utf-8")
    # A page without a section would only stand in the way of the next one.
    run("report", "fivebar", "--section", "mobility", "--out", "empty.html", code=130)
    assert not Path("empty.html").exists()


def test_modes_of_operation() -> None:
    sections = (word for name in ("mobility", "check", "structure") for word in ("--section", name))
    sheet = assert_numbers("dymo", "--mode", "planar", *sections)
    assert sheet["sections"]["mobility"]["mobility"]["platform"] == 3
    assert sheet["sections"]["structure"]["motion"] != run_json("show", "dymo")["motion"]
