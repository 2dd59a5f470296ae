"""Redundant actuation: forces of least norm."""

from __future__ import annotations

import numpy as np

import nacelle
from support.uncompiled import any_robot
from support.uncompiled import path_states as states


def test_redundant_actuation() -> None:
    robot = any_robot("redundant")
    x, _, v, a = (array[0] for array in states(robot, np.array([0.3])))
    A = nacelle.jacobian(robot, x).inverse
    count, n = A.shape
    assert count > n
    least = nacelle.inverse_dynamics(robot, x, v, a)
    np.testing.assert_allclose(A.T @ least.force, least.generalised, rtol=1e-10)
    np.testing.assert_allclose(least.force, np.linalg.pinv(A.T) @ least.generalised, rtol=1e-9)
    weights = np.linspace(1.0, 3.0, count)
    weighted = nacelle.inverse_dynamics(robot, x, v, a, weights=weights).force
    W = np.diag(1.0 / weights)
    expected = W @ A @ np.linalg.solve(A.T @ W @ A, least.generalised)
    np.testing.assert_allclose(weighted, expected, rtol=1e-9)
    preload = np.arange(1.0, count + 1.0)
    held = nacelle.inverse_dynamics(robot, x, v, a, preload=preload).force
    inner = preload - A @ np.linalg.lstsq(A, preload, rcond=None)[0]
    np.testing.assert_allclose(held - least.force, inner, atol=1e-9)
    np.testing.assert_allclose(A.T @ held, least.generalised, rtol=1e-9)
