"""Terms of the balance: locks take no power in motions that the joints allow."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.operating_point import OperatingPoint
from nacelle.dynamics.reactions.equations import idle_spins, lock_wrenches, reaction_terms
from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["fivebar", "delta", "3rps"])
def test_locks_do_no_work(name: str) -> None:
    """Wrench times relative twist is zero at every closure, for all motions of the robot."""
    robot = any_robot(name)
    x, y = mechanism_of(robot).reference
    v = np.cos(np.arange(robot.motion.n) + 1.0)
    state = state_at(robot, x, y, v)
    wrenches = np.asarray(lock_wrenches(robot, state.now.motion), dtype=float)
    twists, k = state.moving.velocity.twists, 0
    for joint in robot.closures:
        relative = twists[joint.successor] - twists[joint.predecessor]
        for _ in joint.locks:
            assert abs(wrenches[k] @ relative) < 1e-10
            k += 1
    assert len(wrenches) == k + len(idle_spins(robot))


def test_bodies_need_their_inertia_and_weight() -> None:
    """About the base's origin a resting body needs -m g and its moment."""
    robot = any_robot("delta")
    x, y = mechanism_of(robot).reference
    zero = np.zeros(3)
    point = OperatingPoint(x, y, zero, zero, zero)
    terms = reaction_terms(robot, np.zeros((len(robot.bodies), 6)), *point)
    needs = np.asarray(terms["needs"], dtype=float)
    weight = -np.outer([body.mass for body in robot.bodies], robot.gravity)
    np.testing.assert_allclose(needs[1:, :3], weight[1:], atol=1e-12)
