"""Pages that print a session: files to save, commands after `$` and their answers, run as printed.

A printed answer is compared line by line with the true one: every printed line must come, in order, and `...`
stands for any lines between. Numbers agree to 1 %, those below 1e-9 (rounding errors) only in being as small;
versions and hashes are not compared.

`PYTHONPATH=tests python -m support.sessions docs/tutorial.md` follows a page as a reader does, each command
in a shell in an empty folder, and prints how long each takes.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from nacelle.cli import app

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class SavedFile:
    """A file that the reader saves."""

    name: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command, and the lines that the page prints below it."""

    line: str
    printed: tuple[str, ...]


def steps(page: str) -> list[SavedFile | Command]:
    """What a reader of a page does, in order."""
    found: list[SavedFile | Command] = []
    for block in _BLOCK.finditer(page):
        before = page[: block.start()].rstrip().splitlines()[-1]
        name = re.search(r"[Ss]ave (?:this|it) as `([\w.-]+)`:$", before)
        if name:
            found.append(SavedFile(name[1], block[2]))
        elif block[1] == "console":
            for part in re.split(r"^\$ ", block[2], flags=re.M)[1:]:
                line, *printed = part.rstrip("\n").split("\n")
                found.append(Command(line, tuple(printed)))
    return found


def run(line: str) -> str:
    """What a command answers; `nacelle` runs in this process, everything else in a shell."""
    arguments = shlex.split(line)
    if arguments[0] == "nacelle":
        return CliRunner().invoke(app, arguments[1:], env={"COLUMNS": "200"}).output
    return in_shell(line)


def in_shell(line: str) -> str:
    """What a command answers in a shell, with the programs of this environment first on its path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line,
        shell=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PATH": path, "COLUMNS": "200"},
    )
    return done.stdout


def alike(printed: str, true: str) -> bool:
    """Whether a printed line says what the true one does."""

    def parts(line: str) -> tuple[list[str], list[float]]:
        plain = re.sub(r"\b\d+\.\d+\.\d+\b|\b[0-9a-f]{16}\b", "", line)
        return _NUMBER.sub("#", plain).split(), [float(n) for n in _NUMBER.findall(plain)]

    (words, numbers), (true_words, true_numbers) = parts(printed), parts(true)
    return words == true_words and all(
        abs(a - b) <= 0.01 * abs(b) or max(abs(a), abs(b)) < 1e-9
        for a, b in zip(numbers, true_numbers, strict=True)
    )


def difference(printed: tuple[str, ...], answer: str) -> str:
    """The first printed line that the answer does not have in its place; empty if there is none."""
    true = [line for line in answer.splitlines() if line.strip()]
    at, skipping = 0, False
    for line in printed:
        if line.strip() in ("...", ""):
            skipping = skipping or line.strip() == "..."
            continue
        while at < len(true) and skipping and not alike(line, true[at]):
            at += 1
        if at == len(true) or not alike(line, true[at]):
            return line
        at, skipping = at + 1, False
    if not skipping and printed and at < len(true):
        return f"(the answer goes on) {true[at]}"
    return ""


def save(step: SavedFile, folder: Path) -> None:
    """Do what the page says."""
    (folder / step.name).write_text(step.text, encoding="utf-8")


def main(page: Path) -> int:
    """Follow a page; how many commands did not answer as printed."""
    found, wrong, total = steps(page.read_text(encoding="utf-8")), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for step in found:
            if isinstance(step, SavedFile):
                save(step, Path(folder))
                continue
            start = time.perf_counter()
            answer = in_shell(step.line)
            took = time.perf_counter() - start
            # Progress is reported on the error stream of commands that take seconds.
            shown = "\n".join(
                line for line in answer.splitlines() if not re.match(r"nacelle .*, \d+ s$", line)
            )
            off = difference(step.printed, shown)
            wrong, total = wrong + bool(off), total + took
            print(
                f"{took:6.1f} s  $ {step.line}" + (f"\n          not as printed: {off}" if off else ""),
                flush=True,
            )
    print(f"{total:6.1f} s  in all, {wrong} commands not as printed")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1]).resolve()) else 0)
