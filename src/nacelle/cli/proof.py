"""The command `prove`: a motion proved as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from nacelle.cli.commands import command, with_options_of
from nacelle.cli.common import JsonOption, print_json
from nacelle.cli.inputs import ModeOption, load_robot, read_quantity
from nacelle.cli.outputs import FAILED_SAMPLES
from nacelle.cli.trajectory import MotionOptions, make_trajectory


@dataclass(frozen=True)
class ProofRun(MotionOptions):
    """The options of `prove`."""

    serial: Annotated[
        float, typer.Option("--serial", help="Margin that every leg shall keep from serial singularities.")
    ] = 1e-4
    parallel: Annotated[
        float,
        typer.Option(
            "--parallel",
            help="Inverse condition that the Jacobian shall keep, 0 at a parallel singularity; none if < 0.",
        ),
    ] = 1e-3
    clearance: Annotated[
        str, typer.Option("--clearance", help="Distance that legs shall keep from each other, such as 5mm.")
    ] = ""
    deviation: Annotated[
        str, typer.Option("--deviation", help="How far from the motion the proof shall hold, such as 1um.")
    ] = "0.001um"
    mode: ModeOption = ""
    as_json: JsonOption = False


@command("prove")
@with_options_of(ProofRun)
def prove_command(robot_name: str, run: ProofRun) -> None:
    """Prove a whole motion: reachable, within limits, on one branch, away from singularities."""
    robot = load_robot(robot_name, run.mode)
    path = make_trajectory(robot, run)
    from nacelle.proof.path import prove

    proof = prove(
        robot,
        path,
        serial=run.serial,
        parallel=None if run.parallel < 0.0 else run.parallel,
        clearance=read_quantity(run.clearance, angle=False) if run.clearance else None,
        deviation=read_quantity(run.deviation, angle=False),
    )
    if run.as_json:
        first = proof.unproved
        print_json(
            {
                "robot": robot.name,
                "proved": proof.proved,
                "duration": path.duration,
                "intervals": len(proof.times) - 1,
                "bounds": proof.bounds._asdict(),
                "least_way": proof.least_way,
                "nearest_limit": proof.nearest_limit,
                "least_margin": proof.least_margin,
                "least_conditioning": proof.least_conditioning,
                "least_clearance": proof.least_clearance,
                "unproved": None if first is None else first._asdict(),
            }
        )
    else:
        typer.echo("\n".join([f"{robot.name}: {path.duration:g} s", *proof.describe()]))
    if not proof.proved:
        raise typer.Exit(FAILED_SAMPLES)
