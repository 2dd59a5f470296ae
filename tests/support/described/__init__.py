"""Mechanisms beyond parallel robots: without a platform, on a free base, with motions that nothing drives."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import nacelle
from nacelle.model.read import read_text
from nacelle.model.robot import Robot

NAMES = ("arm", "biped", "carriage", "cart_pole", "digger", "gripper", "sprung_arm", "standing", "tied_arm")
COUPLED_NAMES = ("belt_fivebar", "ball_screws", "differential_wrist", "coupled_gripper", "tilting_table")
"""Belts, ball screws, a differential, a constant-velocity joint: mechanisms with coupled joints."""


@cache
def mechanism(name: str) -> Robot:
    """One of the mechanisms, by the name of its file."""
    return nacelle.load(Path(__file__).parent / f"{name}.yaml")


def description_text(name: str) -> str:
    """The text of one of the files."""
    return (Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8")


@cache
def all_kinds() -> Robot:
    """A small robot with everything that a file can hold, as it is written."""
    return read_text(description_text("all_kinds"), "all-kinds.yaml")[0]
