"""The tree formulation: along the rates of a tree without loops it is Lagrange's equation."""

from __future__ import annotations

import numpy as np

from nacelle.dynamics.formulations import tree
from nacelle.dynamics.settings import Settings
from nacelle.dynamics.state import state_at
from nacelle.kinematics.mechanism.mechanism import mechanism_of
from support.compare import assert_same
from support.uncompiled import any_robot


def test_force_is_the_projection_of_the_tree() -> None:
    """F = U^T Gamma_tr ([KI2007] (1)), affine in the acceleration with a symmetric positive matrix."""
    robot = any_robot("delta")
    x, y = mechanism_of(robot).reference
    state = state_at(robot, x, y, np.array([0.2, -0.1, 0.3]))

    def force(a: np.ndarray) -> np.ndarray:
        return tree.generalised_force(state, a, Settings())

    a = np.array([1.0, 2.0, -0.5])
    u_dot = state.moving.U @ a + state.moving.bias
    assert_same(force(a), state.moving.U.T @ tree.tree_forces(state, u_dot, Settings()), 1e-13)
    M = np.stack([force(e) - force(np.zeros(3)) for e in np.eye(3)], axis=1)
    assert_same(force(a), M @ a + force(np.zeros(3)), 1e-11)
    assert_same(M, M.T, 1e-12)
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_a_point_mass_under_gravity() -> None:
    """All of a Delta's platform forces at rest add up to its weight and what the legs put on it."""
    robot = any_robot("delta-codourey")
    x, y = mechanism_of(robot).reference
    force = tree.generalised_force(state_at(robot, x, y, np.zeros(3)), np.zeros(3), Settings())
    platform = robot.bodies[1].mass * 9.81
    # The reference pose is symmetric: only the vertical force is left, at least that of the platform.
    assert abs(force[0]) < 1e-9 * platform
    assert abs(force[1]) < 1e-9 * platform
    assert abs(force[2]) > platform
