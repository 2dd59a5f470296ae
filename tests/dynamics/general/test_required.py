"""Wrenches carried to the base: their power along the rates is that on the bodies themselves."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.general.models import along_twist
from nacelle.dynamics.general.required import Required, inward
from nacelle.kinematics.general.legs import motion
from support.compare import assert_same
from support.general_states import after, loaded, sampled, twists

H = 1e-5


def test_power_of_forces_on_links() -> None:
    """Forces at points of the links of a 3-RRR robot; velocities by differences of the tree's poses."""
    robot = loaded("3rrr")
    legs, x, _ = sampled(robot)
    v, a = twists(robot)
    trees, u = legs.placed.trees, motion(legs, v, a).u
    ahead, behind = (after(robot, x, v, a, s * H).motion.poses for s in (1.0, -1.0))
    rng = np.random.default_rng(1)
    into, power = Required(legs.placed), 0.0
    for body, (node, frame) in trees.place.items():
        if not node:
            continue
        force, moment, point = rng.normal(size=(3, 3))
        into.on_node(node, force, moment, frame.p + frame.R @ point)
        R = (ahead[body].R + behind[body].R) / 2.0 @ frame.R.T
        velocity = (ahead[body].p + ahead[body].R @ point - behind[body].p - behind[body].R @ point) / (2 * H)
        W = (ahead[body].R - behind[body].R) / (2 * H) @ behind[body].R.T
        power += (R @ force) @ velocity + (R @ moment) @ [W[2, 1], W[0, 2], W[1, 0]]
    gamma = inward(into)
    assert abs(sum(float(value) * float(u[rate]) for rate, value in gamma.items()) - power) < 1e-6
    assert abs(np.array(along_twist(legs, into), dtype=float) @ v - power) < 1e-6
    assert abs(power) > 0.1


def test_forces_at_a_tie_add_up() -> None:
    legs, *_ = sampled(loaded("3rrr"))
    into, e = Required(legs.placed), np.eye(3)
    into.on_tie((0, 0), e[0])
    into.on_tie((0, 0), e[1], e[2])
    assert_same(into.at_tie[0, 0][0], e[0] + e[1], 0.0)
    assert_same(into.at_tie[0, 0][1], e[2], 0.0)
    # A force on the base moves nothing.
    into.on_node(0, e[0])
    assert not into.force
