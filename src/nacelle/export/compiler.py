"""The system's compilers of C and C++: which one there is, and what it makes of sources."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nacelle.errors import ExportError

# For each language the variable that names its compiler, and what else is tried.
_NAMES = {"c": ("CC", ("cc", "gcc", "clang")), "c++": ("CXX", ("c++", "g++", "clang++"))}
_ENDINGS = {"c": ".c", "c++": ".cpp"}
_SMALLEST = "#include <math.h>\n#include <stdio.h>\nint main(void)\n{\n    return 0;\n}\n"


class TimeLimitError(ExportError):
    """A program that has not ended in time."""


@dataclass(frozen=True)
class Compiler:
    """A compiler.

    Attributes:
        language: "c" or "c++".
        command: program and arguments that it is called by.
    """

    language: str
    command: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        return " ".join((Path(self.command[0]).name, *self.command[1:]))

    @cached_property
    def version(self) -> str:
        """What it says of itself, in one line."""
        try:
            done = run_with_timeout([*self.command, "--version"], Path(tempfile.gettempdir()), 10.0)
        except ExportError:
            return self.name
        return next((line.strip() for line in done.stdout.splitlines() if line.strip()), self.name)

    def build(self, arguments: Sequence[str], folder: Path, seconds: float) -> None:
        """Compile in a folder.

        Raises:
            ExportError: with what it says first, if it fails.
            TimeLimitError: if it takes longer.
        """
        done = run_with_timeout([*self.command, *arguments], folder, seconds)
        if done.returncode != 0:
            message = done.stderr.strip() or done.stdout.strip()
            first = next((line for line in message.splitlines() if "error" in line.lower()), message[:200])
            raise ExportError(first.strip() or f"{self.name} fails")

    def is_working(self) -> bool:
        """Whether it makes programs that run here: its libraries may be missing, or it is for others."""
        with tempfile.TemporaryDirectory(prefix="nacelle-cc-") as folder:
            source = f"smallest{_ENDINGS[self.language]}"
            (Path(folder) / source).write_text(_SMALLEST, encoding="utf-8")
            try:
                self.build([source, "-lm", "-o", "smallest"], Path(folder), 60.0)
                return run_with_timeout(["./smallest"], Path(folder), 10.0).returncode == 0
            except ExportError:
                return False


def find_compiler(language: str = "c", command: str | None = None) -> Compiler | None:
    """The compiler of a language; None if it was not found.

    Args:
        language: "c" or "c++".
        command: how it is called; $CC or $CXX, or what the system has, if None.

    Raises:
        ExportError: if a compiler is named and missing.
    """
    variable, others = _NAMES[language]
    named = command or os.environ.get(variable)
    for candidate in [named] if named else others:
        try:
            parts = shlex.split(candidate)
        except ValueError:
            parts = [candidate]
        program = shutil.which(parts[0]) if parts else None
        if program is not None:
            return Compiler(language, (program, *parts[1:]))
    if command is not None:
        raise ExportError(f"there is no {language.upper()} compiler {command!r}")
    return None


def run_with_timeout(
    command: Sequence[str], folder: Path, seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, and give what it prints.

    Raises:
        ExportError: if it cannot be started.
        TimeLimitError: if it takes longer.
    """
    name = Path(command[0]).name
    try:
        return subprocess.run(
            list(command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TimeLimitError(f"{name} takes longer than {seconds:g} s") from None
    except OSError as error:
        raise ExportError(f"{name} does not run: {error.strerror or error}") from None
