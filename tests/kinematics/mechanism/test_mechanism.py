"""The analysis of a robot: places of rates, what depends, what needs iteration; made once."""

from __future__ import annotations

import dataclasses

import pytest

from nacelle.kinematics.mechanism.mechanism import counting, mechanism_of
from support.turning_robots import four_bar, pendulum, telescope
from support.uncompiled import ALL, any_robot


@pytest.mark.parametrize("name", ALL)
def test_rates_of_the_nacelle_are_independent_dependent_or_zero(name: str) -> None:
    robot = any_robot(name)
    mechanism = mechanism_of(robot)
    assert len(mechanism.independent) == robot.motion.n
    assert set(mechanism.independent) <= set(mechanism.w_rates)
    assert set(mechanism.dependent) <= set(mechanism.w_rates)
    assert not set(mechanism.dependent) & set(mechanism.independent)
    assert mechanism.closed_form is (mechanism.ny == 0)
    x, y = mechanism.reference
    assert (len(x), len(y)) == (mechanism.layout.nx, mechanism.ny)
    # Rates of legs are those of their joints, each in one leg.
    listed = [rate for plan in mechanism.legs for rate in plan.rates]
    assert len(listed) == len(set(listed))
    assert mechanism.nw + len(listed) == robot.platform_nv + robot.nv


def test_made_once_for_the_same_numbers() -> None:
    robot = any_robot("fivebar")
    assert mechanism_of(dataclasses.replace(robot)) is mechanism_of(robot)
    assert mechanism_of(any_robot("fivebar-mirror")) is not mechanism_of(robot)


def test_angles_that_count_turns() -> None:
    """Of sprung joints that x does not give, that iteration does not find and that limits do not hold."""
    loop = counting(four_bar({"foot": (1.0, 0.0), "knee": (1.0, 0.0)}))
    assert mechanism_of(loop).counted == ((loop.joint("bars.foot"), 0),)
    for robot in (four_bar({"crank": (1.0, 0.0), "tip": (1.0, 0.0)}), telescope(), pendulum()):
        assert counting(robot) is robot
    held = telescope({"hip": (1.0, 0.0)}, {"hip": (0.0, 5.0)})
    assert counting(held) is held
    robot = telescope({"hip": (1.0, 0.4), "wrist": (1.0, 0.0)})
    moved = counting(robot)
    mechanism = mechanism_of(moved)
    assert (mechanism.counted, mechanism.ny, mechanism.closed_form) == (((0, 0), (2, 0)), 2, True)
    assert mechanism.reference[1].tolist() == [0.4, 0.0]
    assert (moved == robot, moved.described == robot, counting(moved) is moved) == (False, True, True)
    assert moved.to_yaml() == robot.to_yaml()
