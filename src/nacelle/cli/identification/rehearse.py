"""The command `rehearse`: data of an experiment on a simulated robot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, check_new, console, print_json, wrote
from nacelle.cli.inputs import ModeOption, load_robot
from nacelle.cli.loads import PayloadOption, loaded


@command("rehearse")
def rehearse_command(
    robot_name: RobotArgument,
    *,
    motion: Annotated[Path, typer.Option("--motion", help="Motion from `nacelle excite --out` (YAML).")],
    csv: Annotated[Path, typer.Option("--csv", help="Table of measured data to write; a new file.")],
    rate: Annotated[float, typer.Option("--rate", help="Samples a second.")] = 1000.0,
    periods: Annotated[int, typer.Option(help="How often the motion is run through.")] = 1,
    percent: Annotated[
        float, typer.Option(help="How far the simulated robot's parameters are from the description, %.")
    ] = 10.0,
    bandwidth: Annotated[float, typer.Option(help="Of the controller, Hz.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Of parameters and noise.")] = 0,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Rehearse an experiment: a simulated robot in closed loop, encoders that count, noisy currents."""
    from nacelle.identification.excitation.result import read_motion
    from nacelle.identification.rehearsal.rehearsal import rehearse
    from nacelle.identification.rehearsal.settings import Controller
    from nacelle.identification.rehearsal.true_robot import moved

    check_new(csv)
    robot = loaded(load_robot(robot_name, mode), payload)
    trajectory = read_motion(motion)
    result = rehearse(
        robot,
        trajectory,
        true=moved(robot, percent, seed=seed),
        controller=Controller(bandwidth=bandwidth),
        rate=rate,
        periods=periods,
        seed=seed,
    )
    result.to_csv(csv)
    wrote(csv)
    if as_json:
        print_json({"robot": robot.name, "samples": len(result.time), "csv": str(csv)})
    else:
        console().print(
            f"{robot.name}: {len(result.time)} samples in {csv}; the true parameters are up to "
            f"{percent:g} % off",
            highlight=False,
        )
