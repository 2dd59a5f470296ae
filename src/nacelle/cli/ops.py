"""The command `ops`: how many operations a model takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, console, print_json
from nacelle.cli.complete import completes
from nacelle.cli.inputs import ModeOption, PayloadOption, load_robot, loaded
from nacelle.public import ELASTIC_MODEL_NAMES, MODEL_NAMES

if TYPE_CHECKING:
    from nacelle.report.operations import Operations

# The last two of robots with flexible links.
MODELS = (*MODEL_NAMES, *ELASTIC_MODEL_NAMES)


@command("ops")
def ops_command(
    robot_name: RobotArgument,
    *,
    model: Annotated[
        str,
        typer.Argument(
            help=f"{', '.join(MODELS[:-3])} or {MODELS[-3]}; of robots with flexible links {MODELS[-2]} or "
            f"{MODELS[-1]}.",
            autocompletion=completes(*MODELS),
        ),
    ] = "inverse_dynamics",
    friction: Annotated[bool, typer.Option("--friction", help="Count friction too.")] = False,
    source: Annotated[
        str, typer.Option("--input", help="What the model takes: pose, elements or encoders.")
    ] = "pose",
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Operations of a model in its smallest form, by class and by stage, beside what is published."""
    from nacelle.report.operations import operation_count

    robot = loaded(load_robot(robot_name, mode), payload)
    operations = operation_count(robot, model, input=source, friction=friction)
    if as_json:
        print_json(operations.data())
    else:
        _show(operations)


def _show(operations: Operations) -> None:
    from rich.table import Table

    out = console()
    with_friction = "with friction" if operations.friction else "without friction"
    out.print(f"{operations.robot}: {operations.model}, {with_friction}, from {operations.input}")
    shapes = ", ".join(f"{name} {list(shape)}" for name, shape in operations.inputs.items())
    out.print(f"  inputs    {shapes}", markup=False)
    forms = {
        "general": "the general form",
        "lengths": "links condensed at their ends, lengths as coordinates",
        "condensed": "links condensed at their ends",
    }
    form = forms.get(operations.form, "the equivalent tree")
    if operations.reason:
        form += f"; not the general form, because {operations.reason}"
    out.print(f"  contains  {operations.includes} ({form})")
    out.print(f"  {operations.count}")
    if operations.iteration is not None:
        out.print(
            f"  and in every iteration {operations.iteration}\n  (a step of Newton's method towards y, the "
            "joints of legs without a closed form; how many a pose takes depends on the guess)",
        )
    theirs = {name: (add, mul) for entry in operations.published for name, add, mul in entry.stages}
    if operations.stages:
        table = Table("stage", "+/-", "×/÷", "together")
        if theirs:
            table.add_column(f"published ({operations.published[0].source})")
        for stage in operations.stages:
            row = [stage.name, str(stage.add), str(stage.mul), str(stage.add + stage.mul)]
            if theirs:
                add, mul = theirs[stage.name]
                row.append(f"{add} + {mul} = {add + mul}")
            table.add_row(*row)
        out.print(table)
        out.print("  Friction is what the minimised program has more than the one without it.")
    for entry in operations.published:
        out.print(f"  published {entry.total}: {entry.source}; {entry.contains}")
