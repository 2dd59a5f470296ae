"""Random states in the workspace: as many as wanted, reachable, well conditioned, the same for a seed."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.kinematics.jacobian import twist_units
from nacelle.verify.states import CONDITION, moved_poses, random_states
from support.uncompiled import any_robot


def test_states_can_be_compared() -> None:
    robot = any_robot("fivebar")
    states = random_states(robot, 30, 4)
    again = random_states(robot, 30, 4)
    assert np.array_equal(states.x, again.x)
    assert np.array_equal(states.external, again.external)
    assert states.v.shape == states.a.shape == (30, 2)
    assert np.all(states.condition < CONDITION)
    assert np.all(nacelle.inverse_kinematics(robot, states.x, limits=False).flags & 7 == 0)
    assert not np.any(states.external[:, 0])


def test_steps_along_the_twist() -> None:
    robot = any_robot("gough-stewart")
    assert twist_units(robot).tolist() == [robot.size] * 3 + [1.0] * 3
    x = nacelle.reference_pose(robot)
    step = np.array([0.01, 0.02, -0.01, 0.0, 0.0, 0.3])
    there = moved_poses(robot, x, step)
    np.testing.assert_allclose(there[:3], x[:3] + step[:3], atol=1e-15)
    assert abs(2.0 * np.arccos(abs(there[3:] @ x[3:])) - 0.3) < 1e-9
