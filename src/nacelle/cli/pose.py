"""Commands about poses: `ik`, `fk`; and how commands read poses and write tables."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.common import (
    JsonOption,
    RobotArgument,
    app,
    check_new,
    console,
    fail,
    print_json,
    print_text,
    write_new,
)
from nacelle.cli.loads import ToolOption
from nacelle.errors import NacelleError, did_you_mean
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.kinematics.forward.assemblies import Assemblies
    from nacelle.kinematics.inverse import InverseKinematics
    from nacelle.model.joint import Joint
    from nacelle.model.robot import Robot
    from nacelle.spatial.scalar import Array

AtOption = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="NAME=VALUE",
        help="A coordinate of the pose, such as x=100mm or rz=20deg; repeat. Others stay at the reference.",
    ),
]
CsvOption = Annotated[Path | None, typer.Option("--csv", help="Table of inputs, a header line first.")]
# Exit status of a command that has done its work, though some samples have no result.
FAILED_SAMPLES = 3
OutOption = Annotated[Path | None, typer.Option("--out", help="File to write; never overwritten.")]
ModeOption = Annotated[str, typer.Option("--mode", help="A mode of operation of the robot.")]


def load_robot(name: str, mode: str = "") -> Robot:
    """Load a robot, in one of its modes if one is named."""
    with task(f"reading {name}"):
        from nacelle.library import load

        robot = load(name)
    if not mode:
        return robot
    try:
        return robot.in_mode(mode)
    except KeyError as error:
        raise NacelleError(str(error.args[0])) from None


# Poses that are solved at once.
_BLOCK = 50_000
# Quantities of a coordinate that slides and of one that turns.
POSITION = ("length", "angle")
RATE = ("speed", "angular speed")
FORCE = ("force", "torque")


def quantity(text: str, *, turns: bool | None, of: tuple[str, str] = POSITION) -> float:
    """Read a value with or without a unit, bare numbers being SI.

    Args:
        text: what was written.
        turns: whether it belongs to something that turns or slides; either if None.
        of: the quantities of what slides and of what turns.
    """
    from nacelle.model.units import QUANTITIES, UnitError, parse_quantity

    fault = None
    for kind in of if turns is None else of[turns : turns + 1]:
        try:
            return parse_quantity(text, QUANTITIES[kind], {"*": "SI"})
        except UnitError as error:
            fault = error
    assert fault is not None
    told = str(fault) if repr(text) in str(fault) else f"{text!r}: {fault}"
    raise NacelleError(f"{told}; {fault.hint}" if text else f"the value is missing; {fault.hint}")


def assignments(
    given: list[str] | None,
    known: Mapping[str, bool | None],
    what: str,
    of: tuple[str, str] = POSITION,
) -> dict[str, float]:
    """Read NAME=VALUE settings of quantities; `known` tells for each name whether it turns."""
    values: dict[str, float] = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign:
            raise NacelleError(f"{text!r} is not NAME=VALUE; what can be set: {', '.join(known)}")
        if name not in known:
            raise NacelleError(f"no {what} is called {name!r}; {did_you_mean(name, known)}")
        if name in values:
            raise NacelleError(f"{name} is given twice")
        try:
            values[name] = quantity(value.strip(), turns=known[name], of=of)
        except NacelleError as error:
            raise NacelleError(f"{name}: {error}") from None
    return values


def coordinate_kinds(robot: Robot) -> dict[str, bool | None]:
    """Names of the coordinates that `--at` takes, and whether each is an angle."""
    from nacelle.kinematics.pose_input import is_angle

    return {name: is_angle(robot, name) for name in robot.motion.coordinates}


def pose_at(robot: Robot, at: list[str] | None, tool: str = "") -> Array:
    """The pose that `--at` describes, of the nacelle or a tool; rx, ry, rz are a rotation vector."""
    from nacelle.kinematics.pose import pose
    from nacelle.model.reduced import ROTATIONS, layout_of

    kinds = coordinate_kinds(robot)
    if tool:
        kinds = {**dict.fromkeys("xyz", False), **kinds}
    values = assignments(at, kinds, "coordinate")
    turn = None
    if layout_of(robot.motion).quaternion is not None and any(axis in values for axis in ROTATIONS):
        turn = [values.pop(axis, 0.0) for axis in ROTATIONS]
    return pose(robot, None, rotation_vector=turn, tool=tool or None, **values)


def tool_data(robot: Robot, x: Array, tool: str) -> dict[str, Any]:
    """Where a tool is, for JSON; nothing without a tool."""
    if not tool:
        return {}
    from nacelle.kinematics.tools.tool import tool_pose

    at = tool_pose(robot, x, tool)
    place = {"position": plain(at.p.tolist()), "quat_xyzw": plain(at.quat_xyzw.tolist())}
    return {"tool": {"name": tool, **place}}


def tool_columns(robot: Robot, x: Array, tool: str) -> tuple[list[str], list[str], list[Any]]:
    """Names, units and columns of a tool's poses, for tables; none without a tool."""
    if not tool:
        return [], [], []
    import numpy as np

    from nacelle.kinematics.tools.tool import tool_pose

    at = tool_pose(robot, x, tool)
    names = [f"{tool}.{name}" for name in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    return names, ["m"] * 3 + [""] * 4, list(np.concatenate([at.p, at.quat_xyzw], axis=-1).T)


def print_tool(robot: Robot, x: Array, tool: str) -> None:
    """Print where a tool is; nothing without a tool."""
    if tool:
        at = tool_data(robot, x, tool)["tool"]
        place = ", ".join(f"{n} = {v * 1e3:.4f} mm" for n, v in zip("xyz", at["position"], strict=True))
        turn = " ".join(f"{value:.6f}" for value in at["quat_xyzw"])
        console().print(f"tool {tool} at {place}, quat_xyzw {turn}", markup=False)


def flag_words(flags: int) -> list[str]:
    """Flags in words."""
    from nacelle.kinematics.flags import Flag
    from nacelle.report.flagged import flag_name

    return [flag_name(flag) for flag in Flag if flags & flag]


def all_flag_words(flags: Array) -> list[list[str]]:
    """Flags of many samples in words."""
    listed = flags.tolist()
    words = {flag: flag_words(flag) for flag in set(listed)}
    return [words[flag] for flag in listed]


def leave_if_failed(flags: Array) -> None:
    """Leave with status 3 if some samples have no result."""
    import numpy as np

    from nacelle.kinematics.flags import failed

    if np.any(failed(flags)):
        raise typer.Exit(FAILED_SAMPLES)


def told(value: float, turns: bool) -> str:
    """A coordinate for people: degrees or millimetres."""
    return f"{math.degrees(value):.4f} deg" if turns else f"{value * 1e3:.4f} mm"


def plain(values: Any) -> Any:
    """Numbers for JSON: None in the place of NaN."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, list):
        return [plain(value) for value in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


def table_text(names: list[str], units: list[str], columns: list[Any]) -> Iterator[str]:
    """A table as CSV, some lines at a time."""
    from nacelle.tables.csv import table_text as lines

    with task("writing the table") as report:
        yield from lines(names, units, columns, report)


def deliver(text: str | Iterable[str], out: Path | None) -> None:
    """Print a text, or write it to a new file."""
    text = text if isinstance(text, str) else "".join(text)
    if out is None:
        print_text(text, end="")
        return
    write_new(out, text)
    console(stderr=True).print(f"wrote {out}", markup=False)


def actuator_units(robot: Robot) -> list[str]:
    """SI units of the actuators' coordinates."""
    return ["rad" if robot.joints[a.joint].primitives[0].turns else "m" for a in robot.actuators]


def joint_units(joint: Joint) -> list[str]:
    """SI units of a joint's coordinates; none for those of a quaternion."""
    return [
        "" if primitive.nq > 1 else "rad" if primitive.turns else "m"
        for primitive in joint.primitives
        for _ in range(primitive.nq)
    ]


FollowOption = Annotated[
    bool, typer.Option("--follow", help="The lines of the table are a path: start from the one before.")
]


@app.command("ik")
def ik_command(
    robot: RobotArgument,
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
    try:
        found = load_robot(robot, mode)
        if csv is None:
            _need_table({"--out": out, "--joints": joints, "--follow": follow})
            _ik_single(found, pose_at(found, at, tool), tool, as_json)
        else:
            if at:
                raise NacelleError("give poses by --at or by --csv, not both")
            _ik_table(found, csv, out, joints, tool, follow, as_json)
    except NacelleError as error:
        fail(error, as_json)


def _need_table(given: Mapping[str, Any]) -> None:
    """Refuse options that mean something for a table only."""
    for option, value in given.items():
        if value:
            raise NacelleError(f"{option} goes with --csv")


def _ik_single(robot: Robot, x: Array, tool: str, as_json: bool) -> None:
    from nacelle.kinematics.inverse import inverse_kinematics
    from nacelle.model.reduced import layout_of

    result = inverse_kinematics(robot, x)
    names = layout_of(robot.motion).x_names
    listed = {name: values.tolist() for name, values in result.joints.items() if values.size}
    flags = flag_words(int(result.flags))
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
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("joint", "kind", "", "coordinates"):
        table.add_column(column)
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
                words.append(told(part[0], primitive.turns))
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


def print_dependent(result: Any) -> None:
    """Print the dependent coordinates of the platform, if there are any."""
    from nacelle.kinematics.mechanism.dependent import dependent_coordinates

    dependent = dependent_coordinates(result)
    if dependent:
        values = (f"{name} = {told(float(value), name[0] == 'r')}" for name, value in dependent.items())
        console().print(f"dependent: {', '.join(values)}", markup=False)


def dependent_data(result: Any) -> dict[str, Any]:
    """The dependent coordinates for JSON: an entry "dependent" if there are any."""
    from nacelle.kinematics.mechanism.dependent import dependent_coordinates

    data = {name: plain(values) for name, values in dependent_coordinates(result).items()}
    return {"dependent": data} if data else {}


def dependent_columns(result: Any) -> tuple[list[str], list[str], list[Array]]:
    """Names, units and values of the dependent coordinates, as columns of a table."""
    from nacelle.kinematics.mechanism.dependent import dependent_coordinates

    dependent = dependent_coordinates(result)
    units = ["rad" if name.startswith("r") else "m" for name in dependent]
    return [f"dependent.{name}" for name in dependent], units, list(dependent.values())


def _in_blocks(robot: Robot, x: Array, follow: bool) -> InverseKinematics:
    """Inverse kinematics of many poses, some at a time, so that one sees how far it is."""
    import numpy as np

    from nacelle.kinematics.inverse import inverse_kinematics

    parts: list[InverseKinematics] = []
    with task(f"inverse kinematics of {robot.name}") as report:
        for start in range(0, len(x), _BLOCK):
            block, last = x[start : start + _BLOCK], parts[-1] if parts else None
            guess = _last_solution(last) if follow and last is not None else None
            parts.append(inverse_kinematics(robot, block, guess=guess, follow=follow))
            report((start + _BLOCK) / len(x))
    arrays: dict[str, Any] = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in dataclasses.fields(parts[0])
        if isinstance(getattr(parts[0], field.name), np.ndarray)
    }
    return dataclasses.replace(parts[0], **arrays)


def _last_solution(path: InverseKinematics) -> InverseKinematics | None:
    """The last pose of a path that was solved, from which the next one follows; None if none was."""
    import numpy as np

    from nacelle.kinematics.flags import failed

    solved = np.flatnonzero(~failed(path.flags))
    if not solved.size:
        return None
    arrays: dict[str, Any] = {
        field.name: getattr(path, field.name)[solved[-1]]
        for field in dataclasses.fields(path)
        if isinstance(getattr(path, field.name), np.ndarray)
    }
    return dataclasses.replace(path, **arrays)


def last_line(
    flags: Array, what: str, out: Path | None, robot: Robot | None = None, gates: Array | None = None
) -> None:
    """Say on stderr how many samples are flagged and why; without a flag only beside a file."""
    from nacelle.report.flagged import told_flags

    line = told_flags(flags, what, robot, gates)
    if line:
        console(stderr=True).print(line, style="yellow", markup=False)
    elif out is not None:
        console(stderr=True).print(f"{flags.size} {what}, none is flagged", markup=False)


def _ik_table(
    robot: Robot, csv: Path, out: Path | None, joints: bool, tool: str, follow: bool, as_json: bool
) -> None:
    from nacelle.kinematics.flags import failed
    from nacelle.kinematics.trajectory.waypoints import read_poses
    from nacelle.model.reduced import layout_of
    from nacelle.report.flagged import reasons

    check_new(out)
    with task(f"reading {csv}") as report:
        given = read_poses(csv, robot.motion, report)
    points = given.points
    if tool:
        from nacelle.kinematics.tools.target import tool_to_pose

        points = tool_to_pose(robot, points, tool)
    result = _in_blocks(robot, points, follow)
    layout = layout_of(robot.motion)
    active = [actuator.name for actuator in robot.actuators]
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "x": plain(result.x),
                **dependent_data(result),
                "actuators": plain(result.actuators),
                "flags": all_flag_words(result.flags),
                "ok": result.ok.tolist(),
                "failed": int(failed(result.flags).sum()),
                "reasons": reasons(result.flags),
            }
        )
        leave_if_failed(result.flags)
        return
    other, other_units, dependent = dependent_columns(result)
    names, units = list(layout.x_names), list(layout.units)
    columns = [result.x[:, k] for k in range(layout.nx)]
    if given.times is not None:
        names, units, columns = ["t", *names], ["s", *units], [given.times, *columns]
    names += [*other, *active]
    units += [*other_units, *actuator_units(robot)]
    columns += [*dependent, *(result.actuators[:, k] for k in range(len(active)))]
    if joints:
        driven = {robot.joints[actuator.joint].name for actuator in robot.actuators}
        for joint, place in zip(robot.tree_joints, robot.q_slices, strict=True):
            # Columns of actuators are there already, and a name may be in a table once only.
            if joint.name in driven:
                continue
            for k, unit in enumerate(joint_units(joint)):
                names.append(f"{joint.name}.{k + 1}" if joint.nq > 1 else joint.name)
                units.append(unit)
                columns.append(result.q[:, place.start + k])
    names, units, columns = [*names, "flags"], [*units, ""], [*columns, result.flags]
    deliver(table_text(names, units, columns), out)
    last_line(result.flags, "poses", out, robot, result.gates)
    leave_if_failed(result.flags)


@app.command("fk")
def fk_command(
    robot: RobotArgument,
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
    try:
        found = load_robot(robot, mode)
        start = pose_at(found, guess) if guess else None
        if csv is None:
            _need_table({"--out": out, "--follow": follow})
            _fk_single(found, q, start, tool, assemblies, as_json)
        else:
            if assemblies:
                raise NacelleError("--assemblies goes with --q, for one sample")
            if q:
                raise NacelleError("give actuators by --q or by --csv, not both")
            _fk_table(found, csv, out, start, follow, tool, as_json)
    except NacelleError as error:
        fail(error, as_json)


def _fk_single(
    robot: Robot, q: list[str] | None, start: Array | None, tool: str, assemblies: bool, as_json: bool
) -> None:
    import numpy as np

    from nacelle.kinematics.forward.forward import forward_kinematics
    from nacelle.model.reduced import layout_of

    names = [actuator.name for actuator in robot.actuators]
    kinds = [robot.joints[actuator.joint].primitives[0].turns for actuator in robot.actuators]
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
                "flags": flag_words(int(result.flags)),
                **tool_data(robot, result.x, tool),
                **_assembly_data(result.assemblies),
            }
        )
        return
    kinds_x = coordinate_kinds(robot)
    for name, value in zip(layout.x_names, result.x, strict=True):
        known = name in kinds_x
        console().print(f"{name:>6} = {told(float(value), bool(kinds_x[name])) if known else f'{value:.8f}'}")
    print_dependent(result)
    print_tool(robot, result.x, tool)
    way = f"Newton's iteration, {int(result.iterations)} steps" if result.iterations else "closed form"
    console().print(f"[dim]{way}[/]")
    flags = flag_words(int(result.flags))
    if flags:
        console().print(f"[yellow]{', '.join(flags)}[/]")
    if assemblies:
        _print_assemblies(layout.x_names, result.assemblies)


def _assembly_data(found: Assemblies | None) -> dict[str, Any]:
    """All assemblies for JSON; nothing where they were not searched."""
    if found is None:
        return {}
    signs = [dict(zip(found.names, row, strict=True)) for row in plain(found.signs)]
    poses = plain(found.x)
    return {"assemblies": [{"pose": x, "signs": s} for x, s in zip(poses, signs, strict=True)]}


def _print_assemblies(names: tuple[str, ...], found: Assemblies) -> None:
    """All assemblies, with the signs that differ from those of the reference pose."""
    console().print(f"{len(found.x)} assemblies were found; signs against the reference pose:")
    for x, signs in zip(found.x, found.signs, strict=True):
        place = ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, x, strict=True))
        other = [name for name, sign in zip(found.names, signs, strict=True) if sign < 0.0]
        console().print(f"  {place}; {'other: ' + ', '.join(other) if other else 'the same'}", markup=False)


def _fk_table(
    robot: Robot, csv: Path, out: Path | None, start: Array | None, follow: bool, tool: str, as_json: bool
) -> None:
    import numpy as np

    from nacelle.kinematics.flags import failed
    from nacelle.kinematics.forward.forward import forward_kinematics
    from nacelle.model.reduced import layout_of
    from nacelle.report.flagged import reasons
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
        print_json(
            {
                "robot": robot.name,
                "x": plain(result.x),
                **dependent_data(result),
                "flags": all_flag_words(result.flags),
                "ok": result.ok.tolist(),
                "failed": int(failed(result.flags).sum()),
                "reasons": reasons(result.flags),
                **tool_data(robot, result.x, tool),
            }
        )
        leave_if_failed(result.flags)
        return
    other, other_units, dependent = dependent_columns(result)
    listed = [*(wanted[:, k] for k in range(len(names))), *(result.x[:, k] for k in range(layout.nx))]
    extra, extra_units, extra_columns = tool_columns(robot, result.x, tool)
    text = table_text(
        [*names, *layout.x_names, *other, *extra, "flags"],
        [*units, *layout.units, *other_units, *extra_units, ""],
        [*listed, *dependent, *extra_columns, result.flags],
    )
    deliver(text, out)
    last_line(result.flags, "lines", out)
    leave_if_failed(result.flags)
