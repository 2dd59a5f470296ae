"""What the command line shows of long work."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nacelle.cli.progress import Display


def aged(display: Display, seconds: float) -> None:
    """Let the display believe that its command has run for some time."""
    display.tick(time.monotonic() + seconds)


def test_lines_come_after_two_five_and_ten_seconds() -> None:
    stream = io.StringIO()
    display = Display(stream, terminal=False)
    display.begin("verify delta")
    for seconds in (0.5, 1.9):
        aged(display, seconds)
    assert stream.getvalue() == ""
    display.begin("compiling inverse (1023 operations)")
    for seconds in (2.1, 3.0, 4.9):
        aged(display, seconds)
    assert stream.getvalue().count("\n") == 1
    assert "nacelle verify delta: compiling inverse (1023 operations)" in stream.getvalue()
    display.end()
    display.begin("comparing with mujoco")
    display.part(0.5)
    for seconds in (5.1, 9.9, 10.1, 39.0, 41.0, 61.0, 119.0, 121.0):
        aged(display, seconds)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 7
    assert "comparing with mujoco, 50 %" in lines[-1]


class Screen(io.StringIO):
    """A terminal that can show all letters."""

    encoding = "utf-8"


def test_a_terminal_shows_a_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Screen()
    display = Display(stream, terminal=True)
    display.begin("workspace delta")
    aged(display, 0.5)
    assert stream.getvalue() == ""
    aged(display, 1.5)
    assert "workspace delta" in stream.getvalue()
    assert "\u2501" not in stream.getvalue()
    display.part(0.5)
    # The line is drawn anew several times a second.
    display._line()
    assert display._live is not None
    display._live.refresh()
    assert "\u2501" * 12 in stream.getvalue()
    display.hide()
    shown = stream.getvalue()
    # The cursor goes back and the line is erased.
    assert "\x1b[2K" in shown[shown.rindex("workspace delta") :]
    aged(display, 0.5)
    assert stream.getvalue() == shown


@pytest.mark.parametrize(("options", "expected"), [([], True), (["--json"], False)])
def test_a_cold_command_is_not_silent(tmp_path: Path, options: list[str], expected: bool) -> None:
    """A command that waits says so on stderr; where its output is for programs it does not."""
    script = (
        "import sys, time\n"
        "from nacelle.cli.commands import app\n"
        "from nacelle.cli.common import print_text\n"
        "from nacelle.progress import task\n"
        "@app.command('wait')\n"
        "def wait(json: bool = False) -> None:\n"
        "    with task('waiting for nothing'):\n"
        "        time.sleep(2.6)\n"
        "    print_text('done')\n"
        "from nacelle.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "wait", *options],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"NACELLE_CACHE": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
    assert ("nacelle wait: waiting for nothing, 2 s" in done.stderr) is expected
