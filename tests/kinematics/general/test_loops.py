"""Loops of the nacelle itself: rows that the tree's rates satisfy, and their second derivatives."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.state import state_at
from nacelle.kinematics.general.loops import nacelle_loops
from nacelle.kinematics.general.nacelle import nacelle_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.uncompiled import any_robot


def test_rates_and_accelerations_close_the_loop() -> None:
    """The Quattro's nacelle, whose four parts are joined in a ring."""
    robot = any_robot("quattro")
    x, y = mechanism_of(robot).reference
    n = robot.motion.n
    v, a = np.random.default_rng(0).normal(size=(2, n))
    state = state_at(robot, x, y, v)
    nacelle = nacelle_at(state.now)
    loops = nacelle_loops(robot, nacelle)
    assert loops
    u, u_dot = state.moving.u, state.moving.U @ a + state.moving.bias
    w, w_dot = ({rate: float(values[rate]) for rate in nacelle.moving} for values in (u, u_dot))
    frames = nacelle.frames(w, w_dot, np.zeros(3))
    largest = 0.0
    for loop in loops:
        for row in loop.tie.rows:
            parts = [float(value) * w[rate] for rate, value in loop.coefficients(nacelle, row).items()]
            assert abs(sum(parts)) < 1e-10
            largest = max(largest, *np.abs(parts))
        # With the accelerations of a closed motion nothing is left over.
        np.testing.assert_allclose(np.array(loop.second(frames), dtype=float), 0.0, atol=1e-8)
    assert largest > 1e-2
    # Another acceleration of one rate is felt by its coefficient.
    for rate in nacelle.moving:
        other = nacelle.frames(w, {**w_dot, rate: w_dot[rate] + 1.0}, np.zeros(3))
        for loop in loops:
            expected = [float(loop.coefficients(nacelle, row).get(rate, 0.0)) for row in loop.tie.rows]
            np.testing.assert_allclose(np.array(loop.second(other), dtype=float), expected, atol=1e-8)
