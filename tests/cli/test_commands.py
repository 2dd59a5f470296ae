"""What a newcomer gets wrong: one clear line that names the place, never a traceback."""

from __future__ import annotations

import importlib
import io
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from nacelle import robots
from nacelle.cli.commands import COMMANDS, app
from nacelle.cli.common import error_text
from support.command import run, run_json

FIVEBAR = robots.text("fivebar")


def test_problems_of_two_columns_are_listed_in_the_order_of_the_file() -> None:
    text = "x,y\n" + "0,a\n" * 30 + "b,0\n" * 30
    Path("bad.csv").write_text(text, encoding="utf-8")
    lines = run("ik", "fivebar", "--csv", "bad.csv", code=1).output.splitlines()
    assert lines[0].endswith("60 problems in the poses, the first 20:")
    assert [line.split(":")[1] for line in lines[1:]] == [str(k) for k in range(2, 22)]


def test_a_run_that_ends_before_its_first_sample() -> None:
    done = run("simulate", "fivebar", "--until", "100", "--samples", "3", "--force", "left.motor=12", code=0)
    assert "event: at" in done.output
    assert "dissipated" in done.output


# ---- Ctrl-C and closed pipes


# Shells have Ctrl-C ignored in what they run in the background.
MAIN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from nacelle.cli import main
main()
"""


def start_process(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAIN, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_a_long_run_promptly_with_its_results() -> None:
    settings = ("simulate", "fivebar", "--hold", "--method", "rk4", "--no-limits")
    # What it needs is compiled before.
    run(*settings, "--until", "0.01", code=0)
    process = start_process(*settings, "--until", "1000", "--step", "1e-5", "--csv", "run.csv")
    assert process.stderr is not None
    line = process.stderr.readline()
    while "simulating fivebar" not in line:
        assert line, process.communicate()
        line = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert time.monotonic() - begun < 20.0
    assert "interrupted: stopped at" in output
    assert "Traceback" not in errors
    rows = Path("run.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1002
    assert {row.count(",") for row in rows} == {rows[0].count(",")}
    end = float(re.findall(r"stopped at ([0-9.]+) s", output)[0])
    assert math.isclose(float(rows[-1].split(",")[0]), end, rel_tol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("arguments", [("robots",), ("show", "hexa"), ("schema",)])
def test_a_closed_pipe_is_no_error(arguments: tuple[str, ...]) -> None:
    process = start_process(*arguments)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


def test_a_reference_at_full_stretch_is_refused() -> None:
    """Nothing can be computed from there; of two legs the one that is stretched is named."""
    one = f"{-0.1 + 0.45 * math.cos(1.0)!r} {0.45 * math.sin(1.0)!r} 0 m"
    Path("stretched.yaml").write_text(FIVEBAR.replace("0 0.28 0 m", one), encoding="utf-8")
    done = run("check", "stretched.yaml", code=1)
    assert "leg 'left' is stretched" in done.output
    assert "leg 'right' is stretched" not in done.output
    # A millimetre before the end of the reach the robot works.
    near = f"{-0.1 + 0.449 * math.cos(1.0)!r} {0.449 * math.sin(1.0)!r} 0 m"
    Path("near.yaml").write_text(FIVEBAR.replace("0 0.28 0 m", near), encoding="utf-8")
    run("check", "near.yaml", code=0)


# ---- lines that cannot be understood, and mistakes of nacelle's own


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("ik", "error: missing argument 'robot'"),
        ("verify delta --states many", "error: invalid value for '--states'"),
    ],
)
def test_lines_that_cannot_be_understood(arguments: str, words: str) -> None:
    done = run(*arguments.split(), code=2)
    assert words in done.stderr
    assert re.search(r"see nacelle ?\w* --help", done.stderr)
    assert "\x1b" not in done.output
    data = run_json(*arguments.split(), code=2)
    assert data["ok"] is False
    assert f"error: {data['error']}" in done.stderr


def test_an_unexpected_error_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise RuntimeError("a mistake\nof many lines")

    schema = importlib.import_module("nacelle.model.description.schema")
    monkeypatch.setattr(schema, "shipped_schema", fails)
    done = CliRunner().invoke(app, ["schema"])
    assert done.exit_code == 70
    assert "internal error of nacelle: RuntimeError: a mistake" in done.stderr
    assert "--debug" in done.stderr
    assert "Traceback" not in done.output
    with pytest.raises(RuntimeError, match="a mistake"):
        CliRunner().invoke(app, ["schema", "--debug"], catch_exceptions=False)


def test_errors_are_in_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    text = error_text("no robot is called 'detla'; did you mean 'delta'?")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def shown(**settings: Any) -> str:
        out = Console(file=io.StringIO(), force_terminal=True, color_system="standard", **settings)
        out.print(text)
        return out.file.getvalue()

    assert "\x1b[1;31merror: " in shown()
    assert "\x1b[32mdid you mean 'delta'?" in shown()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in shown()


# ---- what Ctrl-C leaves


def test_ctrl_c_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def stops() -> None:
        raise KeyboardInterrupt

    schema = importlib.import_module("nacelle.model.description.schema")
    monkeypatch.setattr(schema, "shipped_schema", stops)
    assert run("schema", code=130).stderr == "interrupted: no file was written\n"


def test_ctrl_c_leaves_no_half_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", stops)
    before = set(os.listdir())
    done = run("export", "fivebar", "--target", "numpy", "--out", "package", code=130)
    assert "interrupted: no file was written" in done.stderr
    assert set(os.listdir()) == before


def test_ctrl_c_names_what_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from nacelle.cli.dynamics import dynamics

    def stops(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dynamics, "print_json", stops)
    done = run("dynamics", "fivebar", "--rate", "20", "--csv", "forces.csv", "--json", code=130)
    assert done.stderr.splitlines()[-1] == "interrupted: kept forces.csv"
    assert Path("forces.csv").is_file()
    assert done.stdout == ""


# Commands that print no data: what they write is a picture, or is JSON anyway.
WITHOUT_JSON = {"draw", "schema", "view"}


def test_every_command_that_prints_data_has_json() -> None:
    group = typer.main.get_command(app)
    for name in COMMANDS:
        options = {option for parameter in group.get_command(None, name).params for option in parameter.opts}
        assert ("--json" in options) != (name in WITHOUT_JSON), name
