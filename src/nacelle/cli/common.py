"""What all commands share: consoles, errors, JSON, new files, and what Ctrl-C leaves."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from nacelle.cli.complete import complete_robots
from nacelle.cli.progress import hide_progress
from nacelle.errors import MAX_PROBLEMS_LISTED, DescriptionError, NacelleError, TableError, describe_count
from nacelle.files import write_atomically

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

RobotArgument = Annotated[
    str,
    typer.Argument(
        metavar="robot",
        help="Robot of the library (listed by nacelle robots), or a YAML file.",
        autocompletion=complete_robots,
    ),
]
PICTURES = (".png", ".svg", ".pdf")
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def console(stderr: bool = False) -> Console:
    """A console that keeps long lines whole where it does not write to a terminal."""
    from rich.console import Console

    hide_progress()
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else 160
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=stderr)


def print_error(error: NacelleError, as_json: bool = False) -> None:
    """Print an error on stderr, one line a problem; with `--json` as data on stdout.

    Every error of the command line has this form: "error: what is wrong; what would be right", and for files
    "file:line:column: place: what is wrong (what would be right)".
    """
    if isinstance(error, DescriptionError):
        if as_json:
            problems = [problem.as_dict() for problem in error.problems[:MAX_PROBLEMS_LISTED]]
            print_json({"ok": False, "count": len(error.problems), "problems": problems})
        else:
            from nacelle.report.summary import problem_line

            err = console(stderr=True)
            for problem in error.problems[:MAX_PROBLEMS_LISTED]:
                err.print(problem_line(problem))
            err.print(f"[bold red]{describe_count(error.problems)}[/]")
    elif as_json:
        problems = [problem.as_dict() for problem in error.problems] if isinstance(error, TableError) else []
        print_json({"ok": False, "error": str(error)} | ({"problems": problems} if problems else {}))
    else:
        console(stderr=True).print(error_text(str(error)))


# What a message says would be right, at its end.
_HINT = re.compile(r"did you mean .*\?|known: .*|(?<=; )(?:name|give|write|use|see) .*")


def error_text(message: str) -> Text:
    """A message of an error in colour: red what is wrong, green what would be right."""
    from rich.text import Text

    text = Text.assemble(("error: ", "bold red"), (message, "red"))
    text.highlight_regex(_HINT, "green")
    return text


def print_json(data: Any) -> None:
    """Print data as JSON: arrays as lists, and null in the place of NaN and infinity."""
    from nacelle.tables.json_text import json_text

    print_text(json_text(data))


# Exit status after Ctrl-C, as shells have it.
INTERRUPTED_STATUS = 130
# What the running command has written, for the line that Ctrl-C leaves.
_written_files: list[str] = []


def report_written(path: Path | str) -> None:
    """Say on stderr that a file or folder is written, and remember it for Ctrl-C."""
    _written_files.append(str(path))
    console(stderr=True).print(f"wrote {path}", markup=False)


def clear_written_files() -> None:
    """A command begins: nothing is written yet."""
    _written_files.clear()


def print_interrupted(remark: str = "") -> None:
    """Say on stderr what Ctrl-C has left.

    Args:
        remark: a message that says what is kept in addition to the files that were written.
    """
    parts = [remark] if remark else []
    parts += [f"kept {', '.join(_written_files)}"] if _written_files else []
    message = "; ".join(parts) or "no file was written"
    console(stderr=True).print(f"interrupted: {message}", style="yellow", markup=False)


def exit_interrupted(remark: str = "") -> NoReturn:
    """Say what Ctrl-C has left, and leave with its status.

    Args:
        remark: a message that says what is kept in addition to the files that were written.
    """
    print_interrupted(remark)
    raise typer.Exit(INTERRUPTED_STATUS)


def print_text(text: str, end: str = "\n") -> None:
    """Print a text as it is."""
    hide_progress()
    print(text, end=end)


# Whether files that exist are replaced: a list, so that a line can set it for its command.
_overwrite = [False]
# Of a file that exists and stays.
FILE_EXISTS_MESSAGE = "exists already; it is left as it is (--overwrite replaces it)"


def set_overwrite(overwrite: bool) -> None:
    """Set whether files that exist are replaced by those that a command writes (`--overwrite`)."""
    _overwrite[0] = overwrite


def will_overwrite(target: Path) -> bool:
    """Whether a file exists and is to be replaced; what is in its place is no file of results."""
    return _overwrite[0] and target.is_file()


def check_output_file(target: Path | None, endings: tuple[str, ...] = ()) -> None:
    """Say before the work is done that a file cannot be written; None needs none.

    Args:
        target: the file.
        endings: what its name must end with, such as ".png"; anything if none are given.
    """
    if target is None:
        return
    if endings and target.suffix.lower() not in endings:
        raise NacelleError(
            f"{target.name}: write {' or '.join(filter(None, (', '.join(endings[:-1]), endings[-1])))}"
        )
    try:
        if target.is_dir():
            raise NacelleError(f"{target} is a folder: name a file in it")
        if target.exists() and (target.is_file() or endings) and not will_overwrite(target):
            raise NacelleError(f"{target} {FILE_EXISTS_MESSAGE}")
        if not target.parent.is_dir():
            raise NacelleError(f"there is no folder {target.parent}")
        if not os.access(target if target.exists() else target.parent, os.W_OK):
            raise NacelleError(f"cannot write {target}: permission denied")
    except (OSError, ValueError) as error:
        raise NacelleError(f"cannot write {str(target)[:80]!r}: {error}") from None


def write_output_file(target: Path, text: str) -> None:
    """Write a file that does not exist yet, or is to be replaced, whole or not at all."""
    check_output_file(target)
    try:
        write_atomically(target, text, new=not will_overwrite(target))
    except FileExistsError:
        raise NacelleError(f"{target} {FILE_EXISTS_MESSAGE}") from None
    except OSError as error:
        raise NacelleError(f"cannot write {target}: {error.strerror or error}") from None
