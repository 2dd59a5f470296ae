"""The library of robots: YAML files with their sources, no algebra."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from nacelle.errors import UnknownRobotError, did_you_mean


def names() -> tuple[str, ...]:
    """Names of the robots of the library, sorted."""
    return tuple(sorted(f.name.removesuffix(".yaml") for f in files(__name__).iterdir() if _is_robot(f)))


def _is_robot(file: Traversable) -> bool:
    return file.name.endswith(".yaml")


def text(name: str) -> str:
    """Text of the YAML file of a robot of the library.

    Raises:
        UnknownRobotError: with the nearest name, if there is none of that name.
    """
    if name not in names():
        raise UnknownRobotError(f"no robot is called {name!r}; {did_you_mean(name, names())}")
    return (files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")
