"""The command `balance`: springs and counterweights that take the weight off the actuators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, check_new, console, print_json
from nacelle.cli.inputs import ModeOption, load_robot, value_with_unit
from nacelle.cli.loads import PayloadOption, loaded
from nacelle.cli.outputs import deliver, for_people
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.dynamics.gravity_balance.balancing import GravityBalance


@command("balance")
def balance_command(
    robot_name: RobotArgument,
    *,
    springs: Annotated[
        list[str] | None,
        typer.Option("--spring", metavar="JOINT", help="Joint that gets a spring; repeat. Else the drives."),
    ] = None,
    counterweights: Annotated[
        list[str] | None,
        typer.Option(
            "--counterweight",
            metavar="BODY=X,Y,Z",
            help="A place for a counterweight in the frame of a body, such as arm=-80mm,0,0; repeat.",
        ),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Table of poses to balance; else 200 around the reference.")
    ] = None,
    alike: Annotated[bool, typer.Option("--alike", help="The same springs and weights in all legs.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="File for the balanced robot; a new one, unless --overwrite.")
    ] = None,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Springs and counterweights that balance gravity best over a set of poses."""
    from nacelle.dynamics.gravity_balance.balancing import balance_gravity

    robot = loaded(load_robot(robot_name, mode), payload)
    check_new(out)
    poses = None
    if csv is not None:
        from nacelle.kinematics.trajectory.waypoints import read_poses

        poses = read_poses(csv, robot.motion).points
    places = dict(_place(text) for text in counterweights or [])
    with task(f"balancing {robot.name}"):
        result = balance_gravity(robot, poses, springs=springs, counterweights=places, alike=alike)
    if out is not None:
        deliver(result.robot.to_yaml(), out)
    if as_json:
        print_json(_data(result))
    else:
        _show(result)


def _place(text: str) -> tuple[str, list[float]]:
    """Read BODY=X,Y,Z."""
    name, sign, place = text.partition("=")
    parts = place.split(",")
    if not sign or len(parts) != 3:
        raise NacelleError(f"{text!r} is no place of a counterweight: write BODY=X,Y,Z, as arm=-80mm,0,0")
    return name.strip(), [value_with_unit(part.strip(), angle=False) for part in parts]


def _data(result: GravityBalance) -> dict[str, Any]:
    figures = ("rms_before", "rms_after", "max_before", "max_after")
    return {
        "robot": result.robot.name,
        "poses": len(result.x),
        "springs": [spring._asdict() for spring in result.springs],
        "counterweights": [weight._asdict() for weight in result.counterweights],
        "actuators": [actuator.name for actuator in result.robot.actuators],
        **{name: getattr(result, name) for name in figures},
        "condition": result.condition,
        "ill_conditioned": result.ill_conditioned,
    }


def _show(result: GravityBalance) -> None:
    from rich.text import Text

    from nacelle.report.table import plain_table

    out, robot = console(), result.robot
    out.print(f"{robot.name} over {len(result.x)} poses", markup=False)
    for spring in result.springs:
        unit = "N m/rad" if spring.revolute else "N/m"
        out.print(
            f"  spring in {spring.joint}: {spring.stiffness:.5g} {unit}, at rest at "
            f"{for_people(spring.rest, spring.revolute)}",
            markup=False,
        )
    for weight in result.counterweights:
        at = ", ".join(f"{1e3 * value:g}" for value in weight.place)
        out.print(f"  counterweight on {weight.body}: {weight.mass:.5g} kg at ({at}) mm", markup=False)
    if not result.springs and not result.counterweights:
        out.print("  none of them helps: all stiffnesses and masses are best at zero", markup=False)
    table = plain_table("actuator", "rms before>", "after>", "largest before>", "after>")
    for k, actuator in enumerate(robot.actuators):
        unit = "N m" if robot.joints[actuator.joint].primitives[0].is_rotation else "N"
        figures = (result.rms_before, result.rms_after, result.max_before, result.max_after)
        table.add_row(Text(actuator.name), *(f"{values[k]:.4g} {unit}" for values in figures))
    out.print(table)
    if result.ill_conditioned:
        out.print(
            "[yellow]these poses do not tell the unknowns apart: others would balance as well[/]",
        )
