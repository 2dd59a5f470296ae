"""Body by body: mass matrix and gravity are those of energies."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.formulations import bodies, tree
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.compare import assert_same
from support.element_robots import general, samples
from support.uncompiled import any_robot


def test_force_mass_matrix_and_gravity() -> None:
    robot = general("delta")
    for state, a, settings in samples(robot):
        assert_same(
            bodies.generalised_force(state, a, settings), tree.generalised_force(state, a, settings), 1e-11
        )
        zero = np.zeros(len(a))
        M = np.stack(
            [
                tree.generalised_force(state, e, settings) - tree.generalised_force(state, zero, settings)
                for e in np.eye(len(a))
            ],
            axis=1,
        )
        assert_same(bodies.mass_matrix(state), M, 1e-10)


def test_gravity_is_what_a_resting_robot_without_springs_needs() -> None:
    robot = any_robot("delta")
    x, y = mechanism_of(robot).reference
    state = state_at(robot, x, y, np.zeros(3))
    assert_same(bodies.gravity_force(state), tree.generalised_force(state, np.zeros(3), Settings()), 1e-12)
    # Twists of massive bodies are those of the reduced twist.
    for R, _, J in bodies.massive_bodies(state):
        assert J.shape == (6, 3)
        assert_same(R @ R.T, np.eye(3), 1e-12)
