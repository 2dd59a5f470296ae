"""Rates of actuators, in the tree and where they close a loop, against differences of their coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.dynamics.state import state_at
from nacelle.kinematics.actuation import actuator_biases, actuator_rows
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.stress_robots import STRESS
from support.uncompiled import solve_uncompiled


@pytest.mark.parametrize("name", ["drives, springs and rotors at closures", "sprung five-bar"])
def test_rates_and_accelerations(name: str) -> None:
    """Along x + t v the acceleration is the bias."""
    robot = STRESS[name](1)
    x0 = mechanism_of(robot).reference[0]
    assert len(x0) == robot.motion.n, "no quaternion, so that x moves in a straight line"
    v = np.random.default_rng(2).normal(size=robot.motion.n)

    h = 1e-4
    x = x0 + h * np.arange(-2.0, 3.0)[:, None] * v
    states = [state_at(robot, *row, v) for row in zip(x, solve_uncompiled(robot, x), strict=True)]
    q = [[s.now.coordinate(actuator.joint, 0) for actuator in robot.actuators] for s in states]
    rates = [actuator_rows(robot, s.now.motion) @ s.moving.u for s in states]
    slopes = [
        np.tensordot([1.0, -8.0, 0.0, 8.0, -1.0], np.array(values), 1) / (12.0 * h) for values in (q, rates)
    ]
    np.testing.assert_allclose(rates[2], slopes[0], rtol=0, atol=1e-8)
    now = states[2]
    found = actuator_biases(robot, now.now.motion, now.moving.velocity, now.moving.bias)
    np.testing.assert_allclose(np.array(found, dtype=float), slopes[1], rtol=0, atol=1e-7)
