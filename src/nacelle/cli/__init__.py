"""The command line.

`nacelle robots | show | check | new | schema | ik | fk | workspace | draw | dynamics | verify | simulate |
reactions | linearise | balance | ops | export | demo`
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from nacelle.cli import (
    balance,
    demo,
    describe,
    draw,
    export,
    linearise,
    motion,
    ops,
    pose,
    reactions,
    simulate,
    workspace,
)
from nacelle.cli.common import app

__all__ = [
    "app",
    "balance",
    "demo",
    "describe",
    "draw",
    "export",
    "linearise",
    "main",
    "motion",
    "ops",
    "pose",
    "reactions",
    "simulate",
    "workspace",
]


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Dynamics of parallel robots, from one description to the controller."""
    if version:
        from nacelle import __version__

        print(f"nacelle {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a letter gets a question mark in its place.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()
