"""Commands about poses: `ik`, `fk`, `workspace`, `draw`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.common import (
    PICTURES,
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
from nacelle.errors import NacelleError, did_you_mean
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.kinematics.inverse import InverseKinematics
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
    kinds: dict[str, bool | None] = {}
    for name in robot.motion.coordinates:
        if name in robot.motion.joint_names:
            kinds[name] = robot.joints[robot.joint(name)].primitives[0].turns
        else:
            kinds[name] = name.startswith("r")
    return kinds


def pose_at(robot: Robot, at: list[str] | None) -> Array:
    """The pose that `--at` describes; rx, ry, rz together are a rotation vector."""
    from nacelle.kinematics.pose_input import pose
    from nacelle.model.reduced import ROTATIONS, layout_of

    values = assignments(at, coordinate_kinds(robot), "coordinate")
    turn = None
    if layout_of(robot.motion).quaternion is not None and any(axis in values for axis in ROTATIONS):
        turn = [values.pop(axis, 0.0) for axis in ROTATIONS]
    return pose(robot, rotation_vector=turn, **values)


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
    from nacelle.kinematics.table import table_text as lines

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


@app.command("ik")
def ik_command(
    robot: RobotArgument,
    at: AtOption = None,
    csv: CsvOption = None,
    out: OutOption = None,
    mode: ModeOption = "",
    joints: Annotated[bool, typer.Option("--joints", help="In tables, all joints of the tree too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Inverse kinematics: all joints at a pose (--at), or actuators at all poses of a table (--csv)."""
    try:
        found = load_robot(robot, mode)
        if csv is None:
            _ik_single(found, pose_at(found, at), as_json)
        else:
            if at:
                raise NacelleError("give poses by --at or by --csv, not both")
            _ik_table(found, csv, out, joints, as_json)
    except NacelleError as error:
        fail(error, as_json)


def _ik_single(robot: Robot, x: Array, as_json: bool) -> None:
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
    if flags:
        console().print(f"[yellow]{', '.join(flags)}[/]")


def print_dependent(result: Any) -> None:
    """Print the dependent coordinates of the platform, if there are any."""
    from nacelle.kinematics.dependent import dependent_coordinates

    dependent = dependent_coordinates(result)
    if dependent:
        values = (f"{name} = {told(float(value), name[0] == 'r')}" for name, value in dependent.items())
        console().print(f"dependent: {', '.join(values)}", markup=False)


def dependent_data(result: Any) -> dict[str, Any]:
    """The dependent coordinates for JSON: an entry "dependent" if there are any."""
    from nacelle.kinematics.dependent import dependent_coordinates

    data = {name: plain(values) for name, values in dependent_coordinates(result).items()}
    return {"dependent": data} if data else {}


def dependent_columns(result: Any) -> tuple[list[str], list[str], list[Array]]:
    """Names, units and values of the dependent coordinates, as columns of a table."""
    from nacelle.kinematics.dependent import dependent_coordinates

    dependent = dependent_coordinates(result)
    units = ["rad" if name.startswith("r") else "m" for name in dependent]
    return [f"dependent.{name}" for name in dependent], units, list(dependent.values())


def _in_blocks(robot: Robot, x: Array) -> InverseKinematics:
    """Inverse kinematics of many poses, some at a time, so that one sees how far it is."""
    import numpy as np

    from nacelle.kinematics.inverse import inverse_kinematics

    parts = []
    with task(f"inverse kinematics of {robot.name}") as report:
        for start in range(0, len(x), _BLOCK):
            parts.append(inverse_kinematics(robot, x[start : start + _BLOCK]))
            report((start + _BLOCK) / len(x))
    arrays: dict[str, Any] = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in dataclasses.fields(parts[0])
        if isinstance(getattr(parts[0], field.name), np.ndarray)
    }
    return dataclasses.replace(parts[0], **arrays)


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


def _ik_table(robot: Robot, csv: Path, out: Path | None, joints: bool, as_json: bool) -> None:
    from nacelle.kinematics.flags import failed
    from nacelle.kinematics.trajectory.waypoints import read_poses
    from nacelle.model.reduced import layout_of
    from nacelle.report.flagged import reasons

    check_new(out)
    with task(f"reading {csv}") as report:
        given = read_poses(csv, robot.motion, report)
    result = _in_blocks(robot, given.points)
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
        for joint, place in zip(robot.tree_joints, robot.q_slices, strict=True):
            for k in range(place.start, place.stop):
                names.append(f"{joint.name}.{k - place.start + 1}" if joint.nq > 1 else joint.name)
                units.append("")
                columns.append(result.q[:, k])
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
    follow: Annotated[
        bool, typer.Option("--follow", help="The lines of the table are a path: start from the one before.")
    ] = False,
    mode: ModeOption = "",
    as_json: JsonOption = False,
) -> None:
    """Forward kinematics: the pose from the actuators (--q), or poses for a table of them (--csv)."""
    try:
        found = load_robot(robot, mode)
        start = pose_at(found, guess) if guess else None
        if csv is None:
            _fk_single(found, q, start, as_json)
        else:
            if q:
                raise NacelleError("give actuators by --q or by --csv, not both")
            _fk_table(found, csv, out, start, follow, as_json)
    except NacelleError as error:
        fail(error, as_json)


def _fk_single(robot: Robot, q: list[str] | None, start: Array | None, as_json: bool) -> None:
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
                **dependent_data(result),
                "iterations": int(result.iterations),
                "flags": flag_words(int(result.flags)),
            }
        )
        return
    kinds_x = coordinate_kinds(robot)
    for name, value in zip(layout.x_names, result.x, strict=True):
        known = name in kinds_x
        console().print(f"{name:>6} = {told(float(value), bool(kinds_x[name])) if known else f'{value:.8f}'}")
    print_dependent(result)
    way = f"Newton's iteration, {int(result.iterations)} steps" if result.iterations else "closed form"
    console().print(f"[dim]{way}[/]")
    flags = flag_words(int(result.flags))
    if flags:
        console().print(f"[yellow]{', '.join(flags)}[/]")


def _fk_table(
    robot: Robot, csv: Path, out: Path | None, start: Array | None, follow: bool, as_json: bool
) -> None:
    import numpy as np

    from nacelle.kinematics.columns import ANGLE, LENGTH, Columns
    from nacelle.kinematics.flags import failed
    from nacelle.kinematics.forward import forward_kinematics
    from nacelle.kinematics.table import read_table
    from nacelle.model.reduced import layout_of
    from nacelle.report.flagged import reasons

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
            }
        )
        leave_if_failed(result.flags)
        return
    other, other_units, dependent = dependent_columns(result)
    listed = [*(wanted[:, k] for k in range(len(names))), *(result.x[:, k] for k in range(layout.nx))]
    text = table_text(
        [*names, *layout.x_names, *other, "flags"],
        [*units, *layout.units, *other_units, ""],
        [*listed, *dependent, result.flags],
    )
    deliver(text, out)
    last_line(result.flags, "lines", out)
    leave_if_failed(result.flags)


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
        _picture(lambda ax_free: ax_free.plot_workspace(grid), out)
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
        if name in ranges:
            raise NacelleError(f"{name} is given twice")
        low, high = (quantity(part, turns=kinds[name]) for part in parts[:2])
        if len(parts) == 2:
            ranges[name] = (low, high)
        elif parts[2].isdecimal() and len(parts[2]) < 7:
            ranges[name] = (low, high, int(parts[2]))
        else:
            raise NacelleError(f"{parts[2]!r} is not a number of points")
    return ranges


def _picture(draw: Any, out: Path) -> None:
    """Draw into a new file."""
    from nacelle.report import draw as pictures

    check_new(out, PICTURES)
    pictures.save(draw(pictures).figure, out)
    console(stderr=True).print(f"wrote {out}", markup=False)


@app.command("draw")
def draw_command(
    robot: RobotArgument,
    out: Annotated[Path, typer.Option("--out", help="Picture to write: .png, .svg or .pdf.")],
    at: AtOption = None,
    names: Annotated[bool, typer.Option("--names", help="Write the names of bodies.")] = False,
    frames: Annotated[bool, typer.Option("--frames", help="Draw the frames of bodies.")] = False,
    mode: ModeOption = "",
) -> None:
    """Draw a robot at a pose."""
    try:
        found = load_robot(robot, mode)
        x = pose_at(found, at)
        _picture(lambda pictures: pictures.plot_robot(found, x, names=names, frames=frames), out)
    except NacelleError as error:
        fail(error, False)
