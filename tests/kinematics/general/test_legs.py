"""Legs of the general form: rates and accelerations are those of the equivalent tree."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.general.models import legs_at
from nacelle.dynamics.state import state_at
from nacelle.kinematics.general.legs import merge, motion
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["fivebar", "3rrr", "3rps", "h4", "c5"])
def test_rates_and_accelerations(name: str) -> None:
    robot = any_robot(name)
    x, y = mechanism_of(robot).reference
    n = robot.motion.n
    v, a = np.cos(np.arange(n) + 1.0), np.sin(np.arange(n) + 1.0)
    state = state_at(robot, x, y, v)
    u_dot = state.moving.U @ a + state.moving.bias
    found = motion(legs_at(robot, x, y), v, a)
    assert found.u
    for rate, value in found.u.items():
        assert abs(float(value) - state.moving.u[rate]) < 1e-9
    for rate, value in found.u_dot.items():
        assert abs(float(value) - u_dot[rate]) < 1e-7


def test_lists_of_forces_add_up() -> None:
    into = {1: 2.0, 3: 1.0}
    assert merge(into, {3: 0.5, 4: -1.0}) == {1: 2.0, 3: 1.5, 4: -1.0}
