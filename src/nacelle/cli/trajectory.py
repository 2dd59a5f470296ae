"""Motions that options describe: a table of waypoints, or a simple motion around a pose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.common import JsonOption, check_output_file
from nacelle.cli.inputs import (
    AtOption,
    ExternalOption,
    ModeOption,
    NoFrictionOption,
    PayloadOption,
    TableOption,
    ToolOption,
    load_robot,
    read_pose,
    read_quantity,
    read_wrenches,
)
from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nacelle.model.robot import Robot
    from nacelle.spatial.scalar import Array
    from nacelle.trajectory import Trajectory

KINDS = ("circle", "line", "rest")

TrajectoryOption = Annotated[
    str, typer.Option("--trajectory", help="Motion: circle, line, rest, or a CSV file of waypoints.")
]
ToOption = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        metavar="NAME=VALUE",
        help="Coordinate of the end of a line (repeatable); others as at the start.",
    ),
]
RadiusOption = Annotated[
    str,
    typer.Option(
        "--radius", help="Radius of a circle, such as 100mm; by default a tenth of the robot's size."
    ),
]
DurationOption = Annotated[
    float,
    typer.Option("--duration", help="Duration of the motion, s; tables with a column t have their own."),
]
RateOption = Annotated[float, typer.Option("--rate", help="Sample rate, Hz.")]


@dataclass(frozen=True)
class MotionOptions:
    """A motion as options describe it.

    Attributes:
        trajectory: "circle", "line", "rest", or a CSV file of waypoints.
        at: settings NAME=VALUE of the pose at which it begins.
        to: settings of the end of a line.
        radius: of a circle; a tenth of the robot's size if empty.
        duration: s.
        tool: the tool that moves; the platform if empty.
    """

    trajectory: TrajectoryOption = "circle"
    at: AtOption = None
    to: ToOption = None
    radius: RadiusOption = ""
    duration: DurationOption = 1.0
    tool: ToolOption = ""

    @property
    def named_options(self) -> set[str]:
        """Names of the coordinates that `--at` and `--to` set."""
        return {_setting_name(text) for text in [*(self.at or []), *(self.to or [])]}


@dataclass(frozen=True)
class MotionRun(MotionOptions):
    """The options of commands that evaluate something along a motion."""

    rate: RateOption = 1000.0
    no_friction: NoFrictionOption = False
    payload: PayloadOption = None
    external: ExternalOption = None
    csv: TableOption = None
    mode: ModeOption = ""
    as_json: JsonOption = False

    def prepare(self, robot_name: str) -> tuple[Robot, Trajectory, dict[str, Any]]:
        """The robot with its payload, the checked motion, and options of what is evaluated along it."""
        robot = load_robot(robot_name, self.mode, self.payload)
        check_output_file(self.csv)
        outside = read_wrenches(robot, self.external)
        path = make_trajectory(robot, self)
        check_rate(self.rate)
        return robot, path, {"rate": self.rate, "friction": not self.no_friction, "external": outside}


def make_trajectory(robot: Robot, options: MotionOptions) -> Trajectory:
    """The trajectory of the platform or of a tool.

    That of a tool is in the robot's coordinates, or in x, y and z where it moves along one that the robot's
    motion lacks.
    """
    from nacelle.kinematics.tools import tool_coordinates
    from nacelle.model.platform import Motion
    from nacelle.tables.csv import read_table
    from nacelle.trajectory import Circle, Line, read_waypoints
    from nacelle.trajectory.tool import ToolTrajectory

    kind, tool, duration = options.trajectory, options.tool, options.duration
    xyz, motion = Motion(("x", "y", "z")), robot.motion

    def lacks(names: Iterable[str]) -> bool:
        return any(name in names and name not in robot.motion.coordinates for name in xyz.coordinates)

    def parse_pose(settings: list[str] | None) -> Array:
        x = read_pose(robot, settings, tool)
        return tool_coordinates(robot, x, tool, motion) if tool else x

    path: Trajectory
    if kind not in KINDS:
        _check_table_options(options)
        if tool and lacks(read_table(Path(kind)).names):
            motion = xyz
        waypoints = read_waypoints(Path(kind), motion)
        path = waypoints.bspline(duration=None if waypoints.times is not None else duration)
    else:
        _check_motion_options(options)
        flat = kind == "circle" and sum(name in motion.coordinates for name in xyz.coordinates) < 2
        if tool and (flat or lacks(options.named_options)):
            motion = xyz
        start = parse_pose(options.at)
        if kind == "circle":
            r = read_quantity(options.radius, angle=False) if options.radius else 0.1 * robot.size
            path = Circle(start, r, motion=motion, duration=duration)
        else:
            end = start if kind == "rest" else parse_pose(_line_end(options.at, options.to))
            path = Line(start, end, motion=motion, duration=duration)
    return ToolTrajectory(robot, path, tool) if tool else path


def check_rate(rate: float) -> None:
    """Refuse a rate that is no sensible number of samples a second."""
    if not 1.0 <= rate <= 1e6:
        raise NacelleError(f"the rate must be between 1 and 1e6 Hz, got {rate:g}")


def _setting_name(text: str) -> str:
    return text.partition("=")[0].strip()


def _line_end(at: list[str] | None, to: list[str] | None) -> list[str]:
    """The end of a line as settings of `--at`: what `--to` does not name stays as at the start."""
    if not to:
        raise NacelleError("a line needs its end: --to NAME=VALUE")
    names = {_setting_name(text) for text in to}
    return [text for text in at or [] if _setting_name(text) not in names] + to


def _check_table_options(options: MotionOptions) -> None:
    if options.at or options.to:
        raise NacelleError("--at and --to apply to circle, line and rest, not to a table")
    if not options.trajectory.endswith(".csv") and not Path(options.trajectory).is_file():
        raise NacelleError(
            f"{options.trajectory!r} is not a trajectory; name a CSV file, or one of {', '.join(KINDS)}"
        )


def _check_motion_options(options: MotionOptions) -> None:
    """Refuse options that the kind of motion has no use for, and durations that are not above zero."""
    if options.to and options.trajectory != "line":
        raise NacelleError(f"--to applies to --trajectory line, not to {options.trajectory}")
    if options.radius and options.trajectory != "circle":
        raise NacelleError(f"--radius applies to --trajectory circle, not to {options.trajectory}")
    if not math.isfinite(options.duration) or options.duration <= 0.0:
        raise NacelleError(f"the duration must be above zero, got {options.duration:g} s")
