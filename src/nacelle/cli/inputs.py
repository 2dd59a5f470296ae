"""How commands read robots, quantities and poses, and the options that these have in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacelle.cli.complete import complete_coordinates, files_ending
from nacelle.errors import NacelleError, did_you_mean
from nacelle.progress import task

if TYPE_CHECKING:
    from nacelle.model.robot import Robot
    from nacelle.spatial.scalar import Array

AtOption = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="NAME=VALUE",
        help="A coordinate of the pose, such as x=100mm or rz=20deg; repeat. Others stay at the reference.",
        autocompletion=complete_coordinates,
    ),
]
CsvOption = Annotated[
    Path | None,
    typer.Option("--csv", help="Table of inputs, a header line first.", autocompletion=files_ending(".csv")),
]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="File to write; a new one, unless --overwrite.")
]
ModeOption = Annotated[str, typer.Option("--mode", help="A mode of operation of the robot.")]
FollowOption = Annotated[
    bool, typer.Option("--follow", help="The lines of the table are a path: start from the one before.")
]
TableOption = Annotated[
    Path | None, typer.Option("--csv", help="Table to write; a new one, unless --overwrite.")
]
NoFrictionOption = Annotated[bool, typer.Option("--no-friction", help="Leave friction out.")]
SmoothOption = Annotated[
    float | None,
    typer.Option("--smooth", help="Rate over which Coulomb friction changes its sign, rad/s or m/s."),
]
# Quantities of a translation and of a rotation.
POSITION = ("length", "angle")
RATE = ("speed", "angular speed")
FORCE = ("force", "torque")


def load_robot(name: str, mode: str = "") -> Robot:
    """Load a robot, in one of its modes if one is named."""
    with task(f"reading {name}"):
        from nacelle.library import load

        robot = load(name)
    return in_mode(robot, mode) if mode else robot


def in_mode(robot: Robot, mode: str) -> Robot:
    """A robot in one of its modes of operation."""
    try:
        return robot.in_mode(mode)
    except KeyError as error:
        raise NacelleError(str(error.args[0])) from None


def value_with_unit(text: str, *, angle: bool | None, of: tuple[str, str] = POSITION) -> float:
    """Read a value with or without a unit, bare numbers being SI.

    Args:
        text: what was written.
        angle: whether it is that of a rotation or of a translation; either if None.
        of: the quantities of translations and of rotations.
    """
    from nacelle.model.units import QUANTITIES, UnitError, parse_quantity

    fault = None
    for kind in of if angle is None else of[angle : angle + 1]:
        try:
            return parse_quantity(text, QUANTITIES[kind], {"*": "SI"})
        except UnitError as error:
            fault = error
    assert fault is not None
    message = str(fault) if repr(text) in str(fault) else f"{text!r}: {fault}"
    raise NacelleError(f"{message}; {fault.hint}" if text else f"the value is missing; {fault.hint}")


def assignments(
    given: list[str] | None,
    angle: Mapping[str, bool | None],
    what: str,
    of: tuple[str, str] = POSITION,
) -> dict[str, float]:
    """Read NAME=VALUE settings of quantities; `angle` says for each name whether it is an angle."""
    values: dict[str, float] = {}
    for text in given or []:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign:
            raise NacelleError(f"{text!r} is not NAME=VALUE; what can be set: {', '.join(angle)}")
        if name not in angle:
            raise NacelleError(f"no {what} is called {name!r}; {did_you_mean(name, angle)}")
        if name in values:
            raise NacelleError(f"{name} is given twice")
        try:
            values[name] = value_with_unit(value.strip(), angle=angle[name], of=of)
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


def need_table(given: Mapping[str, Any]) -> None:
    """Refuse options that mean something for a table only."""
    for option, value in given.items():
        if value:
            raise NacelleError(f"{option} goes with --csv")
