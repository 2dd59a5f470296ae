"""Commands about motion: `dynamics`, `verify`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.common import JsonOption, RobotArgument, app, check_new, console, fail, print_json
from nacelle.cli.pose import (
    AtOption,
    ModeOption,
    actuator_units,
    assignments,
    coordinate_kinds,
    deliver,
    last_line,
    leave_if_failed,
    load_robot,
    plain,
    pose_at,
    quantity,
    table_text,
)
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.kinematics.trajectory import Trajectory
    from nacelle.model.robot import Robot

KINDS = ("circle", "line", "rest")

TrajectoryOption = Annotated[
    str, typer.Option("--trajectory", help="A CSV file of waypoints, or circle, line, rest.")
]
ToOption = Annotated[
    list[str] | None, typer.Option("--to", metavar="NAME=VALUE", help="End of a line; repeat.")
]
RadiusOption = Annotated[str, typer.Option("--radius", help="Of a circle, such as 100mm.")]
DurationOption = Annotated[float, typer.Option("--duration", help="Of the motion, s.")]
RateOption = Annotated[float, typer.Option("--rate", help="Samples a second.")]
NoFrictionOption = Annotated[bool, typer.Option("--no-friction", help="Leave friction out.")]
TableOption = Annotated[Path | None, typer.Option("--csv", help="Table to write; never overwritten.")]


def make_trajectory(
    robot: Robot, kind: str, at: list[str] | None, to: list[str] | None, radius: str, duration: float
) -> Trajectory:
    """Make a trajectory from a table, or one of the simple kinds around a pose."""
    from nacelle.kinematics.trajectory import Circle, Line, read_waypoints

    if kind not in KINDS:
        if at or to:
            raise NacelleError("--at and --to go with circle, line and rest, not with a table")
        if not kind.endswith(".csv") and not Path(kind).is_file():
            raise NacelleError(f"{kind!r} is no trajectory: name a CSV file, or one of {', '.join(KINDS)}")
        way = read_waypoints(Path(kind), robot.motion)
        return way.bspline(duration=None if way.times is not None else duration)
    if not math.isfinite(duration) or duration <= 0.0:
        raise NacelleError(f"the duration must be above zero, got {duration:g} s")
    start = pose_at(robot, at)
    if kind == "rest":
        return Line(start, start, motion=robot.motion, duration=duration)
    if kind == "line":
        if not to:
            raise NacelleError("a line needs its end: --to NAME=VALUE")
        given = assignments(to, coordinate_kinds(robot), "coordinate")
        begun = assignments(at, coordinate_kinds(robot), "coordinate")
        end = pose_at(robot, [f"{name}={value!r}" for name, value in (begun | given).items()])
        return Line(start, end, motion=robot.motion, duration=duration)
    size = quantity(radius, turns=False) if radius else 0.1 * robot.size
    return Circle(start, size, motion=robot.motion, duration=duration)


def check_rate(rate: float) -> None:
    """Demand a sensible number of samples a second."""
    if not 1.0 <= rate <= 1e6:
        raise NacelleError(f"the rate is between 1 and 1e6 samples a second, got {rate:g}")


@app.command("dynamics")
def dynamics_command(
    robot: RobotArgument,
    trajectory: TrajectoryOption = "circle",
    at: AtOption = None,
    to: ToOption = None,
    radius: RadiusOption = "",
    duration: DurationOption = 1.0,
    rate: RateOption = 1000.0,
    no_friction: NoFrictionOption = False,
    csv: TableOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Actuator forces along a motion: force, speed and power against the limits of the drives."""
    try:
        found = load_robot(robot, mode)
        check_new(csv)
        path = make_trajectory(found, trajectory, at, to, radius, duration)
        check_rate(rate)
        _dynamics(found, path, rate, not no_friction, csv, as_json)
    except NacelleError as error:
        fail(error, as_json)


def _dynamics(
    robot: Robot, path: Trajectory, rate: float, friction: bool, csv: Path | None, as_json: bool
) -> None:
    import numpy as np

    from nacelle.dynamics.sizing import size_motors
    from nacelle.kinematics.flags import failed
    from nacelle.report.flagged import reasons

    found = size_motors(robot, path, rate=rate, friction=friction)
    bad = int(np.count_nonzero(failed(found.flags)))
    if csv is not None:
        layout = path.layout
        names = ["t", *layout.x_names, *layout.v_names, *layout.a_names]
        units = ["s", *layout.units, *[""] * (2 * layout.n)]
        columns = [found.times, *found.sample.x.T, *found.sample.v.T, *found.sample.a.T]
        for k, actuator in enumerate(robot.actuators):
            names += [f"{actuator.name}.q", f"{actuator.name}.rate", f"{actuator.name}.force"]
            units += [actuator_units(robot)[k], "", ""]
            columns += [found.q[:, k], found.rate[:, k], found.force[:, k]]
        deliver(table_text([*names, "flags"], [*units, ""], [*columns, found.flags]), csv)
    if as_json:
        rows: list[dict[str, Any]] = []
        for load in found.loads:
            row: dict[str, Any] = {
                "actuator": load.name,
                "unit": "N*m" if load.turns else "N",
                "peak_force": load.peak_force,
                "rms_force": load.rms_force,
                "peak_speed": load.peak_speed,
                "peak_power": load.peak_power,
                "lowest_power": load.lowest_power,
                "range": list(load.range),
                "force_limit": load.force_limit,
                "speed_limit": load.speed_limit,
                "within": load.within,
            }
            rows.append({key: plain(value) for key, value in row.items()})
        print_json(
            {
                "robot": robot.name,
                "duration": path.duration,
                "samples": len(found.times),
                "failed": bad,
                "reasons": reasons(found.flags),
                "actuators": rows,
            }
        )
        leave_if_failed(found.flags)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("actuator", "peak", "rms", "limit", "used", "speed", "limit", "power", "braking"):
        table.add_column(column, justify="left" if column == "actuator" else "right")
    for load in found.loads:
        force, speed = ("N m", "rad/s") if load.turns else ("N", "m/s")
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
            f"{load.lowest_power + 0.0:.4g} W",
        )
    console().print(
        f"{robot.name}: {path.duration:g} s, {len(found.times)} samples"
        + ("" if friction else ", without friction"),
        markup=False,
    )
    console().print(table)
    for load in found.loads:
        if load.beyond:
            console().print(f"[red]{load.name} goes beyond its limits: {', '.join(load.beyond)}[/]")
    last_line(found.flags, "samples", csv)
    leave_if_failed(found.flags)


@app.command("verify")
def verify_command(
    robot: RobotArgument,
    against: Annotated[
        str, typer.Option("--against", help="Other engine: pinocchio, mujoco, or all.")
    ] = "all",
    states: Annotated[int, typer.Option("--states", help="How many random states.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Of the random states.")] = 0,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Rebuild the robot in another engine and compare kinematics, dynamics and energies at random states."""
    try:
        from nacelle.verify import ENGINES, verify

        engines = ENGINES if against == "all" else (against,)
        report = verify(load_robot(robot, mode), against=engines, states=states, seed=seed)
    except NacelleError as error:
        fail(error, as_json)
    if as_json:
        print_json(report.as_dict())
    else:
        console().print(report.text(), markup=False)
    if not report.ok:
        raise typer.Exit(1)
