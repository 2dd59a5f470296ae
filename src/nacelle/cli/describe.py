"""Commands about descriptions: `robots`, `show`, `check`, `schema`, `new`, `import`.

`new` gives a description to start from, `import` one of a robot from a file of another engine.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import (
    JsonOption,
    RobotArgument,
    check_output_file,
    console,
    print_json,
    print_text,
    report_written,
    write_output_file,
)
from nacelle.cli.complete import complete_choices, complete_robots
from nacelle.cli.inputs import ModeOption, read_quantity
from nacelle.cli.outputs import print_exchange, print_parts
from nacelle.errors import MAX_PROBLEMS_LISTED, DescriptionError, NacelleError, describe_count, format_count
from nacelle.progress import task

# ---- robots, show, check, schema


@command("robots")
def robots_command(
    names: Annotated[bool, typer.Option("--names", help="Print the names only, one per line.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the robots of the library."""
    if names:
        from nacelle import robots

        if as_json:
            print_json(robots.all_names())
        else:
            print_text("\n".join(robots.all_names()))
        return
    from nacelle.report.listing import library_rows

    rows = library_rows()
    if as_json:
        print_json(rows)
        return
    from rich.text import Text

    from nacelle.report.table import plain_table

    columns = (f"{name}>" if isinstance(value, int) else name for name, value in rows[0].items())
    print_parts([plain_table(*columns, rows=[[Text(str(value)) for value in row.values()] for row in rows])])


@command("show")
def show_command(
    robot_name: RobotArgument,
    *,
    elements: Annotated[
        bool, typer.Option("--elements", help="Print the kinematic elements and their symbolic equations.")
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print the kinematic elements as LaTeX.")] = False,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Print the structure of a robot: tree, legs, joints, actuators, bodies, mobility, parameters."""
    from nacelle.library import check, in_mode

    checked = check(robot_name)
    if mode:
        from nacelle.kinematics.mechanism.check import check_robot

        checked = check_robot(in_mode(checked.robot, mode))
    if elements or latex:
        from nacelle.report.elements import element_report

        report = element_report(checked.robot)
        if as_json:
            print_json({"robot": checked.robot.name, "text": report.text(), "latex": report.latex()})
        else:
            print_text(report.latex() if latex else report.text())
        return
    if as_json:
        from nacelle.report.summary import summary

        print_json(summary(checked))
    else:
        from nacelle.report.summary import print_summary

        print_summary(checked, console())


@command("check")
def check_command(
    files: Annotated[list[str], typer.Argument(help="Descriptions (YAML files), or robots of the library.")],
    as_json: JsonOption = False,
) -> None:
    """Check descriptions and list all errors and warnings with file, line and column."""
    from rich.markup import escape

    from nacelle.library import check
    from nacelle.report.summary import problem_line

    results: list[dict[str, Any]] = []
    for name in files:
        try:
            with task(f"checking {name}"):
                checked = check(name)
            problems = list(checked.problems)
        except DescriptionError as error:
            problems = list(error.problems)
        except NacelleError as error:
            if as_json:
                results.append({"file": name, "ok": False, "error": str(error), "problems": []})
            else:
                console(stderr=True).print(f"error: {error}", style="red", markup=False)
                results.append({"ok": False})
            continue
        errors = [problem for problem in problems if problem.severity == "error"]
        entries = [problem.as_dict() for problem in problems[:MAX_PROBLEMS_LISTED]]
        results.append({"file": name, "ok": not errors, "count": len(problems), "problems": entries})
        if as_json:
            continue
        for problem in problems[:MAX_PROBLEMS_LISTED]:
            console(stderr=True).print(problem_line(problem))
        if errors:
            console(stderr=True).print(f"[bold red]{describe_count(errors)}[/] in {escape(name)}")
        else:
            robot = checked.robot
            console().print(
                f"[green]ok[/] {robot.name}: {format_count(len(robot.legs), 'leg')}, "
                f"{format_count(len(robot.described_bodies), 'body', 'bodies')}, "
                f"{format_count(len(robot.actuators), 'actuator')}, motion {escape(robot.motion.name)}, "
                f"hash {robot.hash[:16]}"
            )
    if as_json:
        print_json(results if len(results) > 1 else results[0])
    if not all(result["ok"] for result in results):
        raise typer.Exit(1)


@command("schema")
def schema_command() -> None:
    """Print the JSON schema of descriptions, for completion and checks in editors."""
    from nacelle.model.description.schema import shipped_schema

    print_json(shipped_schema())


# ---- new: a description to start from


@command("new")
def new_command(
    name: Annotated[str, typer.Argument(help="Name of the new robot.")],
    *,
    leg: Annotated[
        str | None,
        typer.Option(
            "--leg",
            metavar="UPS",
            help="Leg types by joint letters (R P U C S), such as 6-UPS, 3-\\[P]RR or RUS,RUS,PRR. Actuated "
            "joints are marked \\[P], P* or _P; by default the first P, or else the first R, is actuated.",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option("--count", help="Number of legs (with --leg); by default as many as the motion needs."),
    ] = None,
    motion: Annotated[
        str | None,
        typer.Option(
            "--motion",
            help="Motion type of the platform (with --leg): se3, xyz, xyz+rz, xy+rz, z+rx+ry, ...; by "
            "default the first common one that the legs allow.",
            autocompletion=complete_choices("se3", "xyz", "xyz+rz", "xy+rz", "z+rx+ry", "rx+ry+rz"),
        ),
    ] = None,
    from_robot: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Robot of the library, or YAML file, to copy; fivebar if neither --leg nor --from is given.",
            autocompletion=complete_robots,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Description to write (YAML); NAME.yaml by default.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a new description: sketched from leg types (--leg), or copied from a robot (--from)."""
    target = out or Path(f"{name}.yaml")
    if not re.fullmatch(r"\w[\w\-]*", name) or len(name) > 64:
        raise NacelleError(f"{name!r} is not a name: use letters, digits, _ and -")
    if leg is None and (count is not None or motion is not None):
        raise NacelleError("--count and --motion require --leg; write for example --leg UPS")
    if leg is not None and from_robot is not None:
        raise NacelleError("give --leg or --from, not both")
    check_output_file(target)
    if leg is not None:
        from nacelle.sketch.sketch import sketch

        sketched = sketch(name, leg, count=count, motion=motion)
        legs = [str(kind) for kind in sketched.legs]
        text, data, line = sketched.text, {"legs": legs, "motion": sketched.motion}, sketched.summary
    else:
        source = "fivebar" if from_robot is None else from_robot
        text, data, line = (
            rename_description(_description_text(source), name),
            {"from": source},
            f"a copy of {source}",
        )
    write_output_file(target, text)
    if as_json:
        print_json({"ok": True, "file": str(target), "name": name, **data})
    else:
        console().print(f"wrote {target}: {line}; next: nacelle check {target}", markup=False)


def _description_text(robot: str) -> str:
    """The text of a robot of the library or of a file."""
    from nacelle import robots
    from nacelle.library import check, looks_like_file, require_file

    if not looks_like_file(robot):
        return robots.text(robot)
    require_file(robot)
    check(robot).require()
    return Path(robot).read_text(encoding="utf-8")


def rename_description(text: str, name: str) -> str:
    """Give a description another name; comments stay unless the name is written in an unusual way."""
    from nacelle.model.read import read_text

    renamed = re.sub(r"(?m)^name:.*$", f'name: "{name}"', text, count=1)
    robot, _ = read_text(renamed)
    return renamed if robot.name == name else dataclasses.replace(robot, name=name).to_yaml()


# ---- import: a robot from a file of another engine


@command("import")
def import_command(
    file: Annotated[Path, typer.Argument(help="MJCF, URDF, SDF or SYMORO+ file to convert.")],
    *,
    out: Annotated[Path, typer.Option("--out", help="Description to write (YAML).")],
    closures: Annotated[
        Path | None, typer.Option("--closures", help="Loop closures and actuated joints of a URDF (YAML).")
    ] = None,
    drive: Annotated[
        str | None,
        typer.Option("--drive", help="Driven joints or actuators, a,b,...; by default those of the file."),
    ] = None,
    floating: Annotated[
        bool, typer.Option("--floating", help="Let the root link of a URDF move freely (floating base).")
    ] = False,
    keyframe: Annotated[
        str | None,
        typer.Option(
            "--keyframe",
            help="Keyframe in which the loops are closed; by default the first, '' for the pose of the file.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the robot; by default the name in the file.")
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option(
            "--platform", help="Body that is the platform; by default chosen automatically, '' for none."
        ),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            "--tolerance",
            help="Largest shift of a joint frame that closes rounded loops, such as 0.05mm; by default "
            "1e-3 of the loops' size.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Convert MJCF, URDF, SDF or SYMORO+ to a description, and list what is lost."""
    from nacelle.exchange.imported import import_robot

    check_output_file(out)
    done = import_robot(
        file,
        closures=closures,
        drive=None if drive is None else [name.strip() for name in drive.split(",") if name.strip()],
        floating=floating,
        keyframe=keyframe,
        name=name,
        platform=platform,
        tolerance=None if tolerance is None else read_quantity(tolerance, angle=False),
    )
    done.save(out)
    # Lines are those of the file that was read, or of what was written.
    warnings = [
        problem if problem.file == str(file) else dataclasses.replace(problem, file=str(out))
        for problem in done.warnings
    ]
    if as_json:
        entries = [problem.as_dict() for problem in warnings]
        lists = {"steps": list(done.steps), "losses": list(done.losses), "warnings": entries}
        print_json({"ok": True, "out": str(out), "robot": done.robot.name, **lists})
        return
    print_exchange(done)
    print_parts(str(problem) for problem in warnings)
    report_written(out)
