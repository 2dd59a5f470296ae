"""Forward dynamics at the public API: M a + h = A^T tau, energies, and both kinds of coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics import forward
from nacelle.dynamics.poses import sample_poses
from support.uncompiled import any_robot


@pytest.mark.parametrize("name", ["fivebar", "redundant"])
def test_equation_of_motion(name: str) -> None:
    robot = any_robot(name)
    x = sample_poses(robot, 3, seed=5)
    rng = np.random.default_rng(1)
    v = rng.normal(size=(3, robot.motion.n)) * 0.2
    tau = rng.normal(size=(3, len(robot.actuators)))
    a = forward.forward_dynamics(robot, x, v, tau).acceleration
    M, h = forward.mass_matrix(robot, x), forward.bias_forces(robot, x, v)
    A = nacelle.jacobian(robot, x).inverse
    left = np.einsum("kij,kj->ki", M, a) + h
    np.testing.assert_allclose(left, np.einsum("kji,kj->ki", A, tau), atol=1e-9 * np.abs(tau).max())
    kinetic = 0.5 * np.einsum("ki,kij,kj->k", v, M, v)
    np.testing.assert_allclose(forward.kinetic_energy(robot, x, v), kinetic, rtol=1e-10)


def test_gravity_is_the_slope_of_the_potential_energy() -> None:
    robot = any_robot("fivebar")
    x, h = sample_poses(robot, 2, seed=6), 1e-5
    steps = h * np.eye(2)[:, None]
    slope = (forward.potential_energy(robot, x + steps) - forward.potential_energy(robot, x - steps)) / (
        2 * h
    )
    np.testing.assert_allclose(forward.gravity_forces(robot, x), slope.T, rtol=1e-6)
    J = nacelle.jacobian(robot, x).direct
    on_actuators = forward.gravity_forces(robot, x, coordinates="actuators")
    np.testing.assert_allclose(on_actuators, np.einsum("kji,kj->ki", J, slope.T), rtol=1e-5)
