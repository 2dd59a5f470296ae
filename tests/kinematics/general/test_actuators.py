"""Rates of actuators in the general form: the rows of the equivalent tree."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.models import legs_at
from nacelle.dynamics.state import state_at
from nacelle.kinematics.actuation import actuator_rows
from nacelle.kinematics.general.actuators import actuator_jacobian
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.compare import assert_same
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["fivebar", "delta", "gough-stewart", "3rps", "c5", "redundant"])
def test_rows_are_those_of_the_tree(name: str) -> None:
    robot = any_robot(name)
    x, y = mechanism_of(robot).reference
    state = state_at(robot, x, y, np.zeros(robot.motion.n))
    expected = actuator_rows(robot, state.now.motion) @ state.moving.U
    assert_same(np.asarray(actuator_jacobian(legs_at(robot, x, y)), dtype=float), expected, 1e-10)
