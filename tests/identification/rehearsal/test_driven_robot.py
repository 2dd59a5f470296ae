"""A robot with its drives as a plant: the rigid robot's flow, lag of currents, cogging, memory."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.identification.rehearsal.driven_robot import DrivenRobot
from support.library import library_robot

ROBOT = library_robot("fivebar")
X = nacelle.reference_pose(ROBOT)
V = np.array([0.3, -0.2])


def test_without_lag_commands_are_forces() -> None:
    plant = DrivenRobot(ROBOT, smooth=0.05)
    s = plant.state(X, V)
    u = np.array([0.4, -0.3, 1.5, -2.5])
    change = plant.derivatives(s[None], u[None])[0]
    a = nacelle.forward_dynamics(ROBOT, X, V, u[:2], smooth=0.05).acceleration
    np.testing.assert_allclose(change[:4], [*V, *a], rtol=1e-9)
    np.testing.assert_array_equal(change[plant.rigid.size :], [1.5, -2.5, 0.0, 0.0])
    assert plant.power(s, u) == pytest.approx(
        u[:2] @ nacelle.joint_motion(ROBOT, X, V).actuators[1], rel=1e-10
    )


def test_lag_and_cogging() -> None:
    cogging = ((0.2, 40.0, 0.3), (0.1, 30.0, 0.0))
    first = np.array([0.7, 0.1])
    plant = DrivenRobot(ROBOT, smooth=0.05, lag=0.002, cogging=cogging, first_force=first)
    s = plant.state(X, V)
    u = np.array([1.0, -1.0, 0.0, 0.0])
    change = plant.derivatives(s[None], u[None])[0]
    q = nacelle.inverse_kinematics(ROBOT, X).actuators
    pull = np.array([0.2 * np.sin(40.0 * q[0] + 0.3), 0.1 * np.sin(30.0 * q[1])])
    np.testing.assert_allclose(plant.cogging_at(q), pull, rtol=1e-14)
    a = nacelle.forward_dynamics(ROBOT, X, V, first + pull, smooth=0.05).acceleration
    np.testing.assert_allclose(change[2:4], a, rtol=1e-9)
    np.testing.assert_allclose(change[-2:], (u[:2] - first) / 0.002, rtol=1e-12)
    np.testing.assert_array_equal(plant.motor_forces(s, u), first)
    assert plant.inputs == 4
    assert plant.size == len(s)
