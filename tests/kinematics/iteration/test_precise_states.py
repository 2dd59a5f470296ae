"""States with many digits: near those in double, loops closed to the digits that are asked for."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from nacelle.kinematics.general.plan import plan_of
from nacelle.kinematics.iteration.precise_states import PreciseStates, open_loops
from nacelle.program.precise import exact
from support.library import library_robot


@pytest.mark.parametrize("digits", [30, 50])
def test_loops_are_closed_to_so_many_digits(digits: int) -> None:
    robot = library_robot("3rps").alike
    states = PreciseStates(robot, digits=digits)
    for x, y in plan_of(robot).samples[:2]:
        state = states.at(x, y)
        assert state is not None
        assert max(abs(gap) for gap in exact(states.program(open_loops), [*state[1], *state[0]])) < Decimal(
            10
        ) ** -(digits - 4)
        np.testing.assert_array_equal([float(value) for value in state[0]], x)
        np.testing.assert_allclose([float(value) for value in state[1]], y, rtol=0.0, atol=1e-12)


def test_quaternions_have_unit_length() -> None:
    robot = library_robot("hexaglide").alike
    states = PreciseStates(robot)
    place = states.mechanism.layout.quaternion
    assert place is not None
    state = states.at(*plan_of(robot).samples[3])
    assert state is not None
    assert abs(sum(value * value for value in state[0][place]) - 1) < Decimal("1e-26")


def test_loops_that_do_not_close_give_none() -> None:
    robot = library_robot("3rps").alike
    x, y = plan_of(robot).samples[1]
    assert PreciseStates(robot).at(x + np.array([10.0, 0.0, 0.0]), y) is None
