"""Commands about descriptions: `robots`, `show`, `check`, `schema`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, console, print_json, print_text
from nacelle.cli.inputs import ModeOption, in_mode
from nacelle.errors import LISTED, DescriptionError, NacelleError, count_words, number_of
from nacelle.progress import task


@command("robots")
def robots_command(
    names: Annotated[bool, typer.Option("--names", help="Names only, one a line.")] = False,
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
    from rich.markup import escape

    from nacelle.report.table import plain_table

    table = plain_table(*(f"{name}>" if isinstance(value, int) else name for name, value in rows[0].items()))
    for row in rows:
        table.add_row(*(escape(str(value)) for value in row.values()))
    console().print(table)


@command("show")
def show_command(
    robot_name: RobotArgument,
    *,
    elements: Annotated[
        bool, typer.Option("--elements", help="Kinematic elements and their equations, the view on paper.")
    ] = False,
    latex: Annotated[bool, typer.Option("--latex", help="With --elements: as LaTeX.")] = False,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Show a robot: tree, joints, loops, mobility, parameters, closed forms, elements."""
    from nacelle.library import check

    checked = check(robot_name)
    if mode:
        from nacelle.kinematics.mechanism.check import check_robot

        checked = check_robot(in_mode(checked.robot, mode))
    if elements or latex:
        from nacelle.report.elements.page import element_report

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
        from nacelle.report.text import show

        show(checked, console())


@command("check")
def check_command(
    files: Annotated[list[str], typer.Argument(help="YAML files, or robots of the library.")],
    as_json: JsonOption = False,
) -> None:
    """Check descriptions; print everything that is wrong, each with its place."""
    from rich.markup import escape

    from nacelle.library import check
    from nacelle.report.text import problem_line

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
        listed = [problem.as_dict() for problem in problems[:LISTED]]
        results.append({"file": name, "ok": not errors, "count": len(problems), "problems": listed})
        if as_json:
            continue
        for problem in problems[:LISTED]:
            console(stderr=True).print(problem_line(problem))
        if errors:
            console(stderr=True).print(f"[bold red]{count_words(errors)}[/] in {escape(name)}")
        else:
            robot = checked.robot
            console().print(
                f"[green]ok[/] {robot.name}: {number_of(len(robot.legs), 'leg')}, "
                f"{number_of(len(robot.written_bodies), 'body', 'bodies')}, "
                f"{number_of(len(robot.actuators), 'actuator')}, motion {escape(robot.motion.name)}, "
                f"hash {robot.hash[:16]}"
            )
    if as_json:
        print_json(results if len(results) > 1 else results[0])
    if not all(result["ok"] for result in results):
        raise typer.Exit(1)


@command("schema")
def schema_command() -> None:
    """Print the JSON schema of descriptions, for editors."""
    from nacelle.model.description.schema import shipped_schema

    print_json(shipped_schema())
