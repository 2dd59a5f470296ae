"""The command `new`: a description to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, check_new, console, print_json, write_new
from nacelle.cli.complete import completes, robots_and_files
from nacelle.errors import NacelleError


@command("new")
def new_command(
    name: Annotated[str, typer.Argument(help="Name of the new robot; the file is NAME.yaml.")],
    *,
    leg: Annotated[
        str | None,
        typer.Option(
            "--leg",
            metavar="UPS",
            help="Leg types by the letters of their joints (R P U C S): 6-UPS, 3-\\[P]RR, RUS,RUS,PRR; "
            "actuated joints as \\[P], P* or _P, otherwise the first P, or else the first R.",
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", help="With --leg: how many legs; as many as the motion needs.")
    ] = None,
    motion: Annotated[
        str | None,
        typer.Option(
            "--motion",
            help="With --leg: se3, xyz, xyz+rz, xy+rz, z+rx+ry, ...; a usual one if missing.",
            autocompletion=completes("se3", "xyz", "xyz+rz", "xy+rz", "z+rx+ry", "rx+ry+rz"),
        ),
    ] = None,
    from_robot: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Robot of the library, or YAML file, to start from; fivebar if nothing is said.",
            autocompletion=robots_and_files,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write; a new one, unless --overwrite.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Start a new robot: sketched from its leg types (--leg), or a copy of another one (--from)."""
    target = out or Path(f"{name}.yaml")
    if not re.fullmatch(r"\w[\w\-]*", name) or len(name) > 64:
        raise NacelleError(f"{name!r} is not a name: use letters, digits, _ and -")
    if leg is None and (count is not None or motion is not None):
        raise NacelleError("--count and --motion go with --leg; write for example --leg UPS")
    if leg is not None and from_robot is not None:
        raise NacelleError("give --leg or --from, not both")
    check_new(target)
    if leg is not None:
        from nacelle.sketch.sketch import sketch

        made = sketch(name, leg, count=count, motion=motion)
        legs = [str(kind) for kind in made.legs]
        text, data, line = made.text, {"legs": legs, "motion": made.motion}, made.summary
    else:
        source = "fivebar" if from_robot is None else from_robot
        text, data, line = with_name(_existing(source), name), {"from": source}, f"a copy of {source}"
    try:
        write_new(target, text)
    except OSError as error:
        raise NacelleError(f"cannot write {target}: {error.strerror or error}") from None
    if as_json:
        print_json({"ok": True, "file": str(target), "name": name, **data})
    else:
        console().print(f"wrote {target}: {line}; next: nacelle check {target}", markup=False)


def _existing(robot: str) -> str:
    """The text of a robot of the library or of a file."""
    from nacelle import robots
    from nacelle.library import check, looks_like_file, require_file

    if not looks_like_file(robot):
        return robots.text(robot)
    require_file(robot)
    check(robot).require()
    return Path(robot).read_text(encoding="utf-8")


def with_name(text: str, name: str) -> str:
    """Give a description another name; comments stay unless the name is written in an unusual way."""
    import dataclasses

    from nacelle.model.read import read_text

    written = re.sub(r"(?m)^name:.*$", f'name: "{name}"', text, count=1)
    robot, _ = read_text(written)
    return written if robot.name == name else dataclasses.replace(robot, name=name).to_yaml()
