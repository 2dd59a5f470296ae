"""How commands write: coordinates, tools and flags for people and for JSON, and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nacelle.cli.common import (
    console,
    exit_interrupted,
    print_json,
    print_text,
    report_written,
    write_output_file,
)
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.model.joint import Joint
    from nacelle.model.robot import Robot
    from nacelle.report.table import Part
    from nacelle.spatial.scalar import Array

# Exit status of a command that has done its work, though some samples have no result.
FAILED_SAMPLES = 3


def print_result(
    result: Any,
    data: Callable[..., Any],
    parts: Callable[..., Iterable[Part]],
    as_json: bool,
    **options: Any,
) -> None:
    """Print a result, for programs or for people.

    Args:
        result: the result.
        data: gives it as plain data.
        parts: gives its lines and tables.
        as_json: whether programs read it.
        **options: of both functions.
    """
    if as_json:
        print_json(data(result, **options))
    else:
        print_parts(parts(result, **options))


def print_parts(parts: Iterable[Part]) -> None:
    """Print lines of plain words, texts and tables."""
    for part in parts:
        console().print(part, markup=not isinstance(part, str))


def print_notes(lines: Iterable[str]) -> None:
    """Print a remark on stderr, apart from the result."""
    for line in lines:
        console(stderr=True).print(line, style="yellow", markup=False)


def print_exchange(exchange: Any) -> None:
    """Print what was done and lost on the way to or from the format of another engine."""
    print_parts(
        [*(f"done: {line}" for line in exchange.steps), *(f"lost: {line}" for line in exchange.losses)]
    )


def format_coordinate(value: float, revolute: bool) -> str:
    """A coordinate for people: degrees or millimetres."""
    return f"{math.degrees(value):z.4f} deg" if revolute else f"{value * 1e3:z.4f} mm"


def actuator_units(robot: Robot) -> list[str]:
    """SI units of the actuators' coordinates."""
    return ["rad" if revolute else "m" for revolute in robot.revolute_actuators]


def joint_units(joint: Joint) -> list[str]:
    """SI units of a joint's coordinates; none for those of a quaternion."""
    return [
        "" if primitive.nq > 1 else "rad" if primitive.is_rotation else "m"
        for primitive in joint.primitives
        for _ in range(primitive.nq)
    ]


def tool_data(robot: Robot, x: Array, tool: str) -> dict[str, Any]:
    """Where a tool is, for JSON; nothing without a tool."""
    if not tool:
        return {}
    from nacelle.kinematics.tools import tool_pose

    at = tool_pose(robot, x, tool)
    pose = {"position": at.p, "quat_xyzw": at.quat_xyzw}
    return {"tool": {"name": tool, **pose}}


def tool_columns(robot: Robot, x: Array, tool: str) -> tuple[list[str], list[str], list[Any]]:
    """Names, units and columns of a tool's poses, for tables; none without a tool."""
    if not tool:
        return [], [], []
    import numpy as np

    from nacelle.kinematics.tools import tool_pose

    at = tool_pose(robot, x, tool)
    names = [f"{tool}.{name}" for name in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    return names, ["m"] * 3 + [""] * 4, list(np.concatenate([at.p, at.quat_xyzw], axis=-1).T)


def print_tool(robot: Robot, x: Array, tool: str) -> None:
    """Print where a tool is; nothing without a tool."""
    if tool:
        at = tool_data(robot, x, tool)["tool"]
        position = ", ".join(f"{n} = {v * 1e3:z.4f} mm" for n, v in zip("xyz", at["position"], strict=True))
        quaternion = " ".join(f"{value:z.6f}" for value in at["quat_xyzw"])
        console().print(f"tool {tool} at {position}, quat_xyzw {quaternion}", markup=False)


def print_dependent(result: Any) -> None:
    """Print the dependent coordinates of the platform, if there are any."""
    from nacelle.kinematics.dependent import dependent_coordinates

    dependent = dependent_coordinates(result)
    if dependent:
        values = (
            f"{name} = {format_coordinate(float(value), name[0] == 'r')}" for name, value in dependent.items()
        )
        console().print(f"dependent: {', '.join(values)}", markup=False)


def dependent_data(result: Any) -> dict[str, Any]:
    """The dependent coordinates for JSON: an entry "dependent" if there are any."""
    from nacelle.kinematics.dependent import dependent_coordinates

    data = dependent_coordinates(result)
    return {"dependent": data} if data else {}


def dependent_columns(result: Any) -> tuple[list[str], list[str], list[Array]]:
    """Names, units and values of the dependent coordinates, as columns of a table."""
    from nacelle.kinematics.dependent import dependent_coordinates

    dependent = dependent_coordinates(result)
    units = ["rad" if name.startswith("r") else "m" for name in dependent]
    return [f"dependent.{name}" for name in dependent], units, list(dependent.values())


def flag_names(flags: int) -> list[str]:
    """Flags as text."""
    import numpy as np

    from nacelle.report.flagged import flag_counts

    return list(flag_counts(np.array(flags)))


def all_flag_names(flags: Array) -> list[list[str]]:
    """Flags of many samples as text."""
    values = flags.tolist()
    names = {flag: flag_names(flag) for flag in set(values)}
    return [names[flag] for flag in values]


def batch_data(robot: Robot, result: Any) -> dict[str, Any]:
    """Poses and flags of a batch of samples for JSON."""
    from nacelle.kinematics.flags import has_failed
    from nacelle.report.flagged import flag_counts

    return {
        "robot": robot.name,
        "x": result.x,
        **dependent_data(result),
        "flags": all_flag_names(result.flags),
        "ok": result.ok,
        "failed": has_failed(result.flags).sum(),
        "reasons": flag_counts(result.flags),
    }


def print_flag_summary(
    flags: Array, what: str, out: Path | None, robot: Robot | None = None, margins: Array | None = None
) -> None:
    """Say on stderr how many samples are flagged and why; without a flag only if a file is written."""
    from nacelle.report.flagged import flag_line

    line = flag_line(flags, what, robot, margins)
    if line:
        print_notes([line])
    elif out is not None:
        console(stderr=True).print(f"{flags.size} {what}, none is flagged", markup=False)


def exit_if_failed(flags: Array) -> None:
    """Leave with status 3 if some samples have no result."""
    import numpy as np

    from nacelle.kinematics.flags import has_failed

    if np.any(has_failed(flags)):
        raise typer.Exit(FAILED_SAMPLES)


def write_or_print(text: str | Iterable[str], out: Path | None) -> None:
    """Print a text, or write it to a new file."""
    text = text if isinstance(text, str) else "".join(text)
    if out is None:
        print_text(text, end="")
        return
    write_output_file(out, text)
    report_written(out)


class ResultTable:
    """The columns of a table of results, in order, each with its name and unit."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.units: list[str] = []
        self.columns: list[Any] = []

    def add(self, names: Iterable[str], units: Iterable[str], columns: Iterable[Any]) -> None:
        """Append columns (N,)."""
        self.names.extend(names)
        self.units.extend(units)
        self.columns.extend(columns)

    def lines(self) -> Iterator[str]:
        """The table as CSV, some lines at a time."""
        from nacelle.tables.csv import table_text

        with task("writing the table") as report:
            yield from table_text(self.names, self.units, self.columns, report)

    def write_or_print(
        self, result: Any, what: str, out: Path | None, margins: Array | None = None, *, remark: str = ""
    ) -> None:
        """Print or write the table with a column of flags, say which are flagged, leave if some failed.

        Args:
            result: what has a flag for each line of the table.
            what: label of the lines, such as "poses".
            out: the file; standard output if None.
            margins: reach margins of the legs, to say which do not reach.
            remark: what is in the table, where Ctrl-C has ended the work early.
        """
        self.add(["flags"], [""], [result.flags])
        write_or_print(self.lines(), out)
        print_flag_summary(result.flags, what, out, None if margins is None else result.robot, margins)
        if remark:
            exit_interrupted(remark)
        exit_if_failed(result.flags)
