"""What all commands share: the application, its options, errors, JSON and files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from nacelle.cli.progress import make_place
from nacelle.errors import DescriptionError, NacelleError

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(
    name="nacelle",
    help="Dynamics of parallel robots, from one description to the controller.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

RobotArgument = Annotated[str, typer.Argument(help="Name of a robot of the library, or a YAML file.")]
PICTURES = (".png", ".svg", ".pdf")
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def console(stderr: bool = False) -> Console:
    """A console that keeps long lines whole where it does not write to a terminal."""
    from rich.console import Console

    make_place()
    width = None if (sys.stderr if stderr else sys.stdout).isatty() else 160
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=stderr)


def fail(error: NacelleError, as_json: bool) -> NoReturn:
    """Print an error, one line a problem, and leave with status 1."""
    if isinstance(error, DescriptionError):
        if as_json:
            print_json({"ok": False, "problems": [problem.as_dict() for problem in error.problems]})
        else:
            from nacelle.report.text import problem_line

            err = console(stderr=True)
            for problem in error.problems:
                err.print(problem_line(problem))
            count = len(error.problems)
            err.print(f"[bold red]{count} {'problem' if count == 1 else 'problems'}[/]")
    elif as_json:
        print_json({"ok": False, "error": str(error)})
    else:
        console(stderr=True).print(f"error: {error}", style="red", markup=False)
    raise typer.Exit(1)


def print_json(data: Any) -> None:
    """Print plain data as JSON."""
    print_text(json.dumps(data, indent=2, allow_nan=False))


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
    if target.exists():
        raise NacelleError(f"{target} exists already; it is left as it is")
    if not target.parent.is_dir():
        raise NacelleError(f"there is no folder {target.parent}")


def write_new(target: Path, text: str) -> None:
    """Write a file that does not exist yet, whole or not at all."""
    check_new(target)
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        os.link(part, target)
    except FileExistsError:
        raise NacelleError(f"{target} exists already; it is left as it is") from None
    finally:
        part.unlink(missing_ok=True)
