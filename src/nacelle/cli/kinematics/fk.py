"""The command `fk`: forward kinematics of given actuators or along a table of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, check_new, console, print_json
from nacelle.cli.inputs import (
    CsvOption,
    FollowOption,
    ModeOption,
    OutOption,
    assignments,
    coordinate_kinds,
    load_robot,
    need_table,
    pose_at,
)
from nacelle.cli.loads import ToolOption
from nacelle.cli.outputs import (
    ResultTable,
    actuator_units,
    batch_data,
    dependent_columns,
    dependent_data,
    flag_names,
    for_people,
    leave_if_failed,
    print_dependent,
    print_tool,
    tool_columns,
    tool_data,
)
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.kinematics.forward.assemblies import Assemblies
    from nacelle.model.robot import Robot
    from nacelle.spatial.scalar import Array


@command("fk")
def fk_command(
    robot_name: RobotArgument,
    *,
    q: Annotated[
        list[str] | None,
        typer.Option("--q", metavar="NAME=VALUE", help="Coordinate of an actuator, such as motor=20deg."),
    ] = None,
    csv: CsvOption = None,
    out: OutOption = None,
    guess: Annotated[
        list[str] | None,
        typer.Option("--guess", metavar="NAME=VALUE", help="A coordinate of the pose to start from; repeat."),
    ] = None,
    follow: FollowOption = False,
    assemblies: Annotated[
        bool, typer.Option("--assemblies", help="With --q, search for all poses with these coordinates.")
    ] = False,
    mode: ModeOption = "",
    tool: ToolOption = "",
    as_json: JsonOption = False,
) -> None:
    """Forward kinematics: the pose from the actuators (--q), or poses for a table of them (--csv)."""
    robot = load_robot(robot_name, mode)
    start = pose_at(robot, guess) if guess else None
    if csv is None:
        need_table({"--out": out, "--follow": follow})
        _single(robot, q, start, tool=tool, assemblies=assemblies, as_json=as_json)
    else:
        if assemblies:
            raise NacelleError("--assemblies goes with --q, for one sample")
        if q:
            raise NacelleError("give actuators by --q or by --csv, not both")
        _table(robot, csv, out, start, follow=follow, tool=tool, as_json=as_json)


def _single(
    robot: Robot, q: list[str] | None, start: Array | None, *, tool: str, assemblies: bool, as_json: bool
) -> None:
    import numpy as np

    from nacelle.kinematics.forward.forward import forward_kinematics
    from nacelle.model.reduced import layout_of

    names = [actuator.name for actuator in robot.actuators]
    kinds = robot.revolute_actuators
    given = assignments(q, dict(zip(names, kinds, strict=True)), "actuator")
    missing = [name for name in names if name not in given]
    if missing:
        raise NacelleError(
            f"{robot.name} needs a coordinate of each actuator: --q {missing[0]}=VALUE"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        )
    wanted = np.array([given[name] for name in names])
    result = forward_kinematics(robot, wanted, start, assemblies=assemblies)
    layout = layout_of(robot.motion)
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "actuators": given,
                "pose": dict(zip(layout.x_names, result.x.tolist(), strict=True)),
                **dependent_data(result),
                "iterations": int(result.iterations),
                "flags": flag_names(int(result.flags)),
                **tool_data(robot, result.x, tool),
                **_assembly_data(result.assemblies),
            }
        )
        return
    kinds_x = coordinate_kinds(robot)
    for name, value in zip(layout.x_names, result.x, strict=True):
        text = for_people(float(value), bool(kinds_x[name])) if name in kinds_x else f"{value:.8f}"
        console().print(f"{name:>6} = {text}")
    print_dependent(result)
    print_tool(robot, result.x, tool)
    way = f"Newton's iteration, {int(result.iterations)} steps" if result.iterations else "closed form"
    console().print(f"[dim]{way}[/]")
    flags = flag_names(int(result.flags))
    if flags:
        console().print(f"[yellow]{', '.join(flags)}[/]")
    if assemblies:
        _print_assemblies(layout.x_names, result.assemblies)


def _assembly_data(assemblies: Assemblies | None) -> dict[str, Any]:
    """All assemblies for JSON; nothing where they were not searched."""
    if assemblies is None:
        return {}
    signs = [dict(zip(assemblies.names, row.tolist(), strict=True)) for row in assemblies.signs]
    return {"assemblies": [{"pose": x, "signs": s} for x, s in zip(assemblies.x, signs, strict=True)]}


def _print_assemblies(names: tuple[str, ...], assemblies: Assemblies) -> None:
    """All assemblies, with the signs that differ from those of the reference pose."""
    console().print(f"{len(assemblies.x)} assemblies were found; signs against the reference pose:")
    for x, signs in zip(assemblies.x, assemblies.signs, strict=True):
        place = ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, x, strict=True))
        other = [name for name, sign in zip(assemblies.names, signs, strict=True) if sign < 0.0]
        console().print(f"  {place}; {'other: ' + ', '.join(other) if other else 'the same'}", markup=False)


def _table(
    robot: Robot, csv: Path, out: Path | None, start: Array | None, *, follow: bool, tool: str, as_json: bool
) -> None:
    import numpy as np

    from nacelle.kinematics.forward.forward import forward_kinematics
    from nacelle.model.reduced import layout_of
    from nacelle.tables.columns import ANGLE, LENGTH, Columns
    from nacelle.tables.csv import read_table

    check_new(out)
    names, units = [actuator.name for actuator in robot.actuators], actuator_units(robot)
    table = read_table(csv)
    dimensions = {n: (ANGLE,) if unit == "rad" else (LENGTH,) for n, unit in zip(names, units, strict=True)}
    columns = Columns(table, dimensions)
    for k, name in enumerate(table.names):
        if name in names:
            columns.take(name, k)
    columns.require(names)
    columns.stop("actuators")
    with task(f"reading {csv}") as report:
        entries = columns.values(gaps=True, report=report)
    columns.stop("actuators")
    wanted = np.stack([entries[name] for name in names], axis=-1)
    result = forward_kinematics(robot, wanted, start, follow=follow)
    layout = layout_of(robot.motion)
    if as_json:
        print_json(batch_data(robot, result) | tool_data(robot, result.x, tool))
        leave_if_failed(result.flags)
        return
    listed = ResultTable()
    listed.add(names, units, wanted.T)
    listed.add(layout.x_names, layout.units, result.x.T)
    listed.add(*dependent_columns(result))
    listed.add(*tool_columns(robot, result.x, tool))
    listed.deliver(result, "lines", out)
