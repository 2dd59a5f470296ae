"""The demonstration: about thirty lines, a page, and a status that says whether all went well."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from nacelle.cli import demo
from nacelle.errors import NacelleError
from nacelle.model.robot import Robot
from support.command import run, run_json

OUT = Path("nacelle-demo")


def cheap_steps(monkeypatch: pytest.MonkeyPatch, error: BaseException | None = None) -> None:
    """Two steps that cost nothing; the second may fail."""

    def first(robot: Robot, out: Path) -> demo.StepResult:
        (out / demo.PAGE_FILE).write_text("<p>", encoding="utf-8")
        return demo.StepResult(("report", robot.name, "--out", out / "my page"), ["[12] sections"], {"a": 1})

    def second(robot: Robot, out: Path) -> demo.StepResult:
        if error is not None:
            raise error
        return demo.StepResult(("verify", robot.name), ["agrees"], {"b": 2})

    monkeypatch.setattr(demo, "STEPS", {"one": ("The first", first), "two": ("The second", second)})


def test_steps_are_printed_with_their_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_steps(monkeypatch)
    lines = run("demo").stdout.splitlines()
    assert lines[1:-2] == [
        "1. The first",
        "   $ nacelle report palida --out 'nacelle-demo/my page'",
        "   [12] sections",
        "2. The second",
        "   $ nacelle verify palida",
        "   agrees",
    ]
    assert lines[-1] == f"Open the data sheet: {(OUT / demo.PAGE_FILE).absolute().as_uri()}"
    data = run_json("demo", "--out", "other")
    assert data["ok"] is True
    assert Path(data["page"]).is_file()
    assert [(step["step"], step["result"]) for step in data["steps"]] == [
        ("one", {"a": 1}),
        ("two", {"b": 2}),
    ]


def test_a_step_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_steps(monkeypatch, NacelleError("an engine [disagrees]"))
    words = "step 2 of 2, The second: an engine [disagrees]"
    assert f"error: {words}" in run("demo", code=1).stderr
    assert run_json("demo", "--out", "other", code=1) == {"ok": False, "error": words}
    assert (OUT / demo.PAGE_FILE).read_text(encoding="utf-8") == "<p>"


def test_ctrl_c_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_steps(monkeypatch, KeyboardInterrupt())
    done = run("demo", code=130)
    assert "interrupted: nacelle-demo has the files of the steps before 2" in done.stderr
    assert "passed" not in done.stdout
    assert (OUT / demo.PAGE_FILE).exists()


@pytest.mark.parametrize(
    "name",
    [demo.PAGE_FILE, demo.TRUE_FILE, demo.DATA_FILE, demo.MODEL_FILE, demo.SCENARIO_FILE, demo.CODE_FOLDER],
)
def test_files_of_others_stay(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Nothing is computed, and nothing replaced, where a file is in the way; others do not matter."""
    cheap_steps(monkeypatch)
    file = OUT / name / "mine.c" if name == demo.CODE_FOLDER else OUT / name
    file.parent.mkdir(parents=True)
    (OUT / "notes.txt").write_text("mine", encoding="utf-8")
    file.write_text("mine", encoding="utf-8")
    assert "it is left as it is" in run("demo", code=1).stderr
    assert file.read_text(encoding="utf-8") == "mine"
    if name == demo.CODE_FOLDER:
        # No package that an earlier run has written: --overwrite does not help.
        assert "it is left as it is" in run("demo", "--overwrite", code=1).stderr
    else:
        run("demo", "--overwrite")
    assert (OUT / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_what_is_no_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap_steps(monkeypatch)
    Path("file").write_text("mine", encoding="utf-8")
    assert "file is no folder" in run("demo", "--out", "file", code=1).stderr
    assert "there is no folder" in run("demo", "--out", "file/demo", code=1).stderr


def test_engines_that_are_missing_or_disagree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A section that could not be made is a failure, unless it lacks an engine that is not installed."""

    def described(**compared: Any) -> list[str]:
        counted = {"model": "inverse_dynamics", "friction": True, "total": 1074, "published": []}
        return demo.describe_sheet({"operations": {"models": [counted]}, "verification": compared})

    reason = "comparing with pinocchio needs the package 'pin'"
    with pytest.raises(NacelleError, match="disagrees; nacelle verify palida shows where"):
        described(ok=False, command="nacelle verify palida")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    with pytest.raises(NacelleError, match="verification could not be made: comparing with pinocchio"):
        described(reason=reason)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    counted = "inverse dynamics with friction: 1074 operations"
    assert described(reason=reason) == [f"not compared: {reason}", counted]
    with pytest.raises(NacelleError, match="the section mobility could not be made: why"):
        demo.describe_sheet({"mobility": {"reason": "why"}})


@pytest.mark.slow
def test_the_whole_demonstration() -> None:
    """Everything is computed, in about thirty lines, and the commands that it names give its numbers."""
    text = run("demo").stdout
    assert 25 <= len(text.splitlines()) <= 38
    assert "pinocchio" in text
    assert "mujoco" in text
    assert "1074 operations" in text
    page = (OUT / demo.PAGE_FILE).read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "agrees with pinocchio" in page

    lines = [line.strip() for line in text.splitlines()]
    commands = [shlex.split(line)[2:] for line in lines if line.startswith("$ nacelle")]
    assert [words[0] for words in commands] == ["report", "identify", "control", "export"]
    identified, controlled, exported = (run_json(*words) for words in commands[1:])
    assert f"R^2 {identified['score']:.4f}" in text
    left = {word.split()[0]: float(word.split()[1]) for word in _after("residual:", lines).split(",")}
    assert left["identified"] < 0.8 * left["described"]
    tool = [(entry["tool"]["rms_error"], entry["tool"]["max_error"]) for entry in controlled["runs"]]
    assert all(f"{1e3 * mean:.3g} / {1e3 * most:.3g}" in text for mean, most in tool)
    assert [1e3 * mean for mean, _ in tool] == pytest.approx([5.30, 3.77, 0.207], abs=0.01)
    assert f"{exported['functions']['inverse_dynamics']['total']} operations" in text
    assert ("self-test passed" in text) == bool(shutil.which("cc"))


def _after(word: str, lines: list[str]) -> str:
    """What follows a word in the line that has it."""
    return next(line.split(word)[1] for line in lines if word in line)
