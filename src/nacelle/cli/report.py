"""The command `report`: the data sheet of a robot."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import (
    INTERRUPTED_STATUS,
    JsonOption,
    RobotArgument,
    check_output_file,
    console,
    exit_interrupted,
    print_json,
    write_output_file,
)
from nacelle.cli.inputs import ModeOption, PayloadOption
from nacelle.errors import format_count
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.report.sheet.models import EngineComparison
    from nacelle.report.sheet.sheet import DataSheet


@command("report")
def report_command(
    robot_name: RobotArgument,
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="HTML page to write; ROBOT.html by default."),
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            "--section",
            metavar="NAME",
            help="Section to include, such as workspace (repeatable); by default all.",
        ),
    ] = None,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Write the data sheet of a robot (HTML): structure, workspace, loads, parameters, verification."""
    with task(f"reading {robot_name}"):
        from nacelle.report.sheet.sheet import DataSheet, background_worker, make_sections, section_names
        from nacelle.report.sheet.subject import subject_of

        names = section_names(section)
        subject = subject_of(robot_name, mode, payload or ())
    if out is None and not as_json:
        out = Path(re.sub(r"[^\w.-]+", "_", subject.robot.name).strip("._") or "robot").with_suffix(".html")
    check_output_file(out)
    done = {}
    try:
        with background_worker(names, robot_name, mode, payload or (), _verify_robot) as worker:
            for part in make_sections(subject, names, _verify_robot, worker=worker):
                done[part.name] = part
    except KeyboardInterrupt:
        if not done:
            exit_interrupted()
    sheet = DataSheet(
        subject,
        tuple(done[name] for name in names if name in done),
        tuple(name for name in names if name not in done),
    )
    if as_json:
        print_json(sheet.data())
    if out is not None:
        write_output_file(out, sheet.html())
        console(stderr=as_json).print(_summary_line(sheet, out), markup=False)
    if sheet.unfinished:
        raise typer.Exit(INTERRUPTED_STATUS)


def _verify_robot(robot: Robot) -> EngineComparison:
    """The robot compared with the same robot in other engines."""
    from nacelle.verify import verify

    return verify(robot)


def _summary_line(sheet: DataSheet, out: Path) -> str:
    """What was written, and which sections are missing."""
    line = f"wrote {out}: {format_count(len(sheet.sections), 'section')}"
    without = [part.title for part in sheet.sections if part.content is None]
    if without:
        line += f", of which these failed (the page gives the reasons): {', '.join(without)}"
    if sheet.unfinished:
        line += f"; interrupted before {', '.join(sheet.unfinished)}"
    return line
