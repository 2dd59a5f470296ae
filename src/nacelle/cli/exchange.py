"""The command `import`: a robot from a file of another engine."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, check_new, console, print_json, wrote


@command("import")
def import_command(
    file: Annotated[Path, typer.Argument(help="MJCF, URDF, SDF or SYMORO+ file.")],
    *,
    out: Annotated[Path, typer.Option("--out", help="Description to write, YAML.")],
    closures: Annotated[
        Path | None, typer.Option("--closures", help="Loops and drives of a URDF, YAML.")
    ] = None,
    floating: Annotated[
        bool, typer.Option("--floating", help="The root link of a URDF moves freely.")
    ] = False,
    keyframe: Annotated[
        str | None,
        typer.Option(
            "--keyframe", help="Keyframe of the assembly; the first if missing, the drawn pose if ''."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the robot; the file's if missing.")
    ] = None,
    nacelle: Annotated[
        str | None, typer.Option("--nacelle", help="Body that is the nacelle; chosen if missing, none if ''.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import a robot from MJCF, URDF, SDF or SYMORO+: a description, and a report of what was left out."""
    from nacelle.exchange.imported import import_robot

    check_new(out)
    done = import_robot(
        file, closures=closures, floating=floating, keyframe=keyframe, name=name, nacelle=nacelle
    )
    done.save(out)
    # Their lines are those of what was written.
    warnings = [dataclasses.replace(problem, file=str(out)) for problem in done.warnings]
    if as_json:
        listed = [problem.as_dict() for problem in warnings]
        lists = {"steps": list(done.steps), "losses": list(done.losses), "warnings": listed}
        print_json({"ok": True, "out": str(out), "robot": done.robot.name, **lists})
        return
    shown = console()
    for sentence in done.steps:
        shown.print(f"done: {sentence}", markup=False)
    for sentence in done.losses:
        shown.print(f"lost: {sentence}", markup=False)
    for problem in warnings:
        shown.print(str(problem), markup=False)
    wrote(out)
