"""Completion in the shell: robots, files, coordinates. Quick: nothing is imported beyond the library's names.

`nacelle --install-completion` installs it for bash, zsh, fish or PowerShell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_YAML = (".yaml", ".yml")
# A description of more bytes than this is no robot's.
_LARGEST = 131_072


def complete_robots(incomplete: str) -> list[str]:
    """Robots of the library, and YAML files in the folder of what is typed."""
    from nacelle.robots import all_names

    return [
        name for name in (*all_names(), *_files_with_ending(incomplete, _YAML)) if name.startswith(incomplete)
    ]


def complete_files(*endings: str) -> Callable[[str], list[str]]:
    """A function that completes files with these endings."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in _files_with_ending(incomplete, endings) if name.startswith(incomplete)]

    return complete


def complete_choices(*choices: str) -> Callable[[str], list[str]]:
    """A function that completes one of some words, also the last of several with commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{choice}" for choice in choices if choice.startswith(last)]

    return complete


def complete_coordinates(ctx: Any, incomplete: str) -> list[str]:
    """Coordinates of the robot that is named before on the line: "x=", "rz="."""
    with suppress(OSError, ValueError):
        # An option that has no value yet leaves the words before it unassigned.
        robot = ctx.params.get("robot_name") or next(iter(ctx.args), "")
        names = _motion_coordinates(_description_text(str(robot)))
        return [f"{name}=" for name in names if f"{name}=".startswith(incomplete)]
    return []


def _files_with_ending(incomplete: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Files with these endings in the folder that is typed, as one would type them."""
    typed, slash, _ = incomplete.rpartition("/")
    with suppress(OSError, ValueError):
        for entry in sorted(Path(f"{typed}{slash}" or ".").iterdir()):
            if entry.suffix.lower() in endings and not entry.name.startswith("."):
                yield f"{typed}{slash}{entry.name}"


def _description_text(robot: str) -> str:
    """The description of a robot, unread."""
    from nacelle import robots

    if robot in robots.all_names():
        return robots.text(robot)
    file = Path(robot)
    if not file.is_file() or file.stat().st_size > _LARGEST:
        return ""
    return file.read_text(encoding="utf-8", errors="replace")


def _motion_coordinates(text: str) -> list[str]:
    """Coordinates that the line `motion:` of a description names, without reading the rest."""
    line = re.search(r"(?m)^motion:\s*([^#\n]+)", text)
    if line is None:
        return []
    motion = line[1].strip()
    if motion.startswith("["):
        return [name.strip() for name in motion.strip("[]").split(",") if name.strip()]
    return re.findall(r"r[xyz]|[xyz]", motion.replace("se3", "xyz+rx+ry+rz"))
