"""The column map: which column of a file is which signal, and what its numbers are, in YAML.

    time: {column: t, unit: ms}
    delay: 0.5 ms
    actuators:
      strut1:
        position: {column: enc1, unit: counts, counts_per_turn: 8192, side: motor, zero: 12345, sign: -1}
        current: {column: i1, unit: A, torque_constant: 0.12 N*m/A}
        reference: {column: ref1, unit: mm}

Units that are left out are those in the header of the file, or SI. Quantities that depend on the joint (gear
ratios, torque constants) are kept as written here; `channels` reads them with the robot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from nacelle.errors import DescriptionError, MeasurementError, Problem, did_you_mean
from nacelle.files import why_unread
from nacelle.model.description.fields import Raw, Strict, message_and_hint, one_of
from nacelle.model.robot import Robot
from nacelle.model.source.node import Source
from nacelle.model.source.python import node_from_python
from nacelle.model.source.yaml import read_yaml

# "N m/A" as "N*m/A".
_SPACED = re.compile(r"(?<=[A-Za-z])\s+(?=[A-Za-z])")


def _as_text(value: Any) -> Any:
    """A name that YAML takes for a number is a name all the same."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _joined(value: Any) -> Any:
    """Units with spaces between them are a product."""
    return _SPACED.sub("*", value) if isinstance(value, str) else value


ColumnName = Annotated[str, BeforeValidator(_as_text)]
UnitText = Annotated[str, BeforeValidator(_joined)]
Quantity = Annotated[Raw, BeforeValidator(_joined)]
Sign = Literal[1, -1]
Side = Literal["joint", "motor"]


class TimeSpec(Strict):
    """The time: a column, or the step between samples where there is none."""

    column: ColumnName | None = None
    unit: UnitText | None = None
    step: Quantity = None

    @model_validator(mode="after")
    def _one(self) -> TimeSpec:
        one_of(self, "column", "step")
        return self


class PositionSpec(Strict):
    """A coordinate of an actuator: of the joint, or of the motor in front of its gear.

    coordinate = sign (number - zero), then through the gear; `zero` in the numbers of the column.
    """

    column: ColumnName
    unit: UnitText | None = None
    counts_per_turn: Annotated[float, Field(gt=0.0)] | None = None
    resolution: Quantity = None
    side: Side = "joint"
    gear_ratio: Quantity = None
    zero: float | None = None
    sign: Sign | None = None


class ForceSpec(Strict):
    """A force or torque of an actuator."""

    column: ColumnName
    unit: UnitText | None = None
    side: Side = "joint"
    gear_ratio: Quantity = None
    sign: Sign = 1
    delay: Quantity = None


class CurrentSpec(Strict):
    """A current of a motor: force = sign torque_constant gear_ratio current."""

    column: ColumnName
    unit: UnitText | None = None
    torque_constant: Quantity = None
    gear_ratio: Quantity = None
    sign: Sign = 1
    delay: Quantity = None


class ActuatorColumns(Strict):
    """The signals of one actuator."""

    position: PositionSpec
    force: ForceSpec | None = None
    current: CurrentSpec | None = None
    reference: PositionSpec | None = None

    @model_validator(mode="after")
    def _one(self) -> ActuatorColumns:
        one_of(self, "force", "current")
        return self


class ColumnMapSpec(Strict):
    """A column map as written."""

    time: TimeSpec | None = None
    delay: Quantity = None
    actuators: dict[str, ActuatorColumns] | None = None


class ColumnMap:
    """A column map with its source, for the places of what is wrong.

    Attributes:
        spec: the map as written.
        source: its file and tree.
    """

    def __init__(self, spec: ColumnMapSpec, source: Source) -> None:
        """Keep the map and its source."""
        self.spec = spec
        self.source = source


def read_column_map(columns: str | Path | Mapping[str, Any], robot: Robot) -> ColumnMap:
    """Read a column map for a robot.

    Args:
        columns: a YAML file, its text if that has more than one line, or a mapping of the same shape.
        robot: the robot whose actuators it names.

    Raises:
        MeasurementError: with all problems, each with file, line and column.
    """
    try:
        source = _source(columns)
    except DescriptionError as fault:
        raise MeasurementError("the column map cannot be read:", fault.problems) from None
    try:
        spec = ColumnMapSpec.model_validate(source.root.plain())
    except ValidationError as errors:
        raise _wrong(
            [
                source.problem(error["loc"], *message_and_hint(error))
                for error in errors.errors(include_url=False)
            ]
        ) from None
    names = [actuator.name for actuator in robot.actuators]
    given = spec.actuators if spec.actuators is not None else dict.fromkeys(names)
    problems = [
        source.problem(
            ("actuators", name), f"{robot.name} has no actuator {name!r}", did_you_mean(name, names)
        )
        for name in given
        if name not in names
    ]
    missing = [name for name in names if name not in given]
    if missing:
        hint = "every actuator of the robot needs its columns"
        problems.append(source.problem(("actuators",), f"no columns for {', '.join(missing)}", hint))
    if problems:
        raise _wrong(problems)
    return ColumnMap(spec, source)


def _wrong(problems: list[Problem]) -> MeasurementError:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return MeasurementError(f"{count} in the column map:", sorted(problems))


def _source(columns: str | Path | Mapping[str, Any]) -> Source:
    if isinstance(columns, Mapping):
        return Source("<python>", node_from_python(dict(columns)))
    if isinstance(columns, str) and "\n" in columns:
        return read_yaml(columns, "<text>")
    try:
        return read_yaml(Path(columns).read_bytes(), str(columns))
    except OSError as fault:
        problem = Problem(str(columns), 0, 0, "", *why_unread(columns, fault, "YAML file"))
        raise DescriptionError([problem]) from None
