"""Robots whose elements are shown on a page."""

from __future__ import annotations

from nacelle.model.robot import Robot
from support.library import NAMES
from support.random_robots.legs import CASES
from support.uncompiled import any_robot

COVERED = tuple(name for name in NAMES if name != "dymo")
SOME_CASES = (
    "6 UPS with an offset slide",
    "6 RRPS",
    "6 PRRS",
    "3 RRPaR",
    "3 P[US|US]",
    "planar RRR + PRR + RPR",
    "3 UPU",
)


def robot_of(name: str) -> Robot:
    return any_robot(name) if name in COVERED else CASES[name](3).robot
