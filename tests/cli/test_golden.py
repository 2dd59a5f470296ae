"""What commands print, word by word: sessions in tests/golden/cli; `make golden` writes their answers again.

A new case is a new line `$ nacelle ...` in one of the sessions, or `$ cat FILE` for what one has written.
Commands of a session run one after the other, in a folder with the files of tests/golden/cli/files and those
that `written` has.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nacelle import robots
from nacelle.cli import app
from nacelle.cli.progress import Display
from support import described
from support.golden import FOLDER, assert_golden

SESSIONS = FOLDER / "cli"
FIVEBAR = robots.text("fivebar")
# What these write is a picture, a page or a schema; they have no --json.
WITHOUT_JSON = ("draw", "schema", "view")


def changed_robots() -> dict[str, str]:
    """Files by their names: robots in which one entry is other than in the library."""
    height = math.sqrt(0.45**2 - 0.1**2)
    weightless, heavy = "gravity: 0 0 0 m/s^2", "gravity: 0 0 -9.81 m/s^2"
    return {
        "stretched.yaml": FIVEBAR.replace("0 0.28 0 m", f"0 {height!r} 0 m"),
        "warned.yaml": robots.text("delta").replace("[-50 deg, 95 deg]", "[80 deg, 95 deg]"),
        "motion.yaml": FIVEBAR.replace("motion: xy", "motion: [x]"),
        "coordinates.yaml": FIVEBAR.replace("motion: xy", "motion: [x, z]"),
        "heavy.yaml": robots.text("prrrp").replace(weightless, heavy),
        "pendulum.yaml": described.description_text("pendulum"),
    }


@pytest.fixture(autouse=True)
def _files(_in_an_empty_folder: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    # On a busy machine they would say that they still wait.
    monkeypatch.setattr(Display, "tick", lambda *_: None)
    Path("folder.yaml").mkdir()
    for file in (SESSIONS / "files").iterdir():
        shutil.copy(file, file.name)
    for name in ("cart_pole.yaml", "coupled_gripper.yaml"):
        shutil.copy(Path(described.__file__).with_name(name), name)
    for name, text in changed_robots().items():
        Path(name).write_text(text, encoding="utf-8")


def answer(line: str) -> str:
    """What a command prints, and its exit code; what goes wrong is data for programs, and writes nothing."""
    program, *words = shlex.split(line)
    if program == "cat":
        return f"$ {line}\n{Path(words[0]).read_text(encoding='utf-8')}"
    before = sorted(os.listdir())
    result = CliRunner().invoke(app, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), line
    if result.exit_code in (1, 2):
        assert sorted(os.listdir()) == before, line
        if words[0] not in WITHOUT_JSON and words[0] != "check":
            again = CliRunner().invoke(app, [*words, "--json"])
            assert again.exit_code == result.exit_code, line
            assert json.loads(again.stdout, parse_constant=pytest.fail)["ok"] is False, line
    return f"$ {line}\n{result.stdout}{result.stderr}exit {result.exit_code}\n"


@pytest.mark.slow
@pytest.mark.parametrize("session", ["describing", "computing", "mistakes"])
def test_commands_answer_as_before(session: str) -> None:
    kept = (SESSIONS / f"{session}.txt").read_text(encoding="utf-8")
    lines = [line.removeprefix("$ ") for line in kept.splitlines() if line.startswith("$ ")]
    assert_golden(f"cli/{session}.txt", "\n".join(answer(line) for line in lines))
