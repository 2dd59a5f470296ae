"""The command `fast`: the fastest motion along a path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import PICTURES, JsonOption, RobotArgument, check_output_file, report_written
from nacelle.cli.inputs import (
    AtOption,
    ModeOption,
    NoFrictionOption,
    PayloadOption,
    PictureOption,
    TableOption,
    load_robot,
    read_pose,
    read_quantity,
)
from nacelle.cli.kinematics import read_ranges
from nacelle.cli.outputs import print_result
from nacelle.cli.trajectory import (
    KINDS,
    MotionOptions,
    RadiusOption,
    RateOption,
    ToOption,
    check_rate,
    make_trajectory,
)
from nacelle.cli.view import write_picture
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.motion.time_optimal import TimeOptimal
    from nacelle.trajectory import Trajectory


@command("fast")
def fast_command(
    robot_name: RobotArgument,
    *,
    path: Annotated[
        str,
        typer.Option(
            "--path",
            help="Path: up-across-down in mm such as 25-305-25, line, circle, or a CSV file of waypoints.",
        ),
    ] = "25-305-25",
    at: AtOption = None,
    to: ToOption = None,
    radius: RadiusOption = "",
    blend: Annotated[
        str,
        typer.Option("--blend", help="Distance from a corner at which it is rounded, such as 20mm."),
    ] = "",
    back: Annotated[bool, typer.Option("--back", help="There and back, with a stop between.")] = False,
    reserve: Annotated[
        float, typer.Option("--reserve", help="Part of the forces held back, 0 to 1: 0.05 is 5 %.")
    ] = 0.0,
    rms: Annotated[
        float | None,
        typer.Option("--rms", help="Largest rms force of every drive over motion and dwell, N or N m."),
    ] = None,
    dwell: Annotated[
        float, typer.Option("--dwell", help="With --rms: time at rest after the motion, s.")
    ] = 0.0,
    acceleration: Annotated[
        float | None,
        typer.Option("--acceleration", help="Largest acceleration of every coordinate, m/s^2 or rad/s^2."),
    ] = None,
    jerk: Annotated[
        float | None,
        typer.Option("--jerk", help="Largest jerk of every coordinate, m/s^3 or rad/s^3."),
    ] = None,
    shape: Annotated[
        str,
        typer.Option(
            "--shape",
            help="Let flexible links not vibrate after the stop: modes, zv, zvd or ei. It takes longer.",
        ),
    ] = "",
    duration: Annotated[
        float | None,
        typer.Option(
            "--duration",
            help="With --shape or --optimise: time of the motion, s; --shape finds a short one without.",
        ),
    ] = None,
    corridor: Annotated[
        list[str] | None,
        typer.Option(
            "--corridor",
            help="Optimise the path: by how much points between its ends may move, such as z=0:50mm.",
        ),
    ] = None,
    detours: Annotated[
        int, typer.Option("--detours", help="Points added on every segment, to move in the corridor.")
    ] = 0,
    optimise: Annotated[
        str,
        typer.Option(
            "--optimise",
            help="Optimise the path: for the least time, or with --duration the least force or work.",
        ),
    ] = "",
    no_friction: NoFrictionOption = False,
    payload: PayloadOption = None,
    mode: ModeOption = "",
    rate: RateOption = 1000.0,
    csv: TableOption = None,
    plot: PictureOption = None,
    as_json: JsonOption = False,
) -> None:
    """The fastest motion along a path within the limits of the drives; which limit to raise."""
    from nacelle.motion.limits import DriveLimits, Limits, PlatformLimits
    from nacelle.motion.path_search import optimise_path
    from nacelle.motion.time_optimal import time_optimal
    from nacelle.report.motion import motion_data, motion_parts, path_data, path_parts

    robot = load_robot(robot_name, mode, payload)
    check_output_file(csv)
    check_output_file(plot, PICTURES)
    check_rate(rate)
    way = _read_path(robot, path, MotionOptions(path, at, to, radius), blend)
    drives = DriveLimits(reserve=reserve, rms=rms, dwell=dwell)
    platform = PlatformLimits(acceleration=acceleration, jerk=jerk)
    best = None
    if optimise or corridor or detours:
        if back:
            raise NacelleError("--back has no corners to optimise: leave it out, the way back takes as long")
        limits = Limits(drives, platform)
        best = optimise_path(
            robot,
            way,
            objective=optimise or "time",
            duration=None if shape else duration,
            corridor=read_ranges(robot, corridor or []),
            detours=detours,
            limits=limits,
            friction=not no_friction,
        )
        way, result = best.path, best.motion
    else:
        way = way.then(way.reverse()) if back else way
        with task(f"timing {robot.name}"):
            result = time_optimal(robot, way, drives=drives, platform=platform, friction=not no_friction)
    if shape:
        _shape(robot, way, result, ShapeOptions(shape, duration, rate, csv, as_json))
        return
    if csv is not None:
        result.trajectory.to_csv(csv, rate=rate)
        report_written(csv)
    write_picture(lambda: result.plot(shown=False), plot)
    if best is None:
        print_result(result, motion_data, motion_parts, as_json)
    else:
        print_result(best, path_data, path_parts, as_json)


class ShapeOptions(NamedTuple):
    """How a motion is shaped, and where it goes."""

    shaper: str
    duration: float | None
    rate: float
    csv: Path | None
    as_json: bool


def _shape(robot: Robot, way: Trajectory, fastest: TimeOptimal, options: ShapeOptions) -> None:
    """Shape a motion against residual vibration; impulses shape the fastest timing."""
    from nacelle.elastic.shaping import shape_motion
    from nacelle.report.vibrations import shaped_data, shaped_parts
    from nacelle.trajectory.shaping import PathTiming

    law = "quintic" if options.shaper == "modes" else PathTiming(fastest.trajectory)
    result = shape_motion(robot, way, options.duration, shaper=options.shaper, law=law)
    if options.csv is not None:
        result.trajectory.to_csv(options.csv, rate=options.rate)
        report_written(options.csv)
    print_result(result, shaped_data, shaped_parts, options.as_json)


def _read_path(robot: Robot, path: str, options: MotionOptions, blend: str) -> Trajectory:
    """The path that options describe; a pick-and-place about the pose of `--at`."""
    from nacelle.trajectory import RoundedLines, pick_and_place, read_waypoints
    from nacelle.trajectory.rounded import read_hop

    distance: Any = read_quantity(blend, angle=False) if blend else None
    if path in KINDS:
        return make_trajectory(robot, options)
    if path.endswith(".csv") or Path(path).is_file():
        return RoundedLines(
            read_waypoints(Path(path), robot.motion).points, motion=robot.motion, blend=distance
        )
    across = read_hop(path)[1]
    hop = pick_and_place(read_pose(robot, options.at, ""), path, motion=robot.motion, blend=distance)
    middle = hop.points[2] - hop.points[1]
    start = hop.points[0] - 0.5 * middle * (across > 0.0)
    return pick_and_place(start, path, motion=robot.motion, blend=distance)
