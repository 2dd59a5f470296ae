"""The tutorial, followed word by word in an empty folder: its commands run and answer as printed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from support.sessions import Command, Saved, difference, run, save, steps

ROOT = Path(__file__).parent.parent
STEPS = steps((ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))
# Commands that need a C compiler and make.
_COMPILED = re.compile(r"(make|cc|\./first)\b")
# Commands that take a second or more: pictures, other engines, compiled programs.
_LONGER = re.compile(r"nacelle (draw|workspace|dynamics|verify|export)|python|" + _COMPILED.pattern)


def follow(folder: Path, left_out: re.Pattern[str] | None) -> int:
    """Do what the tutorial says; how many commands were run."""
    count = 0
    for step in STEPS:
        if isinstance(step, Saved):
            save(step, folder)
        elif left_out is None or not left_out.match(step.line):
            answer = run(step.line)
            assert difference(step.printed, answer) == "", f"$ {step.line}\n{answer}"
            count += 1
    return count


def test_every_command_answers_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compiler = shutil.which("cc") and shutil.which("make")
    count = follow(tmp_path, None if compiler else _COMPILED)
    assert count == sum(isinstance(step, Command) for step in STEPS) - (0 if compiler else 3)


def test_description_check_mobility_and_kinematics_answer_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert follow(tmp_path, _LONGER) >= 10
    assert sum(isinstance(step, Saved) for step in STEPS) == 3


def test_wrong_numbers_and_missing_lines_are_noticed():
    printed = ("peak 12.39 N m", "...", "agrees")
    assert difference(printed, "peak 12.40 N m\nmore\nagrees\n") == ""
    assert difference(printed, "peak 12.90 N m\nmore\nagrees\n") == "peak 12.39 N m"
    assert difference(printed, "peak 12.39 N m\nmore\n") == "agrees"
    assert difference(("error 2e-16",), "error 7e-17") == ""
    assert difference(("error 2e-16",), "error 7e-3") != ""
    assert difference(("one",), "one\ntwo\n") != ""
