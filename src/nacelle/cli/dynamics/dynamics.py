"""Commands of forces: `dynamics`, `reactions`, `balance`.

`dynamics`: actuator forces along a motion. `reactions`: what the joints transmit along a motion. `balance`:
springs and counterweights that take the weight off the actuators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command, with_options_of
from nacelle.cli.common import JsonOption, RobotArgument, check_output_file, print_json
from nacelle.cli.inputs import ModeOption, PayloadOption, load_robot, read_quantity
from nacelle.cli.outputs import (
    ResultTable,
    actuator_units,
    exit_if_failed,
    print_flag_summary,
    print_parts,
    print_result,
    write_or_print,
)
from nacelle.cli.trajectory import MotionRun
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.dynamics.reactions import PeakReactions
    from nacelle.dynamics.sizing import Sizing
    from nacelle.report.table import Part
    from nacelle.spatial.scalar import Array
    from nacelle.trajectory import Trajectory


# ---- dynamics


@dataclass(frozen=True)
class DynamicsRun(MotionRun):
    """The options of `dynamics`."""

    free: Annotated[
        str,
        typer.Option(
            "--free",
            help="Coordinates, separated by commas, whose accelerations follow from the dynamics; one for "
            "each motion without an actuator.",
        ),
    ] = ""


@command("dynamics")
@with_options_of(DynamicsRun)
def dynamics_command(robot_name: str, run: DynamicsRun) -> None:
    """Inverse dynamics along a motion: actuator force, speed and power, compared with the limits."""
    robot, path, options = run.prepare(robot_name)
    from nacelle.dynamics.sizing import size_motors
    from nacelle.report.loads import sizing_data, sizing_parts

    free = tuple(name for name in run.free.replace(" ", "").split(",") if name)
    sizing = size_motors(robot, path, free=free, **options)
    if run.csv is not None:
        write_or_print(_force_table(sizing, path), run.csv)
    _print_loads(sizing, sizing.flags, run, sizing_data, sizing_parts)


def _print_loads(
    result: Any,
    flags: Array,
    run: MotionRun,
    data: Callable[[Any], dict[str, Any]],
    parts: Callable[[Any], list[Part]],
    *,
    what: str = "",
) -> None:
    """Print loads along a motion, say which samples are flagged, and leave if some have no result."""
    if run.as_json:
        print_json(data(result))
    else:
        friction = ", without friction" if run.no_friction else ""
        head = f"{result.robot.name}: {result.times[-1]:g} s, {len(result.times)} samples{friction}{what}"
        print_parts([head, *parts(result)])
        print_flag_summary(flags, "samples", run.csv)
    exit_if_failed(flags)


def _force_table(sizing: Sizing, path: Trajectory) -> Iterator[str]:
    """Motion, and coordinate, rate and force of all actuators, at all times, as CSV."""
    layout, sample, table = path.layout, sizing.sample, ResultTable()
    table.add(["t", *layout.x_names], ["s", *layout.units], [sizing.times, *sample.x.T])
    table.add([*layout.v_names, *layout.a_names], [""] * (2 * layout.n), [*sample.v.T, *sample.a.T])
    for k, (actuator, unit) in enumerate(
        zip(sizing.robot.actuators, actuator_units(sizing.robot), strict=True)
    ):
        names = [f"{actuator.name}.{part}" for part in ("q", "rate", "force")]
        table.add(names, [unit, "", ""], [sizing.q[:, k], sizing.rate[:, k], sizing.tau[:, k]])
    table.add(["flags"], [""], [sizing.flags])
    return table.lines()


# ---- reactions


@command("reactions")
@with_options_of(MotionRun)
def reactions_command(robot_name: str, run: MotionRun) -> None:
    """Joint reactions along a motion: peak radial and axial forces and moments, to size bearings."""
    robot, path, options = run.prepare(robot_name)
    from nacelle.dynamics.reactions import peak_reactions
    from nacelle.report.loads import reaction_parts, reactions_data

    result = peak_reactions(robot, path, **options)
    if run.csv is not None:
        write_or_print(_reaction_table(result), run.csv)
    flags = result.reactions.flags
    _print_loads(result, flags, run, reactions_data, reaction_parts, what="; peak loads")


def _reaction_table(result: PeakReactions) -> Iterator[str]:
    """Wrenches of all joints at all times, as CSV."""
    from nacelle.dynamics.reactions import WRENCH_COMPONENTS

    table = ResultTable()
    table.add(["t"], ["s"], [result.times])
    for j in result.robot.described_joints:
        names = [f"{result.robot.joints[j].name}.{part}" for part in WRENCH_COMPONENTS]
        table.add(names, ["N"] * 3 + ["N*m"] * 3, result.reactions.wrench[:, j].T)
    table.add(["flags"], [""], [result.reactions.flags])
    return table.lines()


# ---- balance


@command("balance")
def balance_command(
    robot_name: RobotArgument,
    *,
    springs: Annotated[
        list[str] | None,
        typer.Option(
            "--spring",
            metavar="JOINT",
            help="Joint that gets a spring (repeatable); by default the actuated joints.",
        ),
    ] = None,
    counterweights: Annotated[
        list[str] | None,
        typer.Option(
            "--counterweight",
            metavar="BODY=X,Y,Z",
            help="Position of a counterweight in the frame of a body, such as arm=-80mm,0,0 (repeatable).",
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", help="Input table of poses (CSV); by default 200 around the reference."),
    ] = None,
    alike: Annotated[
        bool, typer.Option("--alike", help="Use the same springs and counterweights in all legs.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Description of the balanced robot to write (YAML).")
    ] = None,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Springs and counterweights that best balance gravity over a set of poses."""
    from nacelle.dynamics.gravity_balance import balance_gravity
    from nacelle.report.loads import balance_data, balance_parts

    robot = load_robot(robot_name, mode, payload)
    check_output_file(out)
    poses = None
    if csv is not None:
        from nacelle.trajectory.waypoints import read_poses

        poses = read_poses(csv, robot.motion).points
    positions = dict(_read_counterweight(text) for text in counterweights or [])
    with task(f"balancing {robot.name}"):
        result = balance_gravity(robot, poses, springs=springs, counterweights=positions, alike=alike)
    if out is not None:
        write_or_print(result.robot.to_yaml(), out)
    print_result(result, balance_data, balance_parts, as_json)


def _read_counterweight(text: str) -> tuple[str, list[float]]:
    """Read BODY=X,Y,Z."""
    name, sign, position = text.partition("=")
    parts = position.split(",")
    if not sign or len(parts) != 3:
        raise NacelleError(
            f"{text!r} is not the position of a counterweight; write BODY=X,Y,Z, such as arm=-80mm,0,0"
        )
    return name.strip(), [read_quantity(part.strip(), angle=False) for part in parts]
