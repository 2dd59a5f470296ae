"""Options of several commands: tools, payloads and wrenches from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nacelle.errors import NacelleError

if TYPE_CHECKING:
    from nacelle.model.robot import Robot

ToolOption = Annotated[
    str, typer.Option("--tool", metavar="NAME", help="Poses and paths are those of this tool of the robot.")
]
PayloadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--payload",
        metavar="NAME|none|'mass=2kg; com=0 0 50 mm; on=TOOL'",
        help="Only this payload of the description, or none of them; or one more: a mass on the nacelle, a "
        "tool or a body ('2kg' alone will do); repeat.",
    ),
]
ExternalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--external",
        metavar="'NAME=0 0 -50 N; 0 0 2 N*m'",
        help="Force and moment from outside on a body or tool, in base axes, about its origin; without "
        "NAME on the nacelle; repeat.",
    ),
]


def loaded(robot: Robot, payload: list[str] | None) -> Robot:
    """The robot with the payloads of `--payload` (`nacelle.model.payload.carrying`)."""
    from nacelle.model.payload import carrying

    try:
        return carrying(robot, *(payload or ()))
    except NacelleError as error:
        given = ", ".join(repr(text) for text in payload or ())
        raise NacelleError(f"--payload {given}: {error}") from None


def wrenches(robot: Robot, external: list[str] | None) -> dict[str, list[float]]:
    """The wrenches [f; n] of `--external`, by name of the body or tool."""
    from nacelle.dynamics.external import checked_wrenches
    from nacelle.model.leg import PLATFORM

    given: dict[str, list[float]] = {}
    for text in external or []:
        name, sign, value = (piece.strip() for piece in text.rpartition("="))
        name = name if sign else robot.bodies[PLATFORM].name
        if name in given:
            raise NacelleError(f"--external {text!r}: {name} has a wrench already; add them up")
        try:
            given[name] = _wrench(value)
            checked_wrenches(robot, given)
        except NacelleError as error:
            raise NacelleError(f"--external {text!r}: {error}") from None
    return given


def _wrench(text: str) -> list[float]:
    """Read "fx fy fz N; nx ny nz N*m": either part alone, or both; without units the force is first."""
    parts = [part.strip() for part in text.split(";")]
    if len(parts) > 2 or not all(parts):
        raise NacelleError("write a force, or a force and a moment: '0 0 -50 N; 0 0 2 N*m'")
    read: dict[str, list[float]] = {}
    for part in parts:
        left = [kind for kind in ("force", "torque") if kind not in read]
        faults = []
        for kind in left:
            try:
                read[kind] = _vector(part, kind)
                break
            except NacelleError as error:
                faults.append(error)
        else:
            raise faults[0]
    return [*read.get("force", [0.0] * 3), *read.get("torque", [0.0] * 3)]


def _vector(text: str, kind: str) -> list[float]:
    from pydantic_core import PydanticCustomError

    from nacelle.model.description.fields import read_vector
    from nacelle.model.units import QUANTITIES

    try:
        return list(read_vector(text, QUANTITIES[kind], {"*": "SI"}, 3))
    except PydanticCustomError as error:
        context = error.context or {}
        hint = context.get("hint", "")
        raise NacelleError(f"{context.get('message', error)}" + (f"; {hint}" if hint else "")) from None
