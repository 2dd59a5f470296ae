"""The command `validate`: how well a robot's numbers predict measured forces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, check_new, console, print_json, write_new, wrote
from nacelle.cli.identification.options import (
    AllowOption,
    ColumnsOption,
    CutoffOption,
    DataArgument,
    DecimationOption,
    filters,
    read_all,
)
from nacelle.cli.inputs import ModeOption, load_robot
from nacelle.cli.loads import PayloadOption, loaded

if TYPE_CHECKING:
    from nacelle.identification.validation import Validation


@command("validate")
def validate_command(
    robot_name: RobotArgument,
    data: DataArgument,
    *,
    columns: ColumnsOption = None,
    cutoff: CutoffOption = None,
    decimation: DecimationOption = None,
    allow: AllowOption = None,
    report: Annotated[Path | None, typer.Option("--report", help="Page to write (html).")] = None,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """How well a robot's numbers predict measured forces: residuals, noise, memory, in plain words."""
    from nacelle.identification.data.checks.check import check_measurement
    from nacelle.identification.identify import raise_for, raise_for_misfit
    from nacelle.identification.validation import validate

    check_new(report, (".html", ".htm"))
    robot = loaded(load_robot(robot_name, mode), payload)
    measured = read_all(robot, data, columns)
    if "all" not in (allow or ()):
        for measurement in measured:
            raise_for(check_measurement(measurement), allow or ())
    result = validate(robot, measured, preparation=filters(cutoff, decimation))
    if not as_json:
        show_rows(f"{robot.name}: forces", result)
    raise_for_misfit(result, allow or ())
    if report is not None:
        from nacelle.report.identification.page import validation_page

        write_new(report, validation_page(result))
        wrote(report)
    if as_json:
        print_json(result.data())


def show_rows(title: str, result: Validation) -> None:
    """Print how well forces are predicted, a line a row."""
    from rich.text import Text

    out = console()
    out.print(f"{title}: R^2 {result.score:.5f} over {result.regression.count} samples", highlight=False)
    for words in result.words():
        out.print(Text(f"- {words}"))
