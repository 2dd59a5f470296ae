"""The command line: what it prints, its exit codes, and that nothing breaks it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import nacelle
from nacelle import robots
from nacelle.cli import app
from support.command import run, run_json
from support.library import library_robot

NAMES = robots.all_names()

pytestmark = pytest.mark.filterwarnings("error")


def run_process(*arguments: str | bytes, code: int = 0, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run the program itself; demand its exit code and that no traceback is shown."""
    command = [sys.executable, "-W", "error", "-m", "nacelle.cli", *arguments]
    environment = os.environ | settings.pop("env", {})
    result = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=environment, timeout=120, check=False
    )
    assert "Traceback" not in result.stderr
    assert "Error" not in result.stderr
    assert result.returncode == code, result.stderr
    return result


BROKEN = "format: nacelle/1\nname: a\nmoton: xyz\nplatform: {mass: 1}\nlegs: [{name: b}]\n"


def broken(file: str = "broken.yaml") -> str:
    """Write a robot with mistakes on lines 1, 3 and 4."""
    Path(file).write_text(BROKEN, encoding="utf-8")
    return file


# ---- robots, show


@pytest.mark.slow
def test_robots_as_json() -> None:
    rows = run_json("robots")
    assert [row["name"] for row in rows] == list(NAMES)
    for row in rows:
        robot = library_robot(row["name"])
        assert (row["legs"], row["actuators"]) == (len(robot.legs), len(robot.actuators))
        assert row["motion"] == robot.motion.name


@pytest.mark.parametrize("name", NAMES)
def test_show_as_json(name: str) -> None:
    robot = library_robot(name)
    data = run_json("show", name)
    assert (data["name"], data["title"], data["motion"]) == (name, robot.title, robot.motion.name)
    assert data["hash"] == robot.hash
    assert [joint["name"] for joint in data["joints"]] == [joint.name for joint in robot.joints]
    assert data["problems"] == []


@pytest.mark.parametrize(
    ("name", "reason"), [("3rps", "the platform has parasitic motion"), ("delta", ""), ("dymo", "")]
)
def test_show_says_why_a_leg_has_no_closed_form(name: str, reason: str) -> None:
    data = run_json("show", name)
    for leg in data["legs"]:
        assert leg["reason"].startswith(reason)
        assert bool(leg["reason"]) == (leg["method"] == "Newton")


def test_show_texts_with_markup_and_tiny_masses() -> None:
    """Brackets in texts are no colours."""
    title = "[red]x[/] [/foo] [bold"
    text = re.sub(r"(?m)^title: .*", f'title: "{title}"', robots.text("fivebar"))
    Path("own.yaml").write_text(text.replace("mass: 0.4 kg", "mass: 1e-300 kg"), encoding="utf-8")
    assert title in run("show", "own.yaml").stdout
    assert run_json("show", "own.yaml")["title"] == title


@pytest.mark.parametrize("command", ["show", "check"])
@pytest.mark.parametrize("name", ["delt", "", "nowhere/x.yaml", "x.yaml", "/", "a" * 5000, "\0", "[/x]", "-"])
def test_robots_that_do_not_exist(command: str, name: str) -> None:
    result = run(command, name, code=1)
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    data = run_json(command, name, code=1)
    assert data["ok"] is False
    assert data["error"]


# ---- check


def test_check_the_library() -> None:
    assert [line.split(":")[0] for line in run("check", *NAMES).stdout.splitlines()] == [
        f"ok {name}" for name in NAMES
    ]


def test_check_as_json() -> None:
    assert run_json("check", "delta") == {"file": "delta", "ok": True, "count": 0, "problems": []}
    data = run_json("check", broken(), code=1)
    assert (data["file"], data["ok"]) == ("broken.yaml", False)
    assert [(p["line"], p["column"]) for p in data["problems"]] == [(1, 1), (3, 1), (4, 12)]
    assert set(data["problems"][0]) == {"file", "line", "column", "path", "message", "hint", "severity"}
    several = run_json("check", "delta", "nope", "broken.yaml", code=1)
    assert [(entry["ok"], bool(entry["problems"])) for entry in several] == [
        (True, False),
        (False, False),
        (False, True),
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"\x00" * 10,
        b"\xef\xbb\xbf",
        b"[" * 10_000,
        b"&a [*a]",
        b"x" * 5_000_000,
        b"a: 1\n" * 200_000,
        b'title: "\\ud800"\n',
        "é".encode("latin-1"),
    ],
)
def test_check_any_content(content: bytes) -> None:
    Path("any.yaml").write_bytes(content)
    result = run("check", "any.yaml", code=1)
    assert result.stderr.startswith("any.yaml:")
    assert result.stderr.splitlines()[-1] == "1 problem in any.yaml"
    data = run_json("check", "any.yaml", code=1)
    assert len(data["problems"]) == 1


def test_check_thousands_of_problems() -> None:
    text = "format: nacelle/1\n" + "".join(f"k{k}: 1\n" for k in range(2500))
    Path("many.yaml").write_text(text, encoding="utf-8")
    lines = run("check", "many.yaml", code=1).stderr.splitlines()
    assert len(lines) == 101
    assert lines[-1] == "2504 problems, the first 100 in many.yaml"
    found = run_json("check", "many.yaml", code=1)
    assert found["count"] == 2504
    assert len(found["problems"]) == 100
    assert run_json("show", "many.yaml", code=1)["count"] == 2504


def test_check_files_with_odd_names() -> None:
    Path("[").mkdir()
    for name in ("[/b].yaml", "a b.yml", "[bold]x.yaml", "é😀.YAML", "-x.yaml"):
        Path(name).write_text(robots.text("fivebar"), encoding="utf-8")
        assert run("check", "--", name).stdout.startswith("ok fivebar")
        broken(name)
        assert f"{name}:3:1: moton" in run("check", "--", name, code=1).stderr


# ---- new


@pytest.mark.parametrize("name", NAMES)
def test_new_from_the_library(name: str) -> None:
    data = run_json("new", "mine", "--from", name, "--out", "own.yaml")
    assert data == {"ok": True, "file": "own.yaml", "name": "mine", "from": name}
    robot = nacelle.load("own.yaml")
    assert robot.name == "mine"
    assert robot.hash == library_robot(name).hash
    assert os.listdir() == ["own.yaml"]


@pytest.mark.parametrize(
    "name", ["null", "true", "False", "1e5", "007", "1", "_x", "é", "a-b", "on", "0x1F", "a" * 64]
)
def test_new_robots_of_any_name(name: str) -> None:
    run("new", name, "--out", "new.yaml")
    assert nacelle.load("new.yaml").name == name


@pytest.mark.parametrize(
    "name", ["", "a b", "a/b", "../a", "a.b", "-", "a\nb", "\\1", "a" * 65, "a:", "\0", "[/x]"]
)
def test_new_refuses_what_is_no_name(name: str) -> None:
    result = run("new", "--", name, code=1)
    assert "is not a name" in result.stderr
    assert os.listdir() == []


def test_new_overwrites_nothing() -> None:
    Path("mine.yaml").write_text("precious", encoding="utf-8")
    Path("link.yaml").symlink_to("elsewhere.yaml")
    Path("folder").mkdir()
    kept = sorted(os.listdir())
    for arguments in (["mine"], ["other", "--out", "mine.yaml"], ["mine", "--from", "delta"], ["link"]):
        assert "exists already" in run("new", *arguments, code=1).stderr
        assert run_json("new", *arguments, code=1)["ok"] is False
    assert "folder is a folder: name a file" in run("new", "mine", "--out", "folder", code=1).stderr
    assert Path("mine.yaml").read_text(encoding="utf-8") == "precious"
    assert sorted(os.listdir()) == kept
    run("new", "mine", "--out", "folder/mine.yaml")
    assert os.listdir("folder") == ["mine.yaml"]


@pytest.mark.parametrize("source", ["nope", "nope.yaml", "", ".", "a" * 5000, "a" * 5000 + ".yaml", "\0"])
def test_new_from_nothing(source: str) -> None:
    assert run("new", "mine", "--from", source, code=1).stderr.startswith("error: ")
    assert run("new", "mine", "--out", "a" * 5000, code=1).stderr.startswith("error: ")
    assert os.listdir() == []


def test_new_from_a_file() -> None:
    Path("first.yaml").write_text("# mine\n" + robots.text("palida"), encoding="utf-8")
    run("new", "second", "--from", "first.yaml")
    assert Path("second.yaml").read_text(encoding="utf-8").startswith("# mine\n")
    assert nacelle.load("second.yaml") == library_robot("palida")


@pytest.mark.parametrize(
    "line", ['"name": fivebar', "'name': fivebar", "name : fivebar", "? name\n: fivebar"]
)
def test_new_never_keeps_the_old_name(line: str) -> None:
    """However the name is written in the file, the new robot has the new name, or there is none."""
    text = robots.text("fivebar").replace("name: fivebar", line)
    Path("first.yaml").write_text(text, encoding="utf-8")
    assert nacelle.load("first.yaml").name == "fivebar"
    result = CliRunner().invoke(app, ["new", "second", "--from", "first.yaml"])
    assert isinstance(result.exception, SystemExit | None)
    if result.exit_code == 0:
        assert nacelle.load("second.yaml").name == "second"
    else:
        assert result.stderr.startswith("error: ")
        assert os.listdir() == ["first.yaml"]


# ---- the rest


def test_schema() -> None:
    result = run("schema")
    data = json.loads(result.stdout)
    assert data == nacelle.io.schema()
    assert data["$schema"].startswith("https://json-schema.org/")


@pytest.mark.slow
def test_the_program_itself() -> None:
    broken()
    assert run_process("robots", "--names").stdout.split() == list(NAMES)
    assert "broken.yaml:3:1: moton" in run_process("check", "broken.yaml", code=1).stderr
    # A busy machine may say before that it is still waiting.
    lines = run_process("check", "a" * 5000, code=1).stderr.splitlines()
    assert any(line.startswith("error: ") for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_terminals_of_any_encoding(encoding: str) -> None:
    text = re.sub(r"(?m)^title: .*", 'title: "é😀 µ θ"', robots.text("palida"))
    Path("palida.yaml").write_text(text, encoding="utf-8")
    result = run_process("show", "palida.yaml", env={"PYTHONIOENCODING": encoding})
    assert "6 actuators" in result.stdout


@pytest.mark.slow
def test_file_names_that_are_no_text() -> None:
    name = b"\xff.yaml"
    Path(os.fsdecode(name)).write_text("name: 5\n", encoding="utf-8")
    assert "missing key" in run_process("check", name, code=1).stderr
    data = json.loads(run_process("check", name, "--json", code=1).stdout)
    assert data["ok"] is False


def test_show_latex() -> None:
    assert "\\begin" in run("show", "fivebar", "--latex").stdout
