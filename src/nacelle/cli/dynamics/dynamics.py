"""Commands of forces: `dynamics`, `reactions`, `balance`.

`dynamics`: actuator forces along a motion. `reactions`: what the joints transmit along a motion. `balance`:
springs and counterweights that take the weight off the actuators.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command, takes
from nacelle.cli.common import JsonOption, RobotArgument, check_new, console, print_json
from nacelle.cli.inputs import ModeOption, PayloadOption, load_robot, loaded, value_with_unit
from nacelle.cli.outputs import (
    actuator_units,
    deliver,
    for_people,
    last_line,
    leave_if_failed,
    reported_table,
)
from nacelle.cli.trajectory import MotionRun
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.table import Table

    from nacelle.dynamics.gravity_balance import GravityBalance
    from nacelle.dynamics.reactions import Peak, PeakReactions
    from nacelle.dynamics.sizing import Sizing
    from nacelle.kinematics.trajectory import Trajectory


# ---- dynamics


@dataclass(frozen=True)
class DynamicsRun(MotionRun):
    """The options of `dynamics`."""

    free: Annotated[
        str,
        typer.Option(
            "--free",
            help="Coordinates, with commas, whose accelerations are left to the dynamics: as many as motions "
            "that nothing drives.",
        ),
    ] = ""


@command("dynamics")
@takes(DynamicsRun)
def dynamics_command(robot_name: str, run: DynamicsRun) -> None:
    """Actuator forces along a motion: force, speed and power against the limits of the drives."""
    robot, path, options = run.prepared(robot_name)
    from nacelle.dynamics.sizing import size_motors

    free = tuple(name for name in run.free.replace(" ", "").split(",") if name)
    sizing = size_motors(robot, path, free=free, **options)
    if run.csv is not None:
        deliver(_force_table(sizing, path), run.csv)
    if run.as_json:
        from nacelle.report.plain import sizing_data

        print_json(sizing_data(sizing))
    else:
        _show_forces(sizing, path, friction=not run.no_friction)
        last_line(sizing.flags, "samples", run.csv)
    leave_if_failed(sizing.flags)


def _force_table(sizing: Sizing, path: Trajectory) -> Iterator[str]:
    """Motion, and coordinate, rate and force of all actuators, at all times, as CSV."""
    layout, sample = path.layout, sizing.sample
    names = ["t", *layout.x_names, *layout.v_names, *layout.a_names]
    units = ["s", *layout.units, *[""] * (2 * layout.n)]
    columns = [sizing.times, *sample.x.T, *sample.v.T, *sample.a.T]
    for k, (actuator, unit) in enumerate(
        zip(sizing.robot.actuators, actuator_units(sizing.robot), strict=True)
    ):
        names += [f"{actuator.name}.q", f"{actuator.name}.rate", f"{actuator.name}.force"]
        units += [unit, "", ""]
        columns += [sizing.q[:, k], sizing.rate[:, k], sizing.force[:, k]]
    return reported_table([*names, "flags"], [*units, ""], [*columns, sizing.flags])


def _show_forces(sizing: Sizing, path: Trajectory, *, friction: bool) -> None:
    from nacelle.report.table import plain_table

    columns = ("actuator", "peak>", "rms>", "limit>", "used>", "speed>", "limit>", "power>", "braking>")
    table = plain_table(*columns)
    for load in sizing.loads:
        force, speed = ("N m", "rad/s") if load.revolute else ("N", "m/s")
        used = max(load.peak_force / load.force_limit, load.peak_speed / load.speed_limit)
        share = f"{100.0 * used:.0f} %" if used > 0.0 else ""
        table.add_row(
            load.name,
            f"{load.peak_force:.4g} {force}",
            f"{load.rms_force:.4g} {force}",
            f"{load.force_limit:.4g} {force}" if math.isfinite(load.force_limit) else "",
            share if load.within else f"[red]{share or 'position'}[/]",
            f"{load.peak_speed:.4g} {speed}",
            f"{load.speed_limit:.4g} {speed}" if math.isfinite(load.speed_limit) else "",
            f"{load.peak_power:.4g} W",
            f"{load.lowest_power:.4g} W",
        )
    console().print(
        f"{sizing.robot.name}: {path.duration:g} s, {len(sizing.times)} samples"
        + ("" if friction else ", without friction"),
        markup=False,
    )
    console().print(table)
    for load in sizing.loads:
        if load.beyond:
            console().print(f"[red]{load.name} goes beyond its limits: {', '.join(load.beyond)}[/]")


# ---- reactions


@command("reactions")
@takes(MotionRun)
def reactions_command(robot_name: str, run: MotionRun) -> None:
    """Forces and moments in all joints along a motion: peaks, radial and axial, to size bearings."""
    robot, path, options = run.prepared(robot_name)
    from nacelle.dynamics.reactions import peak_reactions

    result = peak_reactions(robot, path, **options)
    if run.csv is not None:
        deliver(_reaction_table(result), run.csv)
    _print_reactions(result, path.duration, not run.no_friction, run.csv, run.as_json)
    leave_if_failed(result.reactions.flags)


def _reaction_table(result: PeakReactions) -> Iterator[str]:
    """Wrenches of all joints at all times, as CSV."""
    from nacelle.dynamics.reactions import PARTS

    names, units, columns = ["t"], ["s"], [result.times]
    for j in result.robot.written_joints:
        names += [f"{result.robot.joints[j].name}.{part}" for part in PARTS]
        units += ["N"] * 3 + ["N*m"] * 3
        columns += list(result.reactions.wrench[:, j].T)
    return reported_table([*names, "flags"], [*units, ""], [*columns, result.reactions.flags])


def _print_reactions(
    result: PeakReactions, duration: float, friction: bool, csv: Path | None, as_json: bool
) -> None:
    robot, redundancy = result.robot, result.reactions.redundancy
    if as_json:
        from nacelle.report.plain import reactions_data

        print_json(reactions_data(result))
        return
    console().print(
        f"{robot.name}: {duration:g} s, {len(result.times)} samples"
        + ("" if friction else ", without friction")
        + "; largest loads",
        markup=False,
    )
    console().print(_peaks(result))
    if redundancy:
        console().print(
            f"open: {redundancy} superfluous closure equations leave inner stress in these components, which "
            "tolerances and stiffness decide; the least-norm share is given",
            markup=False,
        )
    last_line(result.reactions.flags, "samples", csv)


def _peaks(result: PeakReactions) -> Table:
    """The largest loads leg by leg."""
    from rich.text import Text

    from nacelle.report.table import plain_table

    force = max(peak.force for peak in result.listed)
    moment = max(force * result.robot.size, *(peak.moment for peak in result.listed))
    redundant = bool(result.reactions.redundancy)
    columns = ["joint", "kind", "force (N)>", "at (s)>", "mean>", "radial>", "axial>"]
    columns += ["moment (N m)>", "at (s)>", "tilting>", "torque>", *(["open"] if redundant else [])]
    table = plain_table(*columns)
    for peak in _leg_by_leg(result):
        row = [_shown(peak.force, force), f"{peak.force_time:.3f}"]
        row += [_shown(value, force) for value in (peak.mean_force, peak.radial, peak.axial)]
        row += [_shown(peak.moment, moment)]
        row += [f"{peak.moment_time:.3f}" if _counts(peak.moment, moment) else ""]
        row += [_shown(value, moment) for value in (peak.tilting, peak.torque)]
        table.add_row(Text(peak.name), peak.kind, *row, *([" ".join(peak.open)] if redundant else []))
    return table


def _leg_by_leg(result: PeakReactions) -> list[Peak]:
    """Peaks in the order of the legs, those of the nacelle's own joints last."""
    robot = result.robot
    order = [j for leg in robot.legs for j in (*leg.joints, *leg.closures)]
    order += [j for j in range(len(robot.joints)) if j not in order]
    return [result.peaks[j] for j in order if j in robot.written_joints]


def _counts(value: float, largest: float) -> bool:
    """Whether a load is more than rounding."""
    return math.isfinite(value) and value > 1e-12 * largest


def _shown(value: float, largest: float) -> str:
    """A load; zero where it is rounding, nothing where there is none."""
    if not math.isfinite(value):
        return ""
    return f"{value:.4g}" if _counts(value, largest) else "0"


# ---- balance


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
    from nacelle.dynamics.gravity_balance import balance_gravity

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
        print_json(_balance_data(result))
    else:
        _show_balance(result)


def _place(text: str) -> tuple[str, list[float]]:
    """Read BODY=X,Y,Z."""
    name, sign, place = text.partition("=")
    parts = place.split(",")
    if not sign or len(parts) != 3:
        raise NacelleError(f"{text!r} is no place of a counterweight: write BODY=X,Y,Z, as arm=-80mm,0,0")
    return name.strip(), [value_with_unit(part.strip(), angle=False) for part in parts]


def _balance_data(result: GravityBalance) -> dict[str, Any]:
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


def _show_balance(result: GravityBalance) -> None:
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
