"""The command line: `nacelle COMMAND`; `nacelle.cli.commands` says in which module each command is."""

from __future__ import annotations

import gc
import io
import itertools
import os
import sys
from typing import Annotated

import typer

from nacelle.cli.commands import app, run
from nacelle.cli.progress import show_progress

__all__ = ["app", "main"]


@app.callback(invoke_without_command=True)
def global_options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the versions of nacelle, Python and the packages it uses."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an internal error (anywhere on the line).")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace existing output files (anywhere on the line).")
    ] = False,
) -> None:
    """Dynamics of parallel robots, from one description to the controller."""
    del debug, overwrite  # taken out of the line before it is read
    if version:
        from nacelle.cli.versions import version_lines

        print("\n".join(version_lines()))
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    # Modules and programs make hundreds of thousands of objects that stay: looking for cycles among them as
    # often as Python does takes a tenth of a short command.
    gc.set_threshold(100_000, 20, 20)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter gets a question mark in its place.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if "_NACELLE_COMPLETE" in os.environ:
        # A shell that completes a word has no place for lines of progress.
        run()
        return
    with show_progress(_command_name(sys.argv[1:]), silent="--json" in sys.argv):
        run()


def _command_name(arguments: list[str]) -> str:
    """The name of the command in a line, with what follows it: "ik delta"."""
    names = list(itertools.takewhile(lambda word: not word.startswith("-"), arguments))
    return " ".join(names[:2]) or "nacelle"
