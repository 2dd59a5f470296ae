"""What the command line shows of long work."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
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


# A program with a command `wait`; what it does while it waits is put in.
WAITING = (
    "import sys, time\n"
    "from nacelle.cli.commands import app\n"
    "from nacelle.cli.common import print_text\n"
    "from nacelle.progress import task\n"
    "@app.command('wait')\n"
    "def wait(json: bool = False) -> None:\n"
    "    with task('waiting for nothing') as report:\n"
    "        {during}\n"
    "    print_text('done')\n"
    "from nacelle.cli import main\n"
    "main()\n"
)


def test_the_line_is_cut_to_the_terminal_and_the_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    display = Display(stream, terminal=True)
    display.begin("report [loader].yaml")
    display.begin("bisecting the boundary on 400 rays")
    display.part(0.25)
    aged(display, 1.1)
    display.stop()
    assert "25%" in stream.getvalue()
    assert "report [loader]" in stream.getvalue()
    assert "…" in stream.getvalue()
    assert "400 rays" not in stream.getvalue()
    assert "0:00:00" in stream.getvalue()


def on_a_terminal(arguments: list[str], environment: dict[str, str]) -> str:
    """What a program writes to a terminal of 120 columns on which it runs."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    with subprocess.Popen(arguments, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        read = b""
        with contextlib.suppress(OSError):  # end of the terminal, on Linux
            while chunk := os.read(master, 65536):
                read += chunk
    os.close(master)
    assert process.returncode == 0, read
    return read.decode()


@pytest.mark.slow
def test_on_a_real_terminal_the_line_lives(tmp_path: Path) -> None:
    """Time and bar go on after the line has appeared, it is taken back, no line of a log comes beside it."""
    during = "time.sleep(1.3); report(0.5); time.sleep(1.3)"
    shown = on_a_terminal(
        [sys.executable, "-c", WAITING.format(during=during), "wait"],
        os.environ | {"NACELLE_CACHE": str(tmp_path), "TERM": "xterm", "PYTHONIOENCODING": "utf-8"},
    )
    # On a busy machine seconds are more.
    assert re.search(r"wait: waiting for nothing +\S*0:00:\d\d", shown)
    assert re.search(r"50%\S* wait: waiting for nothing", shown)
    assert "\u2501" * 9 in shown
    assert "nacelle wait" not in shown
    # Erased before the result is printed.
    assert "\x1b[2K" in shown[shown.rindex("waiting for nothing") :]
    assert shown.endswith("done\r\n")


@pytest.mark.slow
@pytest.mark.parametrize(("options", "expected"), [([], True), (["--json"], False)])
def test_a_cold_command_is_not_silent(tmp_path: Path, options: list[str], expected: bool) -> None:
    """A command that waits says so on stderr; where its output is for programs it does not."""
    done = subprocess.run(
        [sys.executable, "-c", WAITING.format(during="time.sleep(2.6)"), "wait", *options],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"NACELLE_CACHE": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
    assert ("nacelle wait: waiting for nothing, 2 s" in done.stderr) is expected
