"""One comparison of controllers of a five-bar that several tests look at."""

from __future__ import annotations

import pytest

import nacelle
from nacelle.control.compare import Comparison, compare
from nacelle.control.loop.closed_loop import LoopOptions
from nacelle.control.named import controller
from nacelle.model.robot import Robot
from nacelle.trajectory.paths import Circle

PERIOD = 1e-3


@pytest.fixture(scope="session")
def fivebar() -> Robot:
    return nacelle.load("fivebar")


@pytest.fixture(scope="session")
def turn(fivebar: Robot) -> Circle:
    """One turn of a circle, from rest to rest."""
    centre = nacelle.reference_pose(fivebar)
    return Circle(centre, 0.05, motion=fivebar.motion, speed=0.6, acceleration=6.0, timing="trapezoid")


@pytest.fixture(scope="session")
def comparison(fivebar: Robot, turn: Circle) -> Comparison:
    names = ("sj", "cf-rb", "cf-rb-friction")
    return compare(
        fivebar,
        [controller(fivebar, name, period=PERIOD) for name in names],
        turn,
        options=LoopOptions(settle=0.3),
    )
