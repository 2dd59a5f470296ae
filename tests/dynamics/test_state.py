"""A state of motion: twist and bias of the tree at a pose."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


def test_rates_close_the_loops() -> None:
    """U v has the reduced twist at its places, and both bodies at a closure move alike there."""
    robot = any_robot("fivebar")
    mechanism = mechanism_of(robot)
    x, y = mechanism.reference
    v = np.array([0.3, -0.4])
    state = state_at(robot, x, y, v)
    np.testing.assert_allclose(state.moving.u[list(mechanism.independent)], v, atol=1e-15)
    np.testing.assert_allclose(state.moving.U @ v, state.moving.u, atol=1e-14)
    assert state.robot is robot
    assert state.mechanism is mechanism
    end = state.now.motion.poses[1].p
    for leg in robot.legs:
        twist = state.moving.velocity.twists[leg.bodies[-1]]
        np.testing.assert_allclose((twist[:3] + np.cross(twist[3:], end))[:2], v, atol=1e-13)
    assert np.all(np.asarray(state.margins(), dtype=float) > 0.0)
