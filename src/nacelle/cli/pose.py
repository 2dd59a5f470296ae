"""Commands about poses: `ik`, `fk`; and how commands read poses and write tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.common import (
    JsonOption,
    RobotArgument,
    app,
    console,
    fail,
    print_json,
    write_new,
)
from nacelle.cli.loads import ToolOption
from nacelle.errors import NacelleError, did_you_mean

if TYPE_CHECKING:
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
OutOption = Annotated[Path | None, typer.Option("--out", help="File to write; never overwritten.")]
ModeOption = Annotated[str, typer.Option("--mode", help="A mode of operation of the robot.")]


def load_robot(name: str, mode: str = "") -> Robot:
    """Load a robot, in one of its modes if one is named."""
    from nacelle.library import load

    robot = load(name)
    if not mode:
        return robot
    try:
        return robot.in_mode(mode)
    except KeyError as error:
        raise NacelleError(str(error.args[0])) from None


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
    raise NacelleError(f"{text!r}: {fault}; {fault.hint}")


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
        values[name] = quantity(value.strip(), turns=known[name], of=of)
    return values


def coordinate_kinds(robot: Robot) -> dict[str, bool | None]:
    """Names of the coordinates that `--at` takes, and whether each is an angle."""
    from nacelle.kinematics.pose_input import is_angle

    return {name: is_angle(robot, name) for name in robot.motion.coordinates}


def pose_at(robot: Robot, at: list[str] | None, tool: str = "") -> Array:
    """The pose that `--at` describes, of the nacelle or a tool; rx, ry, rz are a rotation vector."""
    from nacelle.kinematics.pose_input import pose
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
    from nacelle.kinematics.tool import tool_pose

    at = tool_pose(robot, x, tool)
    place = {"position": plain(at.p.tolist()), "quat_xyzw": plain(at.quat_xyzw.tolist())}
    return {"tool": {"name": tool, **place}}


def tool_columns(robot: Robot, x: Array, tool: str) -> tuple[list[str], list[str], list[Any]]:
    """Names, units and columns of a tool's poses, for tables; none without a tool."""
    if not tool:
        return [], [], []
    import numpy as np

    from nacelle.kinematics.tool import tool_pose

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

    return [str(flag.name).lower().replace("_", " ") for flag in Flag if flags & flag]


def told(value: float, turns: bool) -> str:
    """A coordinate for people: degrees or millimetres."""
    return f"{math.degrees(value):.4f} deg" if turns else f"{value * 1e3:.4f} mm"


def plain(values: Any) -> Any:
    """Numbers for JSON: None in the place of NaN."""
    if isinstance(values, list):
        return [plain(value) for value in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


def table_text(names: list[str], units: list[str], columns: list[Any]) -> str:
    """A table as CSV; every number is read back as the same float."""
    header = [f"{name} [{unit}]" if unit else name for name, unit in zip(names, units, strict=True)]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return "\n".join([",".join(header), *(",".join(map(repr, row)) for row in rows)]) + "\n"


def deliver(text: str, out: Path | None) -> None:
    """Print a text, or write it to a new file."""
    if out is None:
        print(text, end="")
        return
    try:
        write_new(out, text)
    except OSError as error:
        raise NacelleError(f"cannot write {out}: {error.strerror or error}") from None
    console(stderr=True).print(f"wrote {out}", markup=False)


def actuator_units(robot: Robot) -> list[str]:
    """SI units of the actuators' coordinates."""
    return ["rad" if robot.joints[a.joint].primitives[0].turns else "m" for a in robot.actuators]


@app.command("ik")
def ik_command(
    robot: RobotArgument,
    at: AtOption = None,
    csv: CsvOption = None,
    out: OutOption = None,
    mode: ModeOption = "",
    joints: Annotated[bool, typer.Option("--joints", help="In tables, all joints of the tree too.")] = False,
    tool: ToolOption = "",
    as_json: JsonOption = False,
) -> None:
    """Inverse kinematics: all joints at a pose (--at), or actuators at all poses of a table (--csv)."""
    try:
        found = load_robot(robot, mode)
        if csv is None:
            _ik_single(found, pose_at(found, at, tool), tool, as_json)
        else:
            if at:
                raise NacelleError("give poses by --at or by --csv, not both")
            _ik_table(found, csv, out, joints, tool, as_json)
    except NacelleError as error:
        fail(error, as_json)


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
    console().print(table)
    print_tool(robot, result.x, tool)
    if flags:
        console().print(f"[yellow]{', '.join(flags)}[/]")


def _ik_table(robot: Robot, csv: Path, out: Path | None, joints: bool, tool: str, as_json: bool) -> None:
    import numpy as np

    from nacelle.kinematics.inverse import inverse_kinematics
    from nacelle.kinematics.trajectory.waypoints import read_poses
    from nacelle.model.reduced import layout_of

    given = read_poses(csv, robot.motion)
    points = given.points
    if tool:
        from nacelle.kinematics.tool import tool_to_pose

        points = tool_to_pose(robot, points, tool)
    result = inverse_kinematics(robot, points)
    layout = layout_of(robot.motion)
    active = [actuator.name for actuator in robot.actuators]
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "x": result.x.tolist(),
                "actuators": plain(result.actuators.tolist()),
                "flags": [flag_words(int(flag)) for flag in result.flags],
                "ok": result.ok.tolist(),
            }
        )
        return
    names, units = list(layout.x_names), list(layout.units)
    columns = [result.x[:, k] for k in range(layout.nx)]
    if given.times is not None:
        names, units, columns = ["t", *names], ["s", *units], [given.times, *columns]
    names += active
    units += actuator_units(robot)
    columns += [result.actuators[:, k] for k in range(len(active))]
    if joints:
        for joint, place in zip(robot.tree_joints, robot.q_slices, strict=True):
            for k in range(place.start, place.stop):
                names.append(f"{joint.name}.{k - place.start + 1}" if joint.nq > 1 else joint.name)
                units.append("")
                columns.append(result.q[:, k])
    names, units, columns = [*names, "flags"], [*units, ""], [*columns, result.flags]
    deliver(table_text(names, units, columns), out)
    bad = int(np.count_nonzero(~result.ok))
    if bad:
        console(stderr=True).print(f"[yellow]{bad} of {len(result.flags)} poses are flagged[/]")


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
    follow: Annotated[
        bool, typer.Option("--follow", help="The lines of the table are a path: start from the one before.")
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
            _fk_single(found, q, start, tool, as_json)
        else:
            if q:
                raise NacelleError("give actuators by --q or by --csv, not both")
            _fk_table(found, csv, out, start, follow, tool, as_json)
    except NacelleError as error:
        fail(error, as_json)


def _fk_single(robot: Robot, q: list[str] | None, start: Array | None, tool: str, as_json: bool) -> None:
    import numpy as np

    from nacelle.kinematics.forward import forward_kinematics
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
    result = forward_kinematics(robot, np.array([given[name] for name in names]), start)
    layout = layout_of(robot.motion)
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "actuators": given,
                "pose": dict(zip(layout.x_names, result.x.tolist(), strict=True)),
                "iterations": int(result.iterations),
                "flags": flag_words(int(result.flags)),
                **tool_data(robot, result.x, tool),
            }
        )
        return
    kinds_x = coordinate_kinds(robot)
    for name, value in zip(layout.x_names, result.x, strict=True):
        known = name in kinds_x
        console().print(f"{name:>6} = {told(float(value), bool(kinds_x[name])) if known else f'{value:.8f}'}")
    print_tool(robot, result.x, tool)
    way = f"Newton's iteration, {int(result.iterations)} steps" if result.iterations else "closed form"
    console().print(f"[dim]{way}[/]")
    flags = flag_words(int(result.flags))
    if flags:
        console().print(f"[yellow]{', '.join(flags)}[/]")


def _fk_table(
    robot: Robot, csv: Path, out: Path | None, start: Array | None, follow: bool, tool: str, as_json: bool
) -> None:
    import numpy as np

    from nacelle.kinematics.columns import ANGLE, LENGTH, Columns
    from nacelle.kinematics.forward import forward_kinematics
    from nacelle.kinematics.table import read_table
    from nacelle.model.reduced import layout_of

    names, units = [actuator.name for actuator in robot.actuators], actuator_units(robot)
    table = read_table(csv)
    dimensions = {n: (ANGLE,) if unit == "rad" else (LENGTH,) for n, unit in zip(names, units, strict=True)}
    columns = Columns(table, dimensions)
    for k, name in enumerate(table.names):
        if name in names:
            columns.take(name, k)
    columns.require(names)
    columns.stop("actuators")
    rows = columns.whole_rows()
    wanted = np.stack([columns.column(rows, name, gaps=True) for name in names], axis=-1)
    columns.stop("actuators")
    result = forward_kinematics(robot, wanted, start, follow=follow)
    layout = layout_of(robot.motion)
    if as_json:
        print_json(
            {
                "robot": robot.name,
                "x": plain(result.x.tolist()),
                "flags": [flag_words(int(flag)) for flag in result.flags],
                "ok": result.ok.tolist(),
                **tool_data(robot, result.x, tool),
            }
        )
        return
    listed = [*(wanted[:, k] for k in range(len(names))), *(result.x[:, k] for k in range(layout.nx))]
    extra, extra_units, extra_columns = tool_columns(robot, result.x, tool)
    text = table_text(
        [*names, *layout.x_names, *extra, "flags"],
        [*units, *layout.units, *extra_units, ""],
        [*listed, *extra_columns, result.flags],
    )
    deliver(text, out)
    bad = int(np.count_nonzero(~result.ok))
    if bad:
        console(stderr=True).print(f"[yellow]{bad} of {len(result.flags)} lines are flagged[/]")
