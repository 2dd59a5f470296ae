"""Loops as another engine sees them: closed at our states, their rates zero, axes as our joints."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.verify.engines.pinocchio import build
from nacelle.verify.loops import closure_at_state, skew
from nacelle.verify.ours import kinematics
from nacelle.verify.states import random_states
from support.library import library_robot


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("name", ["fivebar", "3rps"])
def test_closures_forbid_what_our_states_do_not_do(name: str) -> None:
    robot = library_robot(name)
    states = random_states(robot, 3, 1)
    ours, engine = kinematics(robot, states), build(robot)
    for k in range(3):
        state = ours.tree_state(k, states)
        now = engine.at(state)
        for joint in robot.closures:
            found = closure_at_state(robot, joint, now, state.u)
            assert np.max(np.abs(found.gap)) < 1e-9
            np.testing.assert_allclose(found.forbidden @ state.u, 0.0, atol=1e-8 * np.max(np.abs(state.u)))
            left = found.forbidden @ state.u_dot + found.bias
            np.testing.assert_allclose(left, 0.0, atol=1e-6 * max(1.0, float(np.max(np.abs(state.u_dot)))))
            # Six motions in all: those that are forbidden and those of its axes.
            freedoms = sum(len(axis.rows) for axis in found.axes) + (3 if joint.at_point else 0)
            assert len(found.forbidden) + freedoms == 6


def test_skew_is_the_cross_product() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 3))
    np.testing.assert_allclose(skew(a) @ b, np.cross(a, b))
