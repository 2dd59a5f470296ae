"""Commands about motion: `dynamics`, `verify`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.common import JsonOption, RobotArgument, app, check_new, console, fail, print_json
from nacelle.cli.loads import ExternalOption, PayloadOption, ToolOption, loaded, wrenches
from nacelle.cli.pose import (
    AtOption,
    ModeOption,
    actuator_units,
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
    robot: Robot,
    kind: str,
    at: list[str] | None,
    to: list[str] | None,
    radius: str,
    duration: float,
    tool: str = "",
) -> Trajectory:
    """Make a trajectory of the nacelle or a tool: from a table, or one of the simple kinds around a pose."""
    if tool:
        from nacelle.kinematics.tools.trajectory import ToolTrajectory

        return ToolTrajectory(robot, _of_tool(robot, kind, at, to, radius, duration, tool), tool)
    return _of_nacelle(robot, kind, at, to, radius, duration)


def _of_tool(
    robot: Robot,
    kind: str,
    at: list[str] | None,
    to: list[str] | None,
    radius: str,
    duration: float,
    tool: str,
) -> Trajectory:
    """The trajectory of a tool, in its own coordinates.

    These are the robot's, or x, y and z where the tool is to move along one that the robot's motion lacks.
    """
    from nacelle.kinematics.tools.tool import tool_coordinates
    from nacelle.kinematics.trajectory import Circle, Line, read_waypoints
    from nacelle.model.platform import Motion
    from nacelle.tables.csv import read_table

    xyz, own = Motion(("x", "y", "z")), robot.motion.coordinates
    if kind not in KINDS:
        _check_table(kind, at, to)
        columns = set(read_table(Path(kind)).names)
        lacking = any(name in columns for name in xyz.coordinates if name not in own)
        way = read_waypoints(Path(kind), xyz if lacking else robot.motion)
        return way.bspline(duration=None if way.times is not None else duration)
    _check_kind(kind, to, radius, duration)
    named = {text.partition("=")[0].strip() for text in [*(at or []), *(to or [])]}
    lacking = any(name in named for name in xyz.coordinates if name not in own)
    flat = kind == "circle" and sum(name in own for name in xyz.coordinates) < 2
    motion = xyz if lacking or flat else robot.motion
    start = tool_coordinates(robot, pose_at(robot, at, tool), tool, motion)
    if kind == "rest":
        return Line(start, start, motion=motion, duration=duration)
    if kind == "line":
        end = tool_coordinates(robot, pose_at(robot, _line_end(at, to), tool), tool, motion)
        return Line(start, end, motion=motion, duration=duration)
    return Circle(start, _radius(robot, radius), motion=motion, duration=duration)


def _line_end(at: list[str] | None, to: list[str] | None) -> list[str]:
    """The end of a line as settings of `--at`: what `--to` does not name stays as at the start."""
    if not to:
        raise NacelleError("a line needs its end: --to NAME=VALUE")
    named = {text.partition("=")[0].strip() for text in to}
    return [text for text in at or [] if text.partition("=")[0].strip() not in named] + to


def _check_table(kind: str, at: list[str] | None, to: list[str] | None) -> None:
    if at or to:
        raise NacelleError("--at and --to go with circle, line and rest, not with a table")
    if not kind.endswith(".csv") and not Path(kind).is_file():
        raise NacelleError(f"{kind!r} is no trajectory: name a CSV file, or one of {', '.join(KINDS)}")


def _check_kind(kind: str, to: list[str] | None, radius: str, duration: float) -> None:
    """Refuse what the kind of motion would leave aside, and durations that there are not."""
    if to and kind != "line":
        raise NacelleError(f"--to goes with --trajectory line, not with {kind}")
    if radius and kind != "circle":
        raise NacelleError(f"--radius goes with --trajectory circle, not with {kind}")
    if not math.isfinite(duration) or duration <= 0.0:
        raise NacelleError(f"the duration must be above zero, got {duration:g} s")


def _radius(robot: Robot, radius: str) -> float:
    return quantity(radius, turns=False) if radius else 0.1 * robot.size


def _of_nacelle(
    robot: Robot, kind: str, at: list[str] | None, to: list[str] | None, radius: str, duration: float
) -> Trajectory:
    from nacelle.kinematics.trajectory import Circle, Line, read_waypoints

    if kind not in KINDS:
        _check_table(kind, at, to)
        way = read_waypoints(Path(kind), robot.motion)
        return way.bspline(duration=None if way.times is not None else duration)
    _check_kind(kind, to, radius, duration)
    start = pose_at(robot, at)
    if kind == "rest":
        return Line(start, start, motion=robot.motion, duration=duration)
    if kind == "line":
        return Line(start, pose_at(robot, _line_end(at, to)), motion=robot.motion, duration=duration)
    return Circle(start, _radius(robot, radius), motion=robot.motion, duration=duration)


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
    tool: ToolOption = "",
    payload: PayloadOption = None,
    external: ExternalOption = None,
    csv: TableOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Actuator forces along a motion: force, speed and power against the limits of the drives."""
    try:
        found = loaded(load_robot(robot, mode), payload)
        check_new(csv)
        outside = wrenches(found, external)
        path = make_trajectory(found, trajectory, at, to, radius, duration, tool)
        check_rate(rate)
        _dynamics(found, path, rate, not no_friction, outside, csv, as_json)
    except NacelleError as error:
        fail(error, as_json)


def _dynamics(
    robot: Robot,
    path: Trajectory,
    rate: float,
    friction: bool,
    external: dict[str, list[float]],
    csv: Path | None,
    as_json: bool,
) -> None:
    import numpy as np

    from nacelle.dynamics.sizing import size_motors
    from nacelle.kinematics.flags import failed
    from nacelle.report.flagged import reasons

    found = size_motors(robot, path, rate=rate, friction=friction, external=external)
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
            f"{load.lowest_power:.4g} W",
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
    payload: PayloadOption = None,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Rebuild the robot in another engine and compare kinematics, dynamics and energies at random states."""
    try:
        from nacelle.verify import ENGINES, verify

        engines = ENGINES if against == "all" else (against,)
        report = verify(loaded(load_robot(robot, mode), payload), against=engines, states=states, seed=seed)
    except NacelleError as error:
        fail(error, as_json)
    if as_json:
        print_json(report.as_dict())
    else:
        console().print(report.text(), markup=False)
    if not report.ok:
        raise typer.Exit(1)
