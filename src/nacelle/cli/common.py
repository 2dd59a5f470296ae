"""What all commands share: consoles, errors, JSON and new files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.progress import make_place
from nacelle.errors import LISTED, DescriptionError, NacelleError, count_words
from nacelle.files import write_whole

if TYPE_CHECKING:
    from rich.console import Console

RobotArgument = Annotated[
    str, typer.Argument(metavar="robot", help="Name of a robot of the library, or a YAML file.")
]
PICTURES = (".png", ".svg", ".pdf")
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def console(stderr: bool = False) -> Console:
    """A console that keeps long lines whole where it does not write to a terminal."""
    from rich.console import Console

    make_place()
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else 160
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=stderr)


def print_error(error: NacelleError, as_json: bool) -> None:
    """Print an error, one line a problem."""
    if isinstance(error, DescriptionError):
        if as_json:
            listed = [problem.as_dict() for problem in error.problems[:LISTED]]
            print_json({"ok": False, "count": len(error.problems), "problems": listed})
        else:
            from nacelle.report.text import problem_line

            err = console(stderr=True)
            for problem in error.problems[:LISTED]:
                err.print(problem_line(problem))
            err.print(f"[bold red]{count_words(error.problems)}[/]")
    elif as_json:
        print_json({"ok": False, "error": str(error)})
    else:
        console(stderr=True).print(f"error: {error}", style="red", markup=False)


def print_json(data: Any) -> None:
    """Print data as JSON: arrays as lists, and null in the place of NaN and infinity."""
    from nacelle.tables.json_text import json_text

    print_text(json_text(data))


def print_text(text: str, end: str = "\n") -> None:
    """Print a text as it is."""
    make_place()
    print(text, end=end)


def check_new(target: Path | None, endings: tuple[str, ...] = ()) -> None:
    """Say before the work is done that a file cannot be written; None needs none.

    Args:
        target: the file.
        endings: what its name must end with, such as ".png"; anything if none are given.
    """
    if target is None:
        return
    if endings and target.suffix.lower() not in endings:
        raise NacelleError(f"{target.name}: write {', '.join(endings[:-1])} or {endings[-1]}")
    try:
        if target.is_dir():
            raise NacelleError(f"{target} is a folder: name a file in it")
        if target.exists() and (target.is_file() or endings):
            raise NacelleError(f"{target} exists already; it is left as it is")
        if not target.parent.is_dir():
            raise NacelleError(f"there is no folder {target.parent}")
        if not os.access(target if target.exists() else target.parent, os.W_OK):
            raise NacelleError(f"cannot write {target}: permission denied")
    except (OSError, ValueError) as error:
        raise NacelleError(f"cannot write {str(target)[:80]!r}: {error}") from None


def write_new(target: Path, text: str) -> None:
    """Write a file that does not exist yet, whole or not at all."""
    check_new(target)
    try:
        write_whole(target, text, new=True)
    except FileExistsError:
        raise NacelleError(f"{target} exists already; it is left as it is") from None
    except OSError as error:
        raise NacelleError(f"cannot write {target}: {error.strerror or error}") from None
