"""The command `verify`: a robot compared with the same robot in other engines."""

from __future__ import annotations

from typing import Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, console, print_json
from nacelle.cli.inputs import ModeOption, PayloadOption, load_robot


@command("verify")
def verify_command(
    robot_name: RobotArgument,
    *,
    against: Annotated[
        str, typer.Option("--against", help="Reference engine: pinocchio, mujoco, or all.")
    ] = "all",
    states: Annotated[int, typer.Option("--states", help="Number of random states.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random states.")] = 0,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Compare kinematics, dynamics and energies with Pinocchio and MuJoCo at random states."""
    from nacelle.verify import verify

    report = verify(load_robot(robot_name, mode, payload), against, states, seed)
    if as_json:
        print_json(report.as_dict())
    else:
        console().print(report.text(), markup=False)
    if not report.ok:
        raise typer.Exit(1)
