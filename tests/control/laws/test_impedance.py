"""Impedance of the platform: the stiffness that is stated is measured."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.control.laws.impedance import impedance_damping
from nacelle.control.named import controller
from nacelle.errors import KinematicsError
from nacelle.simulation.plant import RigidPlant
from support.control_loops import Loop, pushed, stiffness
from support.uncompiled import any_robot, by_time

T = 5e-4
# Stated stiffness, and loads on the platform along each coordinate.
CASES = {
    "fivebar": ((2e3, 300.0, 300.0, 5e3), {"x": 4.0, "y": 10.0}),
    "redundant": ((2e3, 5e3), {"x": 4.0, "y": 10.0}),
    "delta": ((3e3, 5e3, 8e3), {"x": 6.0, "y": 10.0, "z": 16.0}),
    "palida": (
        (2e4, 3e4, 4e4, 1500.0, 2e3, 2500.0),
        {"x": 40.0, "y": 60.0, "z": 80.0, "rx": 15.0, "ry": 20.0, "rz": 25.0},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", by_time(CASES, long=("redundant", "delta", "palida")))
def test_the_stiffness_is_the_stated_one(name: str) -> None:
    robot = any_robot(name)
    stated, loads = CASES[name]
    n = robot.motion.n
    own = controller(robot, "impedance", period=T, delay=T / 2.0, damping=0.7, stiffness=stated)
    K = np.diag(stated) if len(stated) == n else np.reshape(stated, (n, n))
    measured = stiffness(Loop(own, T / 2.0), loads, 0.6)
    np.testing.assert_allclose(measured, K, atol=1e-3 * np.min(np.diag(K)), rtol=1e-3)


def test_a_push_is_answered_by_mass_damper_and_spring() -> None:
    """The way to the place where a push leads, against the linear system M, D, K."""
    from scipy.linalg import expm

    robot = any_robot("fivebar")
    own = controller(robot, "impedance", period=T, damping=0.5, stiffness=(2e3, 5e3))
    loop = Loop(own)
    plant = RigidPlant(robot, friction=False, external=pushed(robot, "x", 2.0))
    way = -loop.errors(loop.run(0.1, plant=plant), loop.rows(0.1))
    M = nacelle.mass_matrix(robot, loop.reference[0])
    K, D = (own.gain(part).reshape(2, 2) for part in ("stiffness", "damping"))
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    end = np.linalg.solve(K, [2.0, 0.0])
    expected = np.array(
        [end + (expm(T * k * A) @ np.concatenate([-end, np.zeros(2)]))[:2] for k in range(len(way))]
    )
    np.testing.assert_allclose(way, expected, atol=0.03 * np.max(np.abs(end)))


def test_dampers_give_every_mode_its_ratio() -> None:
    rng = np.random.default_rng(3)
    M, K = (root @ root.T + np.eye(4) for root in rng.normal(size=(2, 4, 4)))
    D = impedance_damping(M, K, np.array(0.6))
    A = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    s = np.linalg.eigvals(A)
    np.testing.assert_allclose(-s.real / np.abs(s), 0.6, rtol=1e-9)
    ratios, m, k = np.array([0.3, 0.9]), np.diag([2.0, 3.0]), np.diag([50.0, 20.0])
    np.testing.assert_allclose(
        impedance_damping(m, k, ratios), np.diag(2.0 * ratios * np.sqrt(np.diag(k) * np.diag(m))), atol=1e-12
    )


def test_springs_that_push_are_refused() -> None:
    robot = any_robot("fivebar")
    with pytest.raises(KinematicsError, match="positive definite"):
        controller(robot, "impedance", stiffness=(2e3, -1.0))
    with pytest.raises(KinematicsError, match="2 numbers, or 4"):
        controller(robot, "impedance", stiffness=(2e3, 1e3, 1e3))
    with pytest.raises(KinematicsError, match="one damping ratio or 2"):
        controller(robot, "impedance", ratios=(1.0, 1.0, 1.0))
