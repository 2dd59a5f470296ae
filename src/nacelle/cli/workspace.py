"""The command `workspace`: where the nacelle can go, and how well conditioned it is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.common import PICTURES, JsonOption, RobotArgument, app, check_new, console, fail, print_json
from nacelle.cli.draw import write_picture
from nacelle.cli.pose import (
    AtOption,
    ModeOption,
    coordinate_kinds,
    deliver,
    load_robot,
    pose_at,
    quantity,
    table_text,
)
from nacelle.errors import NacelleError, did_you_mean

if TYPE_CHECKING:
    from nacelle.model.robot import Robot


@app.command("workspace")
def workspace_command(
    robot: RobotArgument,
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
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Workspace: where the nacelle can go within all limits, its size, and how well conditioned it is."""
    try:
        _workspace(load_robot(robot, mode), over, at, rays, out, as_json)
    except NacelleError as error:
        fail(error, as_json)


def _workspace(
    robot: Robot, over: list[str] | None, at: list[str] | None, rays: int, out: Path | None, as_json: bool
) -> None:
    import numpy as np

    from nacelle.kinematics.workspace import reach, workspace

    start = pose_at(robot, at)
    if rays:
        if over or out:
            raise NacelleError("--rays goes without --over and --out")
        found = reach(robot, at=start, rays=rays)
        shortest, longest = float(np.min(found.distance)), float(np.max(found.distance))
        sizes = {"volume": found.volume, "shortest": shortest, "longest": longest}
        if as_json:
            print_json({"robot": robot.name, "rays": rays, **sizes})
        else:
            unit = "m^2" if len(found.names) == 2 else "m^3"
            console().print(
                f"{robot.name}: {found.volume:.6g} {unit} seen from the pose; rays from {shortest:.4g} m to "
                f"{longest:.4g} m",
                markup=False,
            )
        return
    if not over:
        raise NacelleError(
            f"name what to vary: --over NAME=LOW:HIGH, of {', '.join(robot.motion.coordinates)}"
        )
    check_new(out, (".csv", *PICTURES))
    grid = workspace(robot, _ranges(robot, over), at=start)
    if out is not None and out.suffix == ".csv":
        columns = [grid.x[..., k].ravel() for k in _varied(grid)]
        names = [*grid.names, "conditioning", "flags"]
        deliver(
            table_text(names, [""] * len(names), [*columns, grid.conditioning.ravel(), grid.flags.ravel()]),
            out,
        )
    elif out is not None:
        write_picture(lambda pictures: pictures.plot_workspace(grid), out)
    finite = grid.conditioning[grid.inside_limits]
    data: dict[str, Any] = {
        "robot": robot.name,
        "over": {
            n: [float(v[0]), float(v[-1]), len(v)] for n, v in zip(grid.names, grid.values, strict=True)
        },
        "points": int(grid.flags.size),
        "reachable": int(np.count_nonzero(grid.reachable)),
        "inside_limits": int(np.count_nonzero(grid.inside_limits)),
        "volume": grid.volume,
        "conditioning": {
            "lowest": float(np.min(finite)) if finite.size else None,
            "median": float(np.median(finite)) if finite.size else None,
            "highest": float(np.max(finite)) if finite.size else None,
        },
    }
    if as_json:
        print_json(data)
        return
    share = 100.0 * data["inside_limits"] / data["points"]
    lines = [
        f"{robot.name} over {', '.join(grid.names)}: {data['points']} points",
        f"reachable {data['reachable']}, within limits {data['inside_limits']} ({share:.1f} %), "
        f"size {grid.volume:.6g} {_size_unit(robot, grid.names)}",
    ]
    if finite.size:
        figures = data["conditioning"]
        lines.append(
            f"inverse condition number: lowest {figures['lowest']:.4f}, median {figures['median']:.4f}, "
            f"highest {figures['highest']:.4f}"
        )
    for line in lines:
        console().print(line, markup=False)


def _size_unit(robot: Robot, names: tuple[str, ...]) -> str:
    """Unit of the size of a workspace over some coordinates."""
    kinds = coordinate_kinds(robot)
    lengths = sum(not kinds[name] for name in names)
    parts = [f"m^{lengths}" if lengths > 1 else "m"] if lengths else []
    return " ".join([*parts, *["rad"] * (len(names) - lengths)])


def _varied(grid: Any) -> list[int]:
    from nacelle.model.reduced import layout_of

    names = layout_of(grid.robot.motion).x_names
    return [names.index(name) for name in grid.names]


def _ranges(robot: Robot, over: list[str]) -> dict[str, tuple[float, float] | tuple[float, float, int]]:
    """Read NAME=LOW:HIGH[:POINTS]."""
    kinds = coordinate_kinds(robot)
    ranges: dict[str, tuple[float, float] | tuple[float, float, int]] = {}
    for text in over:
        name, sign, rest = text.partition("=")
        parts = rest.split(":")
        if not sign or len(parts) not in (2, 3):
            raise NacelleError(f"{text!r} is not NAME=LOW:HIGH or NAME=LOW:HIGH:POINTS")
        if name not in kinds:
            raise NacelleError(f"no coordinate is called {name!r}; {did_you_mean(name, kinds)}")
        low, high = (quantity(part, turns=kinds[name]) for part in parts[:2])
        if len(parts) == 2:
            ranges[name] = (low, high)
        elif parts[2].isdecimal() and len(parts[2]) < 7:
            ranges[name] = (low, high, int(parts[2]))
        else:
            raise NacelleError(f"{parts[2]!r} is not a number of points")
    return ranges
