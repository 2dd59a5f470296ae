"""Commands of proofs: `prove`, a motion proved as a whole; `tolerances`, bounds of the pose's errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from nacelle.cli.commands import command, with_options_of
from nacelle.cli.common import JsonOption, RobotArgument, print_json
from nacelle.cli.inputs import AtOption, ModeOption, load_robot, read_pose, read_quantity
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


@command("tolerances")
def tolerances_command(
    robot_name: RobotArgument,
    tolerances: Annotated[
        list[str],
        typer.Option(
            "--tolerance",
            help="Which numbers deviate and how far, such as 'number.*=0.1 mm' or 'zero.*=0.01 deg'; "
            "nacelle calibrate --list names them. Repeatable.",
        ),
    ],
    at: AtOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Prove bounds of the pose's error for all machines within tolerances."""
    robot = load_robot(robot_name, mode)
    from nacelle.calibration.tolerances import bound_pose_errors

    bounds = bound_pose_errors(robot, tolerances, read_pose(robot, at))
    if as_json:
        names = [item.name for item in bounds.parameters]
        print_json(
            {
                "robot": robot.name,
                "x": bounds.x[0],
                "proved": bool(bounds.proved[0]),
                "bounds": bounds.bounds[0],
                "attained": bounds.attained[0],
                "lengths": bounds.lengths[0],
                "attained_lengths": bounds.attained_lengths[0],
                "shares": dict(zip(names, bounds.shares[0].T.tolist(), strict=True)),
            }
        )
    else:
        typer.echo("\n".join([f"{robot.name}: {len(bounds.parameters)} tolerances", *bounds.describe()]))
    if not bounds.proved.all():
        raise typer.Exit(FAILED_SAMPLES)
