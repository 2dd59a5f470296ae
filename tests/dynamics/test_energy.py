"""Energies: gravity is the gradient of the potential."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from support.library import library_robot


def test_gravity_is_the_gradient_of_the_potential() -> None:
    robot = library_robot("gough-stewart")
    x = nacelle.reference_pose(robot)
    g = nacelle.gravity_forces(robot, x)
    for k in range(3):
        step = np.zeros(7)
        step[k] = 1e-4
        slope = (nacelle.potential_energy(robot, x + step) - nacelle.potential_energy(robot, x - step)) / 2e-4
        assert slope == pytest.approx(g[k], rel=1e-7)
    still = nacelle.inverse_dynamics(robot, x, friction=False).force
    np.testing.assert_allclose(nacelle.gravity_forces(robot, x, coordinates="actuators"), still, rtol=1e-11)
