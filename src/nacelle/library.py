"""Loading robots: by name from the library, from a YAML file, a text, or Python data; checked."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from nacelle import robots
from nacelle.errors import NacelleError, UnknownRobotError, did_you_mean, shorten
from nacelle.kinematics.mechanism.check import Check, check_robot
from nacelle.model.read import read_data, read_file, read_text
from nacelle.model.robot import Robot


def load(name_or_file: str | os.PathLike[str]) -> Robot:
    """Load a robot of the library by its name, or any robot from its YAML file.

    Args:
        name_or_file: name of a robot of the library, or a YAML file.

    Returns:
        The robot, frozen, all numbers in SI units and radians.

    Raises:
        UnknownRobotError: if it is neither the name of a robot nor a file.
        DescriptionError: with everything that is wrong with the description.
    """
    return check(name_or_file).require().robot


def in_mode(robot: Robot, mode: str) -> Robot:
    """The robot in one of its modes of operation, if one is named.

    Raises:
        NacelleError: if it has no such mode.
    """
    try:
        return robot.in_mode(mode) if mode else robot
    except KeyError as error:
        raise NacelleError(str(error.args[0])) from None


def loads(text: str) -> Robot:
    """Load a robot from the text of a YAML file; numbers in SI units unless a unit is written.

    Raises:
        DescriptionError: with everything that is wrong with the description.
    """
    robot, source = read_text(text)
    return check_robot(robot, source).require().robot


def build(description: dict[str, Any]) -> Robot:
    """Build a robot from Python data shaped like the YAML; bare numbers are in SI units.

    Arrays, tuples and lists may be mixed; "format" may be left out. Raises DescriptionError.
    """
    robot, source = read_data(description)
    return check_robot(robot, source).require().robot


def check(name_or_file: str | os.PathLike[str]) -> Check:
    """Load a robot and give what the checks found, warnings too.

    Args:
        name_or_file: name of a robot of the library, or a YAML file.

    Returns:
        The robot, its problems with file, line and column, its assembly and its mobility.

    Raises:
        UnknownRobotError: if it is neither the name of a robot nor a file.
        DescriptionError: if the description cannot be read as a robot at all.
    """
    text = os.fspath(name_or_file)
    if looks_like_file(text):
        require_file(text)
        robot, source = read_file(text)
    elif text in robots.all_names():
        robot, source = read_text(robots.text(text), f"{text}.yaml")
    else:
        raise UnknownRobotError(
            f"no robot of the library and no file is called {shorten(text, 80)!r}; "
            + did_you_mean(text, robots.all_names())
        )
    return check_robot(robot, source)


def require_file(text: str) -> None:
    """Demand that a text names a file.

    Raises:
        UnknownRobotError: if it does not exist, or is a folder.
    """
    if _path_kind(text) == "folder":
        raise UnknownRobotError(f"{shorten(text, 80)!r} is a folder: name the YAML file in it")
    if not _path_kind(text):
        raise UnknownRobotError(f"there is no file {shorten(text, 80)!r}{_file_suggestion(text)}")


def _file_suggestion(text: str) -> str:
    """A file of the same folder whose name is nearly that of a text, as a question; nothing if none is."""
    with suppress(OSError, ValueError):
        path = Path(text)
        names = sorted(file.name for file in path.parent.glob("*" + (path.suffix or ".yaml")))
        hint = did_you_mean(path.name, names)
        return f"; {hint}" if hint.startswith("did") else ""
    return ""


def looks_like_file(text: str) -> bool:
    """Whether a text names a file: it has a folder or a YAML ending, or it exists."""
    path = Path(text)
    ending = path.suffix.lower() in (".yaml", ".yml")
    return ending or len(path.parts) > 1 or (bool(_path_kind(text)) and text not in robots.all_names())


def _path_kind(text: str) -> Literal["file", "folder", ""]:
    """What a text names on disk, if anything."""
    with suppress(OSError, ValueError):
        if text and Path(text).is_dir():
            return "folder"
        return "file" if Path(text).is_file() else ""
    return ""
