"""Payloads added to a robot: a mass that it carries, on its nacelle or in the frame of a tool."""

from __future__ import annotations

import dataclasses
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
        on: a tool, in whose frame the payload lies, or a body of the nacelle; the platform if None.
        at: the payload's frame in that frame: a translation, or a mapping as in descriptions.
        name: its name; the first of "payload", "payload-2", ... that is free if None.

    Raises:
        ParameterError: if there is no such tool or body, the name is taken, or numbers are wrong.
    """
    body, frame = carrier(robot, on)
    try:
        spec = PayloadSpec.model_validate(
            {"mass": mass, "com": com, "inertia": inertia, "at": at}, context={"units": SI}
        )
    except ValidationError as errors:
        raise ParameterError("payload: " + "; ".join(_words(e) for e in errors.errors())) from None
    pose = frame @ spec.at.pose()
    ten = transform_parameters(pose.R, pose.p, spec.ten())
    taken = {load.name for load in robot.payload}
    if name is None:
        names = ["payload", *(f"payload-{k}" for k in range(2, len(taken) + 3))]
        name = next(free for free in names if free not in taken)
    elif name in taken:
        raise ParameterError(f"{robot.name} has a payload {name!r} already")
    load = Payload(name, body, tuple(float(value) for value in ten))
    return dataclasses.replace(robot, payload=(*robot.payload, load))


def carrier(robot: Robot, on: str | None) -> tuple[int, Pose]:
    """The body that carries a payload, and the frame on it.

    Args:
        robot: the robot.
        on: a tool or a body of the nacelle; the platform if None.

    Raises:
        ParameterError: if there is no such tool or body.
    """
    if on is None:
        return PLATFORM, identity()
    tools = {tool.name: tool for tool in robot.tools}
    if on in tools:
        return tools[on].body, tools[on].frame
    bodies = {robot.bodies[b].name: b for b in robot.nacelle.bodies}
    if on not in bodies:
        raise ParameterError(
            f"a payload goes on a tool or a body of the nacelle, and {robot.name} has no {on!r} there; "
            f"{did_you_mean(on, [*tools, *bodies])}"
        )
    return bodies[on], identity()


def _words(error: Any) -> str:
    """One fault of a payload, on one line."""
    message, hint = message_and_hint(error)
    place = ".".join(str(part) for part in error["loc"])
    return f"{place}: {message}" + (f" ({hint})" if hint else "")
