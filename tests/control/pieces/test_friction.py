"""Friction along the twist."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.control.pieces.friction import friction_along_twist
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.library import library_robot


def test_friction_does_the_work_of_the_forces_that_it_costs() -> None:
    robot = library_robot("fivebar")
    x, y = mechanism_of(robot).reference
    v, zero = np.array([0.3, -0.2]), np.zeros(2)
    costs = (
        nacelle.inverse_dynamics(robot, x, v, zero, smooth=1e-3).force
        - nacelle.inverse_dynamics(robot, x, v, zero, friction=False).force
    )
    assert np.linalg.norm(costs) > 0.0
    J = nacelle.jacobian(robot, x).inverse
    np.testing.assert_allclose(friction_along_twist(robot, x, y, v, 1e-3), J.T @ costs, rtol=1e-9)
