"""The robots of the library, each loaded once."""

from __future__ import annotations

from functools import cache

import nacelle
from nacelle.model.robot import Robot

NAMES = tuple(nacelle.robot_names())


@cache
def library_robot(name: str) -> Robot:
    """A robot of the library; robots are frozen, so tests may share them."""
    return nacelle.load(name)
