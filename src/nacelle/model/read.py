"""Reading descriptions: YAML or Python data to a `Robot`, with all problems at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nacelle.errors import DescriptionError, Problem
from nacelle.files import unread_reason
from nacelle.model.build.assemble import build_robot
from nacelle.model.build.parametric import ParametricDescription
from nacelle.model.description.description import Description
from nacelle.model.description.fields import message_and_hint
from nacelle.model.description.version import NEWEST, problems_of_version, rename_older_keys
from nacelle.model.robot import Robot
from nacelle.model.source.node import FailedValue, Node, Source, file_error, node_from_python
from nacelle.model.source.template import Expander
from nacelle.model.source.yaml import read_yaml
from nacelle.model.units import SI, check_default_units, units_for_bare_numbers


def read_file(path: str | Path) -> tuple[Robot, Source]:
    """Read a robot from a YAML file.

    Raises:
        DescriptionError: with every problem found and its place.
    """
    file = Path(path)
    try:
        if file.stat().st_size > 4_000_000:
            raise file_error(str(file), "the file is too large for a description of a robot")
        data = file.read_bytes()
    except OSError as error:
        raise file_error(str(file), *unread_reason(file, error, "YAML file")) from None
    robot, source = read_text(data, str(path))
    return replace(robot, folder=str(file.absolute().parent)), source


def read_text(text: str | bytes, file: str = "<text>") -> tuple[Robot, Source]:
    """Read a robot from the text of a YAML file."""
    return read_source(read_yaml(text, file))


def read_data(data: Any) -> tuple[Robot, Source]:
    """Read a robot from Python data with the shape of the YAML; bare numbers are SI."""
    node = node_from_python(data)
    if isinstance(node.value, dict):
        node.value.setdefault("format", Node(NEWEST))
        node.value.setdefault("units", Node("SI"))
    return read_source(Source("<python>", node))


def read_source(source: Source) -> tuple[Robot, Source]:
    """Expand templates, check the shape, build the robot; give it with the expanded source."""
    source, double = rename_older_keys(source)
    expander = Expander(source)
    try:
        expanded = Source(source.file, expander.expand())
    except DescriptionError as error:
        raise DescriptionError(unique_problems(list(error.problems))) from None
    problems = double + list(expander.problems) or problems_of_version(expanded)
    description: Description | None = None
    units = _units(expanded, problems)
    if isinstance(source.root.value, dict):
        try:
            description = Description.model_validate(expanded.root.plain(), context={"units": units})
        except ValidationError as errors:
            problems += [
                expanded.problem(error["loc"], *message_and_hint(error))
                for error in errors.errors(include_url=False)
                if error["loc"][:1] != ("units",) and not _is_consequence(expanded, error)
            ]
    if description is not None and not problems:
        try:
            robot = build_robot(description, expanded)
            return replace(robot, declaration=ParametricDescription(source, expanded, units)), expanded
        except DescriptionError as error:
            problems += error.problems
    raise DescriptionError(unique_problems(problems))


def _is_consequence(source: Source, error: Any) -> bool:
    """Whether an error only follows from a value that could not be found, which is reported already."""
    if message_and_hint(error)[0].startswith(("unknown key", "missing key")):
        return False
    _, node = source.root.find(error["loc"])
    return any(isinstance(below.value, FailedValue) for below in node.walk())


def _units(source: Source, problems: list[Problem]) -> dict[str, str] | None:
    """Check the `units` key; give the units of bare numbers."""
    assert isinstance(source.root.value, dict)
    node = source.root.value.get("units")
    units = None if node is None else node.plain()
    if isinstance(units, dict) and all(isinstance(unit, str) for unit in units.values()):
        faults = check_default_units(units)
        problems += [source.problem(("units", key), str(fault), fault.hint) for key, fault in faults]
        if faults:
            return SI
    elif units not in (None, "SI"):
        hint = "units: SI, or units: {length: mm, angle: deg}"
        problems.append(source.problem(("units",), "units is SI or a mapping", hint))
        return SI
    return units_for_bare_numbers(units)


def unique_problems(problems: list[Problem]) -> list[Problem]:
    """Sort by place; problems that repeat at one place (a template's, once a leg) are kept once."""
    first_at: dict[tuple[int, int, str], Problem] = {}
    for problem in problems:
        key = (problem.line, problem.column, problem.message if problem.line else str(problem))
        first_at.setdefault(key, problem)
    return sorted(first_at.values(), key=lambda p: (p.line, p.column))
