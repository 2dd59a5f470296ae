"""The robots of the library, each loaded once."""

from __future__ import annotations

from functools import cache
from typing import Any

import nacelle
from nacelle import robots
from nacelle.model.robot import Robot
from nacelle.model.source.yaml import read_yaml

NAMES = tuple(nacelle.robot_names())


@cache
def library_robot(name: str) -> Robot:
    """A robot of the library; robots are frozen, so tests may share them."""
    return nacelle.load(name)


@cache
def as_written(name: str) -> Any:
    """The description of a robot of the library as plain data; tests that change it copy it."""
    return read_yaml(robots.text(name), name).root.plain()


@cache
def in_full(name: str) -> Any:
    """The same in full and in SI units, as `to_yaml` writes it."""
    return read_yaml(library_robot(name).to_yaml(), name).root.plain()
