"""Rates of all axes against differences of their coordinates, in the tree and where loops are cut."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.joint_effort import rate_rows, rotors
from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from nacelle.model.joint import Primitive
from support.stress_robots import STRESS
from support.uncompiled import solve_uncompiled


def test_rates_are_those_of_the_coordinates() -> None:
    robot = STRESS["drives, springs and rotors at closures"](1)
    v, h = np.random.default_rng(4).normal(size=robot.motion.n), 1e-4
    x = mechanism_of(robot).reference[0] + h * np.arange(-2.0, 3.0)[:, None] * v
    states = [state_at(robot, *row, v) for row in zip(x, solve_uncompiled(robot, x), strict=True)]
    weights = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12.0 * h)
    compared = 0
    for index, joint in enumerate(robot.joints):
        rows = rate_rows(robot, states[2].now.motion, index)
        for number, primitive in enumerate(joint.primitives):
            if primitive is not Primitive.SPHERICAL:
                q = np.unwrap([float(state.now.coordinate(index, number)) for state in states])
                rate = float((rows[number] @ states[2].moving.u)[0])
                np.testing.assert_allclose(rate, weights @ q, rtol=0, atol=1e-8, err_msg=joint.name)
                compared += index >= robot.tree
    assert compared > 2
    assert all(inertia > 0.0 for _, inertia in rotors(robot))
