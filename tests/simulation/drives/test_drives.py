"""Numbers of drives: one for all actuators or one for each, and what cannot be used."""

from __future__ import annotations

import math

import numpy as np
import pytest

import nacelle
from nacelle.simulation.drives.drives import Cogging, DriveNumbers, Drives
from nacelle.simulation.drives.lugre import LuGre
from support.cart import cart
from support.library import library_robot

FRICTION = LuGre(0.1, 0.15, 0.01, 1000.0)


def test_one_for_all_or_one_for_each() -> None:
    robot = library_robot("fivebar")
    same = Drives(lag=1e-3, limits=5, cogging=(0.1, 40, 0.2), stiction=FRICTION)
    each = Drives(
        lag=[1e-3, 1e-3],
        limits=np.array([5.0, 5.0]),
        cogging=[(0.1, 40, 0.2)] * 2,
        stiction=[FRICTION, FRICTION],
    )
    assert same.numbers(robot) == each.numbers(robot)
    assert same.numbers(robot) == DriveNumbers(
        (1e-3, 1e-3), (5.0, 5.0), (Cogging(0.1, 40.0, 0.2),) * 2, (FRICTION, FRICTION)
    )
    assert hash(same.numbers(robot)) == hash(each.numbers(robot))


def test_states_are_only_where_there_is_something() -> None:
    robot = library_robot("fivebar")
    assert Drives().numbers(robot).states == 0
    numbers = Drives(lag=[0.0, 1e-3], stiction=[FRICTION, None]).numbers(robot)
    assert numbers.lagged == [1]
    assert numbers.bristled == [(0, FRICTION)]
    assert numbers.states == 2
    assert Drives(cogging=(0.0, 40.0, 0.0)).numbers(robot).cogging == ()


def test_bandwidth_is_a_lag() -> None:
    robot = library_robot("fivebar")
    assert Drives(bandwidth=[100.0, math.inf]).numbers(robot).lag == (1.0 / (200.0 * math.pi), 0.0)


def test_limits_are_those_of_the_description_unless_others_are_given() -> None:
    robot = library_robot("fivebar")
    assert Drives().numbers(robot).limit == tuple(a.force for a in robot.actuators) == (12.0, 12.0)
    assert Drives().numbers(cart()).limit == (math.inf,)
    for none in (None, math.inf):
        assert Drives(limits=none).numbers(robot).limit == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lag": -1e-3}, "the lag of the current loops is not negative"),
        ({"lag": "fast"}, "the lag of the current loops is a number, or one for each actuator"),
        ({"bandwidth": 0.0}, "is above 0 Hz"),
        ({"lag": 1e-3, "bandwidth": 100.0}, "a lag or a bandwidth"),
        ({"limits": -1.0}, "force limits are above zero"),
        ({"limits": "none"}, "the force limit is a number"),
        ({"cogging": (0.1, 40.0)}, r"cogging is \(amplitude, cycles, phase\)"),
        ({"stiction": 0.1}, r"stiction is a LuGre\("),
    ],
)
def test_mistakes(given: dict, words: str) -> None:
    with pytest.raises(nacelle.KinematicsError, match=words):
        Drives(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"lag": [1e-3]},
        {"bandwidth": [1.0] * 3},
        {"limits": [1.0] * 3},
        {"cogging": [(1.0, 2.0, 3.0)]},
        {"stiction": [None]},
    ],
)
def test_numbers_that_do_not_fit_the_robot(given: dict) -> None:
    with pytest.raises(nacelle.KinematicsError, match="one for each of the 2 actuators of fivebar"):
        Drives(**given).numbers(library_robot("fivebar"))
