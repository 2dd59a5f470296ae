"""The command `ik`: inverse kinematics at a pose or along a table of poses."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.commands import command
from nacelle.cli.common import JsonOption, RobotArgument, check_new, console, leave_interrupted, print_json
from nacelle.cli.inputs import (
    AtOption,
    CsvOption,
    FollowOption,
    ModeOption,
    OutOption,
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
    joint_units,
    leave_if_failed,
    print_dependent,
    print_tool,
    tool_data,
)
from nacelle.errors import NacelleError
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.kinematics.inverse import InverseKinematics
    from nacelle.model.robot import Robot
    from nacelle.spatial.scalar import Array

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
    joints: Annotated[bool, typer.Option("--joints", help="In tables, all joints of the tree too.")] = False,
    tool: ToolOption = "",
    follow: FollowOption = False,
    as_json: JsonOption = False,
) -> None:
    """Inverse kinematics: all joints at a pose (--at), or actuators at all poses of a table (--csv)."""
    robot = load_robot(robot_name, mode)
    if csv is None:
        need_table({"--out": out, "--joints": joints, "--follow": follow})
        _single(robot, pose_at(robot, at, tool), tool, as_json)
    else:
        if at:
            raise NacelleError("give poses by --at or by --csv, not both")
        _table(robot, csv, out, joints=joints, tool=tool, follow=follow, as_json=as_json)


def _single(robot: Robot, x: Array, tool: str, as_json: bool) -> None:
    from nacelle.kinematics.inverse import inverse_kinematics
    from nacelle.model.reduced import layout_of

    result = inverse_kinematics(robot, x)
    names = layout_of(robot.motion).x_names
    listed = {name: values.tolist() for name, values in result.joints.items() if values.size}
    flags = flag_names(int(result.flags))
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "pose": dict(zip(names, result.x.tolist(), strict=True)),
                **dependent_data(result),
                "actuators": {
                    a.name: value for a, value in zip(robot.actuators, result.actuators.tolist(), strict=True)
                },
                "joints": listed,
                "flags": flags,
                "ok": bool(result.ok),
                **tool_data(robot, result.x, tool),
            }
        )
        return
    from nacelle.report.table import plain_table

    table = plain_table("joint", "kind", "", "coordinates")
    drive = {actuator.joint: actuator.name for actuator in robot.actuators}
    for k, joint in enumerate(robot.joints):
        values = listed.get(joint.name)
        if values is None or joint.kind.value == "point":
            continue
        words, start = [], 0
        for primitive in joint.primitives:
            part = values[start : start + primitive.nq]
            start += primitive.nq
            if primitive.nq == 4:
                words.append("quat_xyzw " + " ".join(f"{value:.6f}" for value in part))
            else:
                words.append(for_people(part[0], primitive.is_rotation))
        table.add_row(joint.name, str(joint.kind), drive.get(k, ""), ", ".join(words))
    console().print(
        f"{robot.name} at " + ", ".join(f"{n} = {v:.6g}" for n, v in zip(names, result.x, strict=True)),
        markup=False,
    )
    print_dependent(result)
    console().print(table)
    print_tool(robot, result.x, tool)
    if flags:
        console().print(f"[yellow]{', '.join(flags)}[/]")


def _table(
    robot: Robot, csv: Path, out: Path | None, *, joints: bool, tool: str, follow: bool, as_json: bool
) -> None:
    from nacelle.kinematics.trajectory.waypoints import read_poses
    from nacelle.model.reduced import layout_of

    check_new(out)
    with task(f"reading {csv}") as report:
        given = read_poses(csv, robot.motion, report)
    points = given.points
    if tool:
        from nacelle.kinematics.tools.target import tool_to_pose

        points = tool_to_pose(robot, points, tool)
    result, kept = _in_blocks(robot, points, follow)
    if given.times is not None and not follow:
        # Poses at times are a motion: angles have no jumps.
        result = result.as_path()
    layout = layout_of(robot.motion)
    if as_json:
        print_json(batch_data(robot, result) | {"actuators": result.actuators})
        if kept:
            leave_interrupted(kept)
        leave_if_failed(result.flags)
        return
    listed = ResultTable()
    if given.times is not None:
        listed.add(["t"], ["s"], [given.times[: len(result.x)]])
    listed.add(layout.x_names, layout.units, result.x.T)
    listed.add(*dependent_columns(result))
    listed.add((actuator.name for actuator in robot.actuators), actuator_units(robot), result.actuators.T)
    if joints:
        driven = {robot.joints[actuator.joint].name for actuator in robot.actuators}
        for joint, place in zip(robot.tree_joints, robot.q_slices, strict=True):
            # Columns of actuators are there already, and a name may be in a table once only.
            if joint.name in driven:
                continue
            names = [f"{joint.name}.{k + 1}" if joint.nq > 1 else joint.name for k in range(joint.nq)]
            listed.add(names, joint_units(joint), result.q[:, place].T)
    listed.deliver(result, "poses", out, result.margins, kept=kept)


def _in_blocks(robot: Robot, x: Array, follow: bool) -> tuple[InverseKinematics, str]:
    """Inverse kinematics of many poses, some at a time, so that one sees how far it is.

    Returns:
        The result, and after Ctrl-C what is in it, in words: the blocks that were finished.
    """
    import numpy as np

    from nacelle.kinematics.inverse import inverse_kinematics

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

    from nacelle.kinematics.flags import failed

    solved = np.flatnonzero(~failed(path.flags))
    if not solved.size:
        return None
    last: Any = {name: getattr(path, name)[solved[-1]] for name in _array_names(path)}
    return dataclasses.replace(path, **last)
