"""How commands read robots, quantities, poses and loads, and the options that these have in common.

Loads are tools, payloads and wrenches from outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.complete import complete_coordinates, complete_files
from nacelle.errors import NacelleError, did_you_mean
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.spatial.scalar import Array
    from nacelle.trajectory.base import Trajectory


# ---- tools, payloads and wrenches from outside


ToolOption = Annotated[
    str,
    typer.Option(
        "--tool",
        metavar="NAME",
        help="Tool of the robot to which poses and paths refer; by default the platform.",
    ),
]
PayloadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--payload",
        metavar="PAYLOAD",
        help="A name keeps only that payload of the description, none removes all; '2kg' or 'mass=2kg; "
        "com=0 0 50 mm; on=TOOL' adds a mass to the platform, a tool or a body. Repeatable.",
    ),
]
ExternalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--external",
        metavar="WRENCH",
        help="Constant external force and moment on a body or tool, in base axes, about its origin, such as "
        "'NAME=0 0 -50 N; 0 0 2 N*m'; without NAME on the platform. Repeatable.",
    ),
]


def read_wrenches(robot: Robot, external: list[str] | None) -> dict[str, list[float]]:
    """The wrenches [f; n] of `--external`, by name of the body or tool."""
    from nacelle.dynamics.external import check_wrenches
    from nacelle.model.leg import PLATFORM

    by_name: dict[str, list[float]] = {}
    for text in external or []:
        name, sign, value = (piece.strip() for piece in text.rpartition("="))
        name = name if sign else robot.bodies[PLATFORM].name
        if name in by_name:
            raise NacelleError(f"--external {text!r}: {name} already has a wrench; give their sum")
        try:
            by_name[name] = _read_wrench(value)
            check_wrenches(robot, by_name)
        except NacelleError as error:
            raise NacelleError(f"--external {text!r}: {error}") from None
    return by_name


def _read_wrench(text: str) -> list[float]:
    """Read "fx fy fz N; nx ny nz N*m": either part alone, or both; without units the force is first."""
    parts = [part.strip() for part in text.split(";")]
    if len(parts) > 2 or not all(parts):
        raise NacelleError("write a force, or a force and a moment: '0 0 -50 N; 0 0 2 N*m'")
    read: dict[str, list[float]] = {}
    for part in parts:
        missing = [kind for kind in ("force", "torque") if kind not in read]
        faults = []
        for kind in missing:
            try:
                read[kind] = _read_vector(part, kind)
                break
            except NacelleError as error:
                faults.append(error)
        else:
            raise faults[0]
    return [*read.get("force", [0.0] * 3), *read.get("torque", [0.0] * 3)]


def _read_vector(text: str, kind: str) -> list[float]:
    from pydantic_core import PydanticCustomError

    from nacelle.model.description.fields import read_vector
    from nacelle.model.units import QUANTITIES

    try:
        return list(read_vector(text, QUANTITIES[kind], {"*": "SI"}, 3))
    except PydanticCustomError as error:
        context = error.context or {}
        hint = context.get("hint", "")
        raise NacelleError(f"{context.get('message', error)}" + (f"; {hint}" if hint else "")) from None


# ---- robots, quantities and poses


AtOption = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="NAME=VALUE",
        help="Coordinate of the pose, such as x=100mm or rz=20deg (repeatable); others as in the reference "
        "pose.",
        autocompletion=complete_coordinates,
    ),
]
CsvOption = Annotated[
    Path | None,
    typer.Option(
        "--csv", help="Input table (CSV) with a header line.", autocompletion=complete_files(".csv")
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", help="Output table (CSV, with --csv); by default standard output."),
]
ModeOption = Annotated[str, typer.Option("--mode", help="Operation mode, for robots that have several.")]
FollowOption = Annotated[
    bool, typer.Option("--follow", help="Treat the table as a path: solve each row from the previous one.")
]
TableOption = Annotated[
    Path | None, typer.Option("--csv", help="Output table (CSV); an existing file needs --overwrite.")
]
PictureOption = Annotated[
    Path | None,
    typer.Option("--plot", help="Output figure (png, svg, pdf); an existing file needs --overwrite."),
]
LawOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="Option of the control law, such as friction=true, time_constant=0.1, payload=2kg, "
        "resolution=0.05mrad or ripple=0.02 (repeatable).",
    ),
]
ForceGainsOption = Annotated[
    bool,
    typer.Option(
        "--force-gains",
        help="Take a bandwidth whose loop is unstable or nearly so, or whose encoders make more ripple.",
    ),
]
NoFrictionOption = Annotated[bool, typer.Option("--no-friction", help="Neglect friction.")]
SmoothOption = Annotated[
    float | None,
    typer.Option(
        "--smooth", help="Speed over which Coulomb friction is smoothed, rad/s or m/s; 0.01 by default."
    ),
]


def load_robot(name: str, mode: str = "", payload: list[str] | None = None) -> Robot:
    """Load a robot, in one of its modes if one is named, with the payloads of `--payload`."""
    with task(f"reading {name}"):
        from nacelle.library import in_mode, load

        robot = in_mode(load(name), mode)
    if not payload:
        return robot
    from nacelle.model.payload import with_payloads

    try:
        return with_payloads(robot, *payload)
    except NacelleError as error:
        raise NacelleError(f"--payload {', '.join(map(repr, payload))}: {error}") from None


def read_quantity(text: str, *, angle: bool | None, quantity: str = "length") -> float:
    """Read a value with or without a unit, bare numbers being SI.

    Args:
        text: what was written.
        angle: whether it is that of a rotation or of a translation; either if None.
        quantity: the quantity of a translation, "length"; that of a rotation goes with it (`axis_quantity`).
    """
    from nacelle.model.units import QUANTITIES, UnitError, axis_quantity, parse_quantity

    fault = None
    for angular in (False, True) if angle is None else (angle,):
        try:
            return parse_quantity(text, QUANTITIES[axis_quantity(quantity, angular=angular)], {"*": "SI"})
        except UnitError as error:
            fault = error
    assert fault is not None
    message = str(fault) if repr(text) in str(fault) else f"{text!r}: {fault}"
    raise NacelleError(f"{message}; {fault.hint}" if text else f"the value is missing; {fault.hint}")


def read_assignments(
    settings: list[str] | None,
    angle: Mapping[str, bool | None],
    what: str,
    quantity: str = "length",
) -> dict[str, float]:
    """Read NAME=VALUE settings of quantities; `angle` says for each name whether it is an angle.

    `quantity` is the quantity of those that are not angles: "length", "speed", "force".
    """
    values: dict[str, float] = {}
    for text in settings or []:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign:
            raise NacelleError(f"{text!r} is not NAME=VALUE; known: {', '.join(angle)}")
        if name not in angle:
            raise NacelleError(f"no {what} is called {name!r}; {did_you_mean(name, angle)}")
        if name in values:
            raise NacelleError(f"{name} is given twice")
        try:
            values[name] = read_quantity(value.strip(), angle=angle[name], quantity=quantity)
        except NacelleError as error:
            raise NacelleError(f"{name}: {error}") from None
    return values


# Units of options of control laws; of those that are not here numbers have none.
_LAW_UNITS = {
    "smooth": ("rad/s", "m/s"),
    "time_constant": ("s",),
    "payload": ("kg",),
    "resolution": ("rad", "m"),
    "lag": ("s",),
    "following": ("rad", "m"),
}
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def read_law_options(settings: list[str] | None) -> dict[str, Any]:
    """Read NAME=VALUE options of a control law: truth values, numbers with or without unit, lists, words.

    Raises:
        NacelleError: if one is not NAME=VALUE, is there twice, or has another unit.
    """
    values: dict[str, Any] = {}
    for text in settings or []:
        name, sign, value = (part.strip() for part in text.partition("="))
        name = name.replace("-", "_")
        if not (sign and name and value):
            raise NacelleError(f"--option {text!r} is not NAME=VALUE, such as friction=true")
        if name in values:
            raise NacelleError(f"--option {name} is given twice")
        parts = [_law_value(name, part.strip()) for part in value.split(",")]
        values[name] = parts[0] if len(parts) == 1 else tuple(parts)
    return values


def _law_value(name: str, text: str) -> bool | float | str:
    """A truth value, a number in SI units, or a word."""
    from nacelle.model.units import NUMBER, UnitError, parse_number, parse_unit

    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    number = parse_number(text)
    if number is not None:
        return number
    match = re.match(NUMBER, text)
    if match is None:
        return text
    units = _LAW_UNITS.get(name, ())
    try:
        unit = parse_unit(text[match.end() :].strip())
        if unit.dimension not in [parse_unit(known).dimension for known in units]:
            raise UnitError(f"{text!r} has another unit", f"write {' or '.join(units) or 'a bare number'}")
    except UnitError as error:
        raise NacelleError(f"--option {name}: {error}; {error.hint}") from None
    return float(match[0]) * float(unit.exact) * unit.irrational


def read_trajectory(robot: Robot, source: str) -> Trajectory:
    """A trajectory of a robot: a spline through waypoints with times (CSV), or the path of a scenario.

    Raises:
        NacelleError: if the table has no times, or there is no such scenario.
    """
    from nacelle.control.scenario.scenario import read_scenario
    from nacelle.trajectory.waypoints import read_waypoints

    if not source.lower().endswith(".csv"):
        return read_scenario(source).prepare(robot).trajectory
    waypoints = read_waypoints(Path(source), robot.motion)
    if waypoints.times is None:
        raise NacelleError(f"{source}: the waypoints have no times; add a column t")
    return waypoints.bspline()


def coordinate_kinds(robot: Robot) -> dict[str, bool | None]:
    """Names of the coordinates that `--at` takes, and whether each is an angle."""
    from nacelle.kinematics.pose_input import is_angle

    return {name: is_angle(robot, name) for name in robot.motion.coordinates}


def read_pose(robot: Robot, at: list[str] | None, tool: str = "") -> Array:
    """The pose that `--at` describes, of the platform or a tool; rx, ry, rz are a rotation vector."""
    from nacelle.kinematics.pose import pose
    from nacelle.model.reduced import ROTATIONS, layout_of

    kinds = coordinate_kinds(robot)
    if tool:
        kinds = {**dict.fromkeys("xyz", False), **kinds}
    values = read_assignments(at, kinds, "coordinate")
    rotation_vector = None
    if layout_of(robot.motion).quaternion is not None and any(axis in values for axis in ROTATIONS):
        rotation_vector = [values.pop(axis, 0.0) for axis in ROTATIONS]
    return pose(robot, None, rotation_vector=rotation_vector, tool=tool or None, **values)


def require_table_option(options: Mapping[str, Any]) -> None:
    """Refuse options that mean something for a table only."""
    for option, value in options.items():
        if value:
            raise NacelleError(f"{option} requires --csv")
