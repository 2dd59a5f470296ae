"""The command `ops`: how many operations a model takes."""

from __future__ import annotations

from typing import Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument
from nacelle.cli.complete import complete_choices
from nacelle.cli.inputs import ModeOption, PayloadOption, load_robot
from nacelle.cli.outputs import print_result
from nacelle.model_names import ELASTIC_MODEL_NAMES, MODEL_NAMES

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
            autocompletion=complete_choices(*MODELS),
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
    """Operations of a model in its compact form, by class and by stage, compared with what is published."""
    from nacelle.report.operations import Operations, operation_count, operation_parts

    robot = load_robot(robot_name, mode, payload)
    operations = operation_count(robot, model, input=source, friction=friction)
    print_result(operations, Operations.data, operation_parts, as_json)
