"""The command `dynamics`: actuator forces along a motion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.cli.commands import command, takes
from nacelle.cli.common import console, print_json
from nacelle.cli.outputs import actuator_units, deliver, last_line, leave_if_failed, reported_table
from nacelle.cli.trajectory import MotionRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nacelle.dynamics.sizing import Sizing
    from nacelle.kinematics.trajectory import Trajectory


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
        deliver(_table(sizing, path), run.csv)
    if run.as_json:
        from nacelle.report.plain import sizing_data

        print_json(sizing_data(sizing))
    else:
        _show(sizing, path, friction=not run.no_friction)
        last_line(sizing.flags, "samples", run.csv)
    leave_if_failed(sizing.flags)


def _table(sizing: Sizing, path: Trajectory) -> Iterator[str]:
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


def _show(sizing: Sizing, path: Trajectory, *, friction: bool) -> None:
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
