"""The command `workspace`: where the nacelle can go, and how well conditioned it is there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import PICTURES, JsonOption, RobotArgument, check_new, console, print_json
from nacelle.cli.draw import write_picture
from nacelle.cli.inputs import AtOption, ModeOption, coordinate_kinds, load_robot, pose_at, value_with_unit
from nacelle.cli.loads import ToolOption
from nacelle.cli.outputs import deliver, reported_table, tool_columns
from nacelle.errors import NacelleError, did_you_mean

if TYPE_CHECKING:
    from nacelle.kinematics.workspace import Reach, Workspace
    from nacelle.model.robot import Robot


@command("workspace")
def workspace_command(
    robot_name: RobotArgument,
    *,
    over: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="NAME=LOW:HIGH[:POINTS]", help="A coordinate to vary; one to three."),
    ] = None,
    at: AtOption = None,
    rays: Annotated[
        int, typer.Option("--rays", help="Measure along so many rays from the pose instead of on a grid.")
    ] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write: .csv, or a picture .png, .svg, .pdf.")
    ] = None,
    tool: ToolOption = "",
    singular: Annotated[
        bool, typer.Option("--singularities", help="How near the grid comes to singularities, by kind.")
    ] = False,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Workspace: where the nacelle can go within all limits, its size, and how well conditioned it is."""
    from nacelle.kinematics.workspace import reach, workspace

    robot = load_robot(robot_name, mode)
    start = pose_at(robot, at, tool)
    if rays:
        if over or out or singular:
            raise NacelleError("--rays goes without --over, --out and --singularities")
        _show_reach(reach(robot, at=start, rays=rays, tool=tool or None), as_json)
        return
    if not over:
        raise NacelleError(
            f"name what to vary: --over NAME=LOW:HIGH, of {', '.join(robot.motion.coordinates)}"
        )
    check_new(out, (".csv", *PICTURES))
    grid = workspace(robot, ranges(robot, over), at=start, tool=tool or None)
    if out is not None and out.suffix.lower() == ".csv":
        deliver(_table(grid), out)
    elif out is not None:
        write_picture(grid.plot, out)
    from nacelle.report.plain import workspace_data

    data = workspace_data(grid, singular=singular)
    if as_json:
        print_json(data)
        return
    for line in _lines(grid, data):
        console().print(line, markup=False)


def _show_reach(reached: Reach, as_json: bool) -> None:
    """Print how far rays go."""
    robot, rays = reached.robot, len(reached.distance)
    shortest, longest = float(reached.distance.min()), float(reached.distance.max())
    endless = int(reached.endless.sum())
    if as_json:
        from nacelle.report.plain import reach_data

        print_json(reach_data(reached))
        return
    unit = "m^2" if len(reached.names) == 2 else "m^3"
    console().print(
        f"{robot.name}: {reached.volume:.6g} {unit} seen from the pose; rays from {shortest:.4g} m to "
        f"{longest:.4g} m",
        markup=False,
    )
    if endless:
        console().print(
            f"{endless} of {rays} rays meet no boundary within {reached.furthest:.4g} m: the size is what "
            "was walked (give limits to the joints or drives)",
            markup=False,
        )


def _table(grid: Workspace) -> Iterator[str]:
    """All poses of a grid, the angles by which a free orientation is turned, and what was found there."""
    import numpy as np

    from nacelle.model.reduced import layout_of

    layout = layout_of(grid.robot.motion)
    names, units = list(layout.x_names), list(layout.units)
    columns = [grid.x[..., k].ravel() for k in range(layout.nx)]
    for name in grid.turned:
        names.append(f"over.{name}")
        units.append("rad")
        place = grid.names.index(name)
        shape = [len(grid.values[place]) if k == place else 1 for k in range(len(grid.names))]
        values = grid.values[place].reshape(shape) * np.ones(grid.flags.shape)
        columns.append(values.ravel())
    more = tool_columns(grid.robot, grid.x.reshape(-1, layout.nx), grid.tool or "")
    names, units, columns = names + more[0], units + more[1], columns + more[2]
    names, units = [*names, "conditioning", "flags"], [*units, "", ""]
    return reported_table(names, units, [*columns, grid.conditioning.ravel(), grid.flags.ravel()])


def _lines(grid: Workspace, data: dict[str, Any]) -> list[str]:
    """What a grid says, for people."""
    steps = [
        f"{name} in steps of {_shown((values[-1] - values[0]) / (len(values) - 1), unit)}"
        for name, values, unit in zip(grid.names, grid.values, grid.units, strict=True)
    ]
    whose = f" of the tool {grid.tool}" if grid.tool else ""
    lines = [f"{grid.robot.name}: {data['points']} poses{whose}, {', '.join(steps)}"]
    if grid.turned:
        vector = ", ".join(name if name in grid.turned else "0" for name in ("rx", "ry", "rz"))
        lines.append(
            f"orientation: that of the pose of --at, or of the reference, turned by the rotation vector "
            f"[{vector}] in base axes"
        )
    points, inside = data["points"], data["inside_limits"]
    lines.append(
        f"reached {data['reachable']} ({100.0 * data['reachable'] / points:.1f} %); within the limits of "
        f"joints and drives {inside} ({100.0 * inside / points:.1f} %)"
        + (f", together {grid.volume:.6g} {grid.unit}" if len(grid.names) > 1 else "")
    )
    if data["other_branch"]:
        other = data["other_branch"]
        lines.append(
            f"on a branch that is not connected with the reference pose, and not counted within limits: "
            f"{other} ({100.0 * other / points:.1f} %)"
        )
    if len(grid.names) == 1:
        (unit,) = grid.units
        ranges = [f"{_shown(low, unit)} to {_shown(high, unit)}" for low, high in grid.intervals]
        if ranges:
            lines.append(f"within limits: {grid.names[0]} from {' and from '.join(ranges)}")
    elif grid.extent is not None:
        spans = [
            f"{name} from {_shown(low, unit)} to {_shown(high, unit)}"
            for name, (low, high), unit in zip(grid.names, grid.extent, grid.units, strict=True)
        ]
        lines.append(f"furthest poses within limits: {', '.join(spans)}")
    figures = data["conditioning"]
    if figures["median"] is not None:
        lines.append(
            f"inverse condition number within limits (1 is isotropic, 0 singular): lowest "
            f"{figures['lowest']:.4f}, median {figures['median']:.4f}, highest {figures['highest']:.4f}"
        )
    for kind, lowest in data.get("singularities", {}).items():
        where = ", ".join(f"{value:.4g}" for value in lowest["at"])
        leg = f", leg {lowest['leg']}" if lowest["leg"] else ""
        lines.append(f"nearest {kind} singularity: measure {lowest['measure']:.4f} at x = {where}{leg}")
    return lines


def _shown(value: float, unit: str) -> str:
    """A coordinate for people: degrees or metres."""
    return f"{math.degrees(value):.5g} deg" if unit == "rad" else f"{value:.5g} m"


def ranges(robot: Robot, over: list[str]) -> dict[str, tuple[float, float] | tuple[float, float, int]]:
    """Read NAME=LOW:HIGH[:POINTS]."""
    kinds = coordinate_kinds(robot)
    ranges: dict[str, tuple[float, float] | tuple[float, float, int]] = {}
    for text in over:
        name, sign, values = text.partition("=")
        parts = values.split(":")
        if not sign or len(parts) not in (2, 3):
            raise NacelleError(f"{text!r} is not NAME=LOW:HIGH or NAME=LOW:HIGH:POINTS")
        name = name.strip()
        if name not in kinds:
            raise NacelleError(f"no coordinate is called {name!r}; {did_you_mean(name, kinds)}")
        if name in ranges:
            raise NacelleError(f"{name} is to vary twice")
        low, high = (value_with_unit(part, angle=kinds[name]) for part in parts[:2])
        if len(parts) == 2:
            ranges[name] = (low, high)
        elif parts[2].isdecimal() and len(parts[2]) < 7:
            ranges[name] = (low, high, int(parts[2]))
        else:
            raise NacelleError(f"{parts[2]!r} is not a number of points")
    return ranges
