"""Frequency response: against statics, rigid-body mechanics, and the modes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from support.flexible import prrrp


def test_slow_wrenches_meet_the_compliance() -> None:
    robot, x = prrrp.robot_at(0.0, 0.25)
    slow = nacelle.frequency_response(robot, x, [1e-3], source="P")
    np.testing.assert_allclose(slow.response[0], nacelle.compliance(robot, x), atol=1e-14)
    assert slow.inputs == ("fx", "fy", "fz", "nx", "ny", "nz")


def test_slow_forces_of_actuators_move_the_rigid_robot() -> None:
    """Far below the first mode x = -M^-1 J_r^-T tau / w^2 with the rigid robot's mass matrix."""
    robot, x = prrrp.robot_at(0.0, 0.25)
    w = 2.0 * np.pi * 0.01
    slow = nacelle.frequency_response(robot, x, [0.01]).response[0]
    J = nacelle.jacobian(robot, x).inverse
    rigid = -np.linalg.solve(nacelle.mass_matrix(robot, x), J.T) / w**2
    np.testing.assert_allclose(slow[[0, 2]], rigid, rtol=1e-5)


def test_it_is_the_sum_of_the_modes() -> None:
    """With damping proportional to stiffness H = sum of phi phi^T / (w_k^2 - w^2 + 2 i zeta w_k w)."""
    robot, x = prrrp.robot_at(0.0, 0.0)
    bodies = [
        dataclasses.replace(b, beam={"damping": {"rayleigh": {"mass": 0.0, "stiffness": 1e-5}}})
        if b.section
        else b
        for b in robot.bodies
    ]
    robot = dataclasses.replace(robot, bodies=tuple(bodies))
    modes = nacelle.natural_frequencies(robot, x)
    w_k = 2.0 * np.pi * modes.frequencies
    np.testing.assert_allclose(modes.damping, 1e-5 * w_k / 2.0, rtol=1e-6)
    grid = np.array([10.0, modes.frequencies[4], 300.0])
    found = nacelle.frequency_response(robot, x, grid, source="P").response
    phi = modes.displacement()
    w = 2.0 * np.pi * grid[:, None]
    gain = 1.0 / (w_k**2 - w**2 + 2j * modes.damping * w_k * w)
    np.testing.assert_allclose(found, np.einsum("ik,fk,jk->fij", phi, gain, phi), atol=1e-12)


def test_wrong_frequencies_are_refused() -> None:
    robot, x = prrrp.robot_at(0.0, 0.0)
    with pytest.raises(KinematicsError, match="above zero"):
        nacelle.frequency_response(robot, x, [0.0])
    with pytest.raises(KinematicsError, match="no body or tool"):
        nacelle.frequency_response(robot, x, [1.0], tool="gripper")
