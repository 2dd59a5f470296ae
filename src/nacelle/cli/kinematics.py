"""Commands of positions: `ik`, `fk`, `workspace`.

`ik`: inverse kinematics at a pose or along a table of poses. `fk`: forward kinematics of given actuators or
along a table of them. `workspace`: where the platform can go, and how well conditioned it is there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command, with_options_of
from nacelle.cli.common import (
    PICTURES,
    JsonOption,
    RobotArgument,
    check_output_file,
    console,
    exit_interrupted,
    print_json,
    report_written,
)
from nacelle.cli.inputs import (
    AtOption,
    CsvOption,
    FollowOption,
    ModeOption,
    OutOption,
    ToolOption,
    coordinate_kinds,
    load_robot,
    read_assignments,
    read_pose,
    read_quantity,
    require_table_option,
)
from nacelle.cli.outputs import (
    ResultTable,
    actuator_units,
    batch_data,
    dependent_columns,
    dependent_data,
    exit_if_failed,
    flag_names,
    format_coordinate,
    joint_units,
    print_dependent,
    print_result,
    print_tool,
    tool_columns,
    tool_data,
    write_or_print,
)
from nacelle.cli.view import write_picture
from nacelle.errors import NacelleError, did_you_mean, format_count
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.kinematics.forward import Assemblies
    from nacelle.kinematics.solve.inverse import InverseKinematics
    from nacelle.kinematics.workspace import Workspace
    from nacelle.model.robot import Robot
    from nacelle.spatial.scalar import Array


# ---- ik


# Poses that are solved at once.
_BLOCK = 50_000


@command("ik")
def ik_command(
    robot_name: RobotArgument,
    *,
    at: AtOption = None,
    csv: CsvOption = None,
    out: OutOption = None,
    mode: ModeOption = "",
    joints: Annotated[
        bool, typer.Option("--joints", help="With --csv: also write all joint coordinates of the tree.")
    ] = False,
    tool: ToolOption = "",
    follow: FollowOption = False,
    as_json: JsonOption = False,
) -> None:
    """Inverse kinematics: all joints at a pose (--at), or the actuators for a table of poses (--csv)."""
    robot = load_robot(robot_name, mode)
    if csv is None:
        require_table_option({"--out": out, "--joints": joints, "--follow": follow})
        _ik_at_pose(robot, read_pose(robot, at, tool), tool, as_json)
    else:
        if at:
            raise NacelleError("give poses by --at or by --csv, not both")
        _ik_of_table(robot, csv, out, joints=joints, tool=tool, follow=follow, as_json=as_json)


def _ik_at_pose(robot: Robot, x: Array, tool: str, as_json: bool) -> None:
    from nacelle.kinematics.solve.inverse import inverse_kinematics
    from nacelle.model.reduced import layout_of

    result = inverse_kinematics(robot, x)
    names = layout_of(robot.motion).x_names
    coordinates = {name: values.tolist() for name, values in result.joints.items() if values.size}
    flags = flag_names(int(result.flags))
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "pose": dict(zip(names, result.x.tolist(), strict=True)),
                **dependent_data(result),
                "actuators": {
                    a.name: value for a, value in zip(robot.actuators, result.q.tolist(), strict=True)
                },
                "joints": coordinates,
                "flags": flags,
                "ok": bool(result.ok),
                **tool_data(robot, result.x, tool),
            }
        )
        return
    from rich.text import Text

    from nacelle.report.table import plain_table

    table = plain_table("joint", "kind", "", "coordinates")
    drive = {actuator.joint: actuator.name for actuator in robot.actuators}
    for k, joint in enumerate(robot.joints):
        values = coordinates.get(joint.name)
        if values is None or joint.kind.value == "point":
            continue
        texts, start = [], 0
        for primitive in joint.primitives:
            part = values[start : start + primitive.nq]
            start += primitive.nq
            if primitive.nq == 4:
                texts.append("quat_xyzw " + " ".join(f"{value:z.6f}" for value in part))
            else:
                texts.append(format_coordinate(part[0], primitive.is_rotation))
        table.add_row(Text(joint.name), str(joint.kind), Text(drive.get(k, "")), ", ".join(texts))
    console().print(
        f"{robot.name} at " + ", ".join(f"{n} = {v:.6g}" for n, v in zip(names, result.x, strict=True)),
        markup=False,
    )
    print_dependent(result)
    console().print(table)
    print_tool(robot, result.x, tool)
    if flags:
        console().print(f"[yellow]{', '.join(flags)}[/]")


def _ik_of_table(
    robot: Robot, csv: Path, out: Path | None, *, joints: bool, tool: str, follow: bool, as_json: bool
) -> None:
    from nacelle.model.reduced import layout_of
    from nacelle.trajectory.waypoints import read_poses

    check_output_file(out)
    with task(f"reading {csv}") as report:
        poses = read_poses(csv, robot.motion, report)
    points = poses.points
    if tool:
        from nacelle.kinematics.tools import tool_to_pose

        points = tool_to_pose(robot, points, tool)
    result, remark = _solve_in_blocks(robot, points, follow)
    if poses.times is not None and not follow:
        # Poses at times are a motion: angles have no jumps.
        result = result.as_path()
    layout = layout_of(robot.motion)
    if as_json:
        print_json(batch_data(robot, result) | {"actuators": result.q})
        if remark:
            exit_interrupted(remark)
        exit_if_failed(result.flags)
        return
    table = ResultTable()
    if poses.times is not None:
        table.add(["t"], ["s"], [poses.times[: len(result.x)]])
    table.add(layout.x_names, layout.units, result.x.T)
    table.add(*dependent_columns(result))
    table.add((actuator.name for actuator in robot.actuators), actuator_units(robot), result.q.T)
    if joints:
        driven = {robot.joints[actuator.joint].name for actuator in robot.actuators}
        for joint, columns in zip(robot.tree_joints, robot.q_slices, strict=True):
            # Columns of actuators are there already, and a name may be in a table once only.
            if joint.name in driven:
                continue
            names = [f"{joint.name}.{k + 1}" if joint.nq > 1 else joint.name for k in range(joint.nq)]
            table.add(names, joint_units(joint), result.q_tree[:, columns].T)
    table.write_or_print(result, "poses", out, result.margins, remark=remark)


def _solve_in_blocks(robot: Robot, x: Array, follow: bool) -> tuple[InverseKinematics, str]:
    """Inverse kinematics of many poses, some at a time, so that one sees how far it is.

    Returns:
        The result, and after Ctrl-C what is in it as a message: the blocks that were finished.
    """
    import numpy as np

    from nacelle.kinematics.solve.inverse import inverse_kinematics

    parts: list[InverseKinematics] = []
    with task(f"inverse kinematics of {robot.name}") as report:
        try:
            for start in range(0, len(x), _BLOCK):
                block, last = x[start : start + _BLOCK], parts[-1] if parts else None
                guess = _last_solution(last) if follow and last is not None else None
                parts.append(inverse_kinematics(robot, block, guess=guess, follow=follow))
                report((start + _BLOCK) / len(x))
        except KeyboardInterrupt:
            if not parts:
                raise
    names = _array_names(parts[0])
    joined: Any = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    result = dataclasses.replace(parts[0], **joined)
    return result, "" if len(result.x) == len(x) else f"{len(result.x)} of {len(x)} poses are kept"


def _array_names(result: InverseKinematics) -> list[str]:
    """The fields of a result that have a row for each pose."""
    fields = (field.name for field in dataclasses.fields(result))
    return [name for name in fields if hasattr(getattr(result, name), "shape")]


def _last_solution(path: InverseKinematics) -> InverseKinematics | None:
    """The last pose of a path that was solved, from which the next one follows; None if none was."""
    import numpy as np

    from nacelle.kinematics.flags import has_failed

    indices = np.flatnonzero(~has_failed(path.flags))
    if not indices.size:
        return None
    last: Any = {name: getattr(path, name)[indices[-1]] for name in _array_names(path)}
    return dataclasses.replace(path, **last)


# ---- fk


@command("fk")
def fk_command(
    robot_name: RobotArgument,
    *,
    q: Annotated[
        list[str] | None,
        typer.Option(
            "--q",
            metavar="NAME=VALUE",
            help="Coordinate of an actuator, such as motor=20deg; one for each actuator.",
        ),
    ] = None,
    csv: CsvOption = None,
    out: OutOption = None,
    guess: Annotated[
        list[str] | None,
        typer.Option(
            "--guess",
            metavar="NAME=VALUE",
            help="Coordinate of the initial guess of the pose (repeatable); by default the reference pose.",
        ),
    ] = None,
    follow: FollowOption = False,
    assemblies: Annotated[
        bool, typer.Option("--assemblies", help="With --q: search for all assembly modes.")
    ] = False,
    mode: ModeOption = "",
    tool: ToolOption = "",
    as_json: JsonOption = False,
) -> None:
    """Forward kinematics: the pose from actuator coordinates (--q) or from a table of them (--csv)."""
    robot = load_robot(robot_name, mode)
    start = read_pose(robot, guess) if guess else None
    if csv is None:
        require_table_option({"--out": out, "--follow": follow})
        _fk_of_actuators(robot, q, start, tool=tool, assemblies=assemblies, as_json=as_json)
    else:
        if assemblies:
            raise NacelleError("--assemblies requires --q: it takes one sample")
        if q:
            raise NacelleError("give actuators by --q or by --csv, not both")
        _fk_of_table(robot, csv, out, start, follow=follow, tool=tool, as_json=as_json)


def _fk_of_actuators(
    robot: Robot, q: list[str] | None, start: Array | None, *, tool: str, assemblies: bool, as_json: bool
) -> None:
    import numpy as np

    from nacelle.kinematics.forward import forward_kinematics
    from nacelle.model.reduced import layout_of

    names = [actuator.name for actuator in robot.actuators]
    kinds = robot.revolute_actuators
    coordinates = read_assignments(q, dict(zip(names, kinds, strict=True)), "actuator")
    missing = [name for name in names if name not in coordinates]
    if missing:
        raise NacelleError(
            f"{robot.name} needs a coordinate of each actuator: --q {missing[0]}=VALUE"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        )
    actuators = np.array([coordinates[name] for name in names])
    result = forward_kinematics(robot, actuators, start, assemblies=assemblies)
    layout = layout_of(robot.motion)
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "actuators": coordinates,
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
        text = format_coordinate(float(value), bool(kinds_x[name])) if name in kinds_x else f"{value:.8f}"
        console().print(f"{name:>6} = {text}")
    print_dependent(result)
    print_tool(robot, result.x, tool)
    steps = format_count(int(result.iterations), "iteration")
    method = f"Newton's method, {steps}" if result.iterations else "closed form"
    console().print(f"[dim]{method}[/]")
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
    console().print(f"{len(assemblies.x)} assembly modes; branch signs compared with the reference pose:")
    for x, signs in zip(assemblies.x, assemblies.signs, strict=True):
        pose = ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, x, strict=True))
        flipped = [name for name, sign in zip(assemblies.names, signs, strict=True) if sign < 0.0]
        console().print(
            f"  {pose}; {'different: ' + ', '.join(flipped) if flipped else 'the same'}", markup=False
        )


def _fk_of_table(
    robot: Robot, csv: Path, out: Path | None, start: Array | None, *, follow: bool, tool: str, as_json: bool
) -> None:
    import numpy as np

    from nacelle.kinematics.forward import forward_kinematics
    from nacelle.model.reduced import layout_of
    from nacelle.tables.csv import ANGLE, LENGTH, Columns, read_table

    check_output_file(out)
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
    actuators = np.stack([entries[name] for name in names], axis=-1)
    result = forward_kinematics(robot, actuators, start, follow=follow)
    layout = layout_of(robot.motion)
    if as_json:
        print_json(batch_data(robot, result) | tool_data(robot, result.x, tool))
        exit_if_failed(result.flags)
        return
    output = ResultTable()
    output.add(names, units, actuators.T)
    output.add(layout.x_names, layout.units, result.x.T)
    output.add(*dependent_columns(result))
    output.add(*tool_columns(robot, result.x, tool))
    output.write_or_print(result, "lines", out)


# ---- workspace


@dataclasses.dataclass(frozen=True)
class WorkspaceRun:
    """The options of `workspace`."""

    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="NAME=LOW:HIGH[:POINTS]",
            help="Coordinate to vary, with its range; one to three (repeatable), any number with --prove.",
        ),
    ] = None
    at: AtOption = None
    rays: Annotated[
        int, typer.Option("--rays", help="Number of rays from the pose, instead of a grid; 0 for a grid.")
    ] = 0
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Output file: a table (.csv) or a figure (.png, .svg, .pdf); with --prove a proof (.npz).",
        ),
    ] = None
    tool: ToolOption = ""
    singular: Annotated[
        bool,
        typer.Option(
            "--singularities", help="Also print the distance of the grid to singularities, by kind."
        ),
    ] = False
    prove: Annotated[
        bool, typer.Option("--prove", help="Decide boxes of poses with a proof, instead of a grid of poses.")
    ] = False
    serial: Annotated[
        float,
        typer.Option(
            "--serial", help="With --prove: margin that every leg shall keep from serial singularities."
        ),
    ] = 1e-3
    parallel: Annotated[
        float,
        typer.Option("--parallel", help="With --prove: inverse condition that the Jacobian shall keep."),
    ] = 1e-2
    decided: Annotated[
        float, typer.Option("--decided", help="With --prove: share of the volume at which the search ends.")
    ] = 0.99
    boxes: Annotated[
        int, typer.Option("--boxes", help="With --prove: how many boxes are evaluated at most.")
    ] = 400_000
    mode: ModeOption = ""
    as_json: JsonOption = False


@command("workspace")
@with_options_of(WorkspaceRun)
def workspace_command(robot_name: str, run: WorkspaceRun) -> None:
    """Workspace within all limits: poses, their volume, conditioning, on a grid or along rays; or proved."""
    from nacelle.kinematics.workspace import workspace, workspace_boundary
    from nacelle.report.workspace import reach_data, reach_lines, workspace_data, workspace_lines

    robot = load_robot(robot_name, run.mode)
    start = read_pose(robot, run.at, run.tool)
    if run.rays:
        if run.over or run.out or run.singular or run.prove:
            raise NacelleError("--rays excludes --over, --out, --singularities and --prove")
        reached = workspace_boundary(robot, at=start, rays=run.rays, tool=run.tool or None)
        print_result(reached, reach_data, reach_lines, run.as_json)
        return
    if not run.over:
        raise NacelleError(
            f"no coordinate to vary; give --over NAME=LOW:HIGH with {', '.join(robot.motion.coordinates)}"
        )
    ranges = read_ranges(robot, run.over)
    if run.prove:
        _prove_workspace(robot, ranges, start, run)
        return
    check_output_file(run.out, (".csv", *PICTURES))
    grid = workspace(robot, ranges, at=start, tool=run.tool or None)
    if run.out is not None and run.out.suffix.lower() == ".csv":
        write_or_print(_grid_table(grid), run.out)
    elif run.out is not None:
        write_picture(grid.plot, run.out)
    print_result(grid, workspace_data, workspace_lines, run.as_json, singular=run.singular)


def _prove_workspace(robot: Robot, ranges: Any, start: Any, run: WorkspaceRun) -> None:
    """Prove a workspace, and write the proof or a picture of it."""
    from nacelle.proof.file import save_proof
    from nacelle.proof.workspace import prove_workspace
    from nacelle.report.proof import proved_data, proved_lines

    if run.tool or run.singular:
        raise NacelleError(
            "--prove excludes --tool and --singularities: a proof is about poses of the platform"
        )
    points = [name for name, values in ranges.items() if len(values) > 2]
    if points:
        raise NacelleError(f"--prove takes no points: give --over {points[0]}=LOW:HIGH")
    check_output_file(run.out, (".npz", *PICTURES))
    margins: dict[str, float] = {"serial": run.serial, "parallel": run.parallel, "decided": run.decided}
    proved = prove_workspace(robot, ranges, at=start, boxes=run.boxes, **margins)
    if run.out is not None and run.out.suffix.lower() == ".npz":
        report_written(save_proof(proved, run.out))
    elif run.out is not None:
        write_picture(proved.plot, run.out)
    print_result(proved, proved_data, proved_lines, run.as_json)


def _grid_table(grid: Workspace) -> Iterator[str]:
    """All poses of a grid, the angles by which a free orientation is turned, and what was found there."""
    import numpy as np

    from nacelle.model.reduced import layout_of

    layout = layout_of(grid.robot.motion)
    x, table = grid.x.reshape(-1, layout.nx), ResultTable()
    table.add(layout.x_names, layout.units, x.T)
    for name in grid.rotation_names:
        index = grid.names.index(name)
        shape = [len(grid.values[index]) if k == index else 1 for k in range(len(grid.names))]
        values = grid.values[index].reshape(shape) * np.ones(grid.flags.shape)
        table.add([f"over.{name}"], ["rad"], [values.ravel()])
    table.add(*tool_columns(grid.robot, x, grid.tool or ""))
    table.add(["conditioning", "flags"], ["", ""], [grid.conditioning.ravel(), grid.flags.ravel()])
    return table.lines()


def read_ranges(robot: Robot, over: list[str]) -> dict[str, tuple[float, float] | tuple[float, float, int]]:
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
            raise NacelleError(f"{name} is given twice")
        low, high = (read_quantity(part, angle=kinds[name]) for part in parts[:2])
        if len(parts) == 2:
            ranges[name] = (low, high)
        elif parts[2].isdecimal() and len(parts[2]) < 7:
            ranges[name] = (low, high, int(parts[2]))
        else:
            raise NacelleError(f"{parts[2]!r} is not a number of points")
    return ranges
