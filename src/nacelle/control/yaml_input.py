"""What is written in YAML, checked: a file, a text or a mapping to a model of its entries, with places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import BeforeValidator, ValidationError, ValidationInfo, WithJsonSchema

from nacelle.errors import DescriptionError, KinematicsError, Problem, did_you_mean
from nacelle.files import unread_reason
from nacelle.kinematics.pose import pose
from nacelle.kinematics.pose_input import is_angle
from nacelle.model.description.fields import Strict, fault, message_and_hint, read_quantity, units_of
from nacelle.model.reduced import ROTATIONS, layout_of
from nacelle.model.robot import Robot
from nacelle.model.source.node import Source, node_from_python
from nacelle.model.source.yaml import read_yaml
from nacelle.model.units import QUANTITIES, SI, Quantity, UnitError, axis_quantity, parse_quantity
from nacelle.spatial.scalar import Array

TIME = Quantity("time", (0, 0, 1, 0, 0), "s", "0.5 ms")
FREQUENCY = Quantity("frequency", (0, 0, -1, 0, 0), "Hz", "20 Hz")


def _scalar(quantity: Quantity, *, lowest: float = -math.inf, above: float = -math.inf) -> Any:
    def validate(value: Any, info: ValidationInfo) -> float:
        number = read_quantity(value, quantity, units_of(info))
        if number < lowest or not number > above:
            text = f"not below {lowest:g}" if number < lowest else f"above {above:g}"
            raise fault(f"the {quantity.name} is {text}, got {number:g}", f"write {quantity.example!r}")
        return number

    text = f"{quantity.name}, for example {quantity.example!r}; SI unit {quantity.si}"
    schema = {"anyOf": [{"type": "number"}, {"type": "string"}], "description": text}
    return Annotated[Any, BeforeValidator(validate), WithJsonSchema(schema)]


def _percent(value: Any) -> float:
    """A share from a text such as "10 %"."""
    text = str(value).strip() if isinstance(value, str) else ""
    try:
        number = float(text.removesuffix("%")) if text.endswith("%") else math.nan
    except ValueError:
        number = math.nan
    if not number >= 0.0:
        raise fault(f"expected a share, got {value!r}", 'write "10 %"')
    return number / 100.0


def _probability(value: Any) -> float:
    number = _percent(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0.0 <= number <= 1.0:
        raise fault(f"expected a probability from 0 to 1, got {value!r}", 'write 0.01 or "1 %"')
    return float(number)


Time = _scalar(TIME)
NonNegativeTime = _scalar(TIME, lowest=0.0)
Duration = _scalar(TIME, above=0.0)
Frequency = _scalar(FREQUENCY, above=0.0)
Speed = _scalar(QUANTITIES["speed"], above=0.0)
Share = Annotated[float, BeforeValidator(_percent), WithJsonSchema({"type": "string"})]
Probability = Annotated[float, BeforeValidator(_probability), WithJsonSchema({"type": ["number", "string"]})]


# ---- quantities that depend on the robot


def parse_si(value: Any, name: str) -> float:
    """A quantity of a kind such as "length" in SI units; bare numbers are SI.

    Raises:
        KinematicsError: if it is not such a quantity.
    """
    try:
        return float(parse_quantity(value, QUANTITIES[name], SI))
    except UnitError as error:
        raise KinematicsError(f"{error}; {error.hint}") from None


def quantity_per_actuator(robot: Robot, value: Any, of: str) -> float | list[float]:
    """A quantity for all actuators of a robot, or one for each.

    Args:
        robot: the robot.
        value: a number or a text with a unit, or a list of them.
        of: the quantity of prismatic actuators, "force"; revolute ones have its counterpart, "torque".

    Raises:
        KinematicsError: if it fits none of them.
    """
    revolute = robot.revolute_actuators
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != len(revolute):
            raise KinematicsError(
                f"expected one entry, or one for each of the {len(revolute)} actuators of {robot.name}, got "
                f"{len(value)}"
            )
        return [
            parse_si(entry, axis_quantity(of, angular=rotates))
            for entry, rotates in zip(value, revolute, strict=True)
        ]
    if len(set(revolute)) > 1 and isinstance(value, str):
        raise KinematicsError(
            f"{robot.name} has prismatic and revolute actuators: give a list with a quantity for each"
        )
    return parse_si(value, axis_quantity(of, angular=revolute[0]))


def pose_from_names(robot: Robot, coordinates: Mapping[str, Any], tool: str = "") -> Array:
    """A pose (nx,) from coordinates by name; others are those of the reference pose.

    Raises:
        KinematicsError: if the robot has no such coordinate, or its quantity is another one.
    """
    names = list(robot.motion.coordinates)
    if tool:
        names = [*dict.fromkeys([*"xyz", *names])]
    values: dict[str, float] = {}
    for name, value in coordinates.items():
        if name not in names:
            raise KinematicsError(f"{robot.name} has no coordinate {name!r}; {did_you_mean(name, names)}")
        values[name] = parse_si(value, "angle" if is_angle(robot, name) else "length")
    rotation = None
    if layout_of(robot.motion).quaternion is not None and any(axis in values for axis in ROTATIONS):
        rotation = [values.pop(axis, 0.0) for axis in ROTATIONS]
    return np.asarray(pose(robot, None, rotation_vector=rotation, tool=tool or None, **values))


# ---- what is written in YAML, checked


Spec = TypeVar("Spec", bound=Strict)


def read_specification(
    kind: type[Spec],
    source: str | Path | Mapping[str, Any],
    built_in: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Spec, Source]:
    """Read and check what is written.

    Args:
        kind: the model of its entries.
        source: a YAML file, its text if that has more than one line, a mapping of the same shape, or the name
            of one that comes with the package.
        built_in: those that come with the package, by name.

    Raises:
        DescriptionError: with all problems, each with file, line and column.
    """
    tree = _read_source(source, built_in or {})
    try:
        return kind.model_validate(tree.root.plain(), context={"units": {"*": "SI"}}), tree
    except ValidationError as errors:
        raise DescriptionError(
            sorted(
                tree.problem(error["loc"], *message_and_hint(error))
                for error in errors.errors(include_url=False)
            )
        ) from None


def _read_source(source: str | Path | Mapping[str, Any], built_in: Mapping[str, Mapping[str, Any]]) -> Source:
    if isinstance(source, Mapping):
        return Source("<python>", node_from_python(dict(source)))
    if isinstance(source, str) and "\n" in source:
        return read_yaml(source, "<text>")
    if str(source) in built_in:
        return Source(f"<{source}>", node_from_python(built_in[str(source)]))
    try:
        return read_yaml(Path(source).read_bytes(), str(source))
    except OSError as fault:
        message, hint = unread_reason(source, fault, "YAML file")
        if built_in and isinstance(fault, FileNotFoundError):
            hint = f"{hint}, or one of {', '.join(built_in)}"
        raise DescriptionError([Problem(str(source), 0, 0, "", message, hint)]) from None
