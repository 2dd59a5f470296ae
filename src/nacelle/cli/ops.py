"""The command `ops`: how many operations a model takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.common import JsonOption, RobotArgument, app, console, fail, print_json
from nacelle.cli.pose import ModeOption, load_robot
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.report.operations import Operations


@app.command("ops")
def ops_command(
    robot: RobotArgument,
    model: Annotated[
        str,
        typer.Argument(
            help="inverse_dynamics, forward_dynamics, inverse_kinematics, jacobian, mass_matrix, "
            "bias_forces, gravity_forces, regressor or reference_regressor."
        ),
    ] = "inverse_dynamics",
    friction: Annotated[bool, typer.Option("--friction", help="Count friction too.")] = False,
    source: Annotated[
        str, typer.Option("--input", help="What the model takes: pose, elements or encoders.")
    ] = "pose",
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Operations of a model in its smallest form, by class and by stage, beside what is published."""
    try:
        from nacelle.report.operations import operation_count

        found = operation_count(load_robot(robot, mode), model, input=source, friction=friction)
    except NacelleError as error:
        fail(error, as_json)
    if as_json:
        print_json(found.data())
    else:
        _show(found)


def _show(found: Operations) -> None:
    from rich.table import Table

    out = console()
    with_friction = "with friction" if found.friction else "without friction"
    out.print(f"{found.robot}: {found.model}, {with_friction}, from {found.input}", highlight=False)
    shapes = ", ".join(f"{name} {list(shape)}" for name, shape in found.inputs.items())
    out.print(f"  inputs    {shapes}", highlight=False, markup=False)
    forms = {"general": "the general form", "measured": "legs by what is measured on them"}
    form = forms.get(found.form, "the equivalent tree")
    out.print(f"  contains  {found.includes} ({form})", highlight=False)
    out.print(f"  {found.count}", highlight=False)
    if found.iteration is not None:
        out.print(
            f"  and in every iteration {found.iteration}\n  (a step of Newton's method towards y, the joints "
            "of legs without a closed form; how many a pose takes depends on the guess)",
            highlight=False,
        )
    theirs = {name: (add, mul) for entry in found.published for name, add, mul in entry.stages}
    if found.stages:
        table = Table("stage", "+/-", "×/÷", "together")
        if theirs:
            table.add_column(f"published ({found.published[0].source})")
        for stage in found.stages:
            row = [stage.name, str(stage.add), str(stage.mul), str(stage.add + stage.mul)]
            if theirs:
                add, mul = theirs[stage.name]
                row.append(f"{add} + {mul} = {add + mul}")
            table.add_row(*row)
        out.print(table)
        out.print(
            "  Friction is what the minimised program has more than the one without it.", highlight=False
        )
    for entry in found.published:
        out.print(f"  published {entry.total}: {entry.source}; {entry.contains}", highlight=False)
