"""Payloads of a robot: masses that it carries, on a body or in the frame of a tool; which of them count."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from nacelle.errors import ParameterError, did_you_mean
from nacelle.model.description.description import PayloadSpec
from nacelle.model.description.fields import message_and_hint
from nacelle.model.leg import PLATFORM
from nacelle.model.platform import Payload
from nacelle.model.robot import Robot
from nacelle.model.units import SI
from nacelle.spatial.inertia import transform_parameters
from nacelle.spatial.pose import Pose, identity

# What a text about a payload may give.
KEYS = ("mass", "com", "inertia", "at", "on", "name")


def with_payload(
    robot: Robot,
    mass: Any,
    *,
    com: Any = (0.0, 0.0, 0.0),
    inertia: Any = (0.0, 0.0, 0.0),
    on: str | None = None,
    at: Any = (0.0, 0.0, 0.0),
    name: str | None = None,
) -> Robot:
    """Give the same robot with one more payload.

    Args:
        robot: the robot.
        mass: kg, or a text with a unit.
        com: centre of mass (3,) in the payload's frame, m, or a text such as "0 0 50 mm".
        inertia: as in descriptions: xx yy zz, six numbers, a matrix or a mapping, about the centre of mass,
            kg m^2.
        on: a tool, in whose frame the payload lies, or a body; the platform if None.
        at: the payload's frame in that frame: a translation, or a mapping as in descriptions.
        name: its name; the first of "payload", "payload-2", ... that is free if None.

    Raises:
        ParameterError: if there is no such tool or body, the name is taken, or numbers are wrong.
    """
    body, frame = payload_frame(robot, on)
    try:
        spec = PayloadSpec.model_validate(
            {"mass": mass, "com": com, "inertia": inertia, "at": at}, context={"units": SI}
        )
    except ValidationError as errors:
        raise ParameterError("payload: " + "; ".join(_error_message(e) for e in errors.errors())) from None
    pose = frame @ spec.at.pose()
    ten = transform_parameters(pose.R, pose.p, spec.ten())
    names_in_use = {load.name for load in robot.payload}
    if name is None:
        names = ["payload", *(f"payload-{k}" for k in range(2, len(names_in_use) + 3))]
        name = next(free for free in names if free not in names_in_use)
    elif name in names_in_use:
        raise ParameterError(f"{robot.name} has a payload {name!r} already")
    load = Payload(name, body, tuple(float(value) for value in ten))
    return dataclasses.replace(robot, payload=(*robot.payload, load))


def with_payloads(robot: Robot, *payloads: str) -> Robot:
    """Give the same robot with the payloads that are wanted: the one rule of every command and page.

    Args:
        robot: the robot, with the payloads of its description.
        payloads: names of these, of which only those that are named stay; "none" for none of them; or texts
            such as "2 kg" and "mass=2 kg; com=0 0 50 mm; on=flange", each one more payload. Without any the
            robot carries what its description says.

    Raises:
        ParameterError: if a text cannot be read, or names no payload, tool or body.
    """
    by_name = {load.name: load for load in robot.payload}
    selected = [text.strip() for text in payloads if _is_name(text.strip(), by_name)]
    if selected:
        loads = tuple(load for name, load in by_name.items() if name in selected)
        if loads and "none" in selected and "none" not in by_name:
            raise ParameterError("payload none and others by name: name those that are wanted")
        robot = dataclasses.replace(robot, payload=loads)
    for text in payloads:
        if not _is_name(text.strip(), by_name):
            robot = with_payload(robot, **_parse_payload(text, by_name))
    return robot


def _is_name(text: str, by_name: Mapping[str, Payload]) -> bool:
    """Whether a text names payloads of the description."""
    return text == "none" or text in by_name


def _parse_payload(text: str, by_name: Mapping[str, Payload]) -> dict[str, Any]:
    """The arguments of `with_payload` that a text gives."""
    arguments: dict[str, Any] = {}
    for part in text.split(";"):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign:
            key, value = "mass", key
            if re.fullmatch(r"[A-Za-z][\w\-]*", value):
                names = ["none", *by_name]
                raise ParameterError(f"there is no payload {value!r}; {did_you_mean(value, names)}")
        if key not in KEYS:
            raise ParameterError(f"no {key!r}; {did_you_mean(key, KEYS)}")
        if key in arguments:
            raise ParameterError(f"{key} is given twice")
        if not value:
            raise ParameterError(f"{key} has no value; write for example 'mass=2kg'")
        arguments[key] = value
    if "mass" not in arguments:
        raise ParameterError("it has no mass; write for example 'mass=2kg; com=0 0 50 mm'")
    return arguments


def payload_frame(robot: Robot, on: str | None) -> tuple[int, Pose]:
    """The body that carries a payload, and the frame on it.

    Args:
        robot: the robot.
        on: a tool or a body; the platform if None.

    Raises:
        ParameterError: if there is no such tool or body.
    """
    if on is None:
        if not robot.has_platform:
            raise ParameterError(f"{robot.name} has no platform to carry it: say on which body")
        return PLATFORM, identity()
    tools = {tool.name: tool for tool in robot.tools}
    if on in tools:
        return tools[on].body, tools[on].frame
    bodies = {robot.bodies[b].name: b for b in robot.described_bodies}
    if on not in bodies:
        raise ParameterError(
            f"a payload goes on a tool or a moving body, and {robot.name} has no {on!r}; "
            f"{did_you_mean(on, [*tools, *bodies])}"
        )
    return bodies[on], identity()


def _error_message(error: Any) -> str:
    """One fault of a payload, on one line."""
    message, hint = message_and_hint(error)
    path = ".".join(str(part) for part in error["loc"])
    return f"{path}: {message}" + (f" ({hint})" if hint else "")
