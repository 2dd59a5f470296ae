"""The library of robots: YAML files with their sources, no algebra; `flexible` holds variants of them."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

from nacelle.errors import UnknownRobotError, did_you_mean


def names() -> tuple[str, ...]:
    """Names of the robots of the library, sorted."""
    return _in(files(__name__))


def flexible_names() -> tuple[str, ...]:
    """Names of the variants of them with flexible links, sorted."""
    return _in(files(__name__) / "flexible")


def all_names() -> tuple[str, ...]:
    """Names of all robots of the library, variants last."""
    return (*names(), *flexible_names())


def _in(folder: Traversable) -> tuple[str, ...]:
    return tuple(sorted(f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")))


def text(name: str) -> str:
    """Text of the YAML file of a robot of the library.

    Raises:
        UnknownRobotError: with the nearest name, if no robot has that name.
    """
    if name not in all_names():
        raise UnknownRobotError(f"no robot is called {name!r}; {did_you_mean(name, all_names())}")
    folder = files(__name__) if name in names() else files(__name__) / "flexible"
    return (folder / f"{name}.yaml").read_text(encoding="utf-8")
