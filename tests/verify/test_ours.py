"""What nacelle says of states: rates and Jacobians agree with differences of its own poses."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.verify.ours import dynamics, kinematics
from nacelle.verify.states import random_states
from support.library import library_robot


@pytest.mark.usefixtures("uncompiled")
def test_rates_and_energies() -> None:
    robot = library_robot("fivebar")
    states = random_states(robot, 5, 0)
    ours = kinematics(robot, states)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", ours.U, states.v), ours.u, atol=1e-10)
    np.testing.assert_allclose(np.einsum("kij,kj->ki", ours.A, states.v), ours.actuators[1], atol=1e-10)
    h = 1e-6
    ahead, behind = (
        nacelle.inverse_kinematics(robot, states.x + k * h * states.v, limits=False) for k in (1.0, -1.0)
    )
    rates = (ahead.bodies.p - behind.bodies.p) / (2.0 * h)
    np.testing.assert_allclose(ours.twist[:, :, :3], rates, atol=1e-6)
    tree = ours.tree_state(2, states)
    np.testing.assert_array_equal(tree.platform.p, ours.p[2, 1])
    found = dynamics(robot, states)
    kinetic = 0.5 * np.einsum("ki,kij,kj->k", states.v, found.mass_matrix, states.v)
    np.testing.assert_allclose(found.kinetic, kinetic, rtol=1e-10)
    assert np.all(found.dissipation >= 0.0)
