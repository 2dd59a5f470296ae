"""Parameters moved within physics: consistent bodies, equal legs."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.dynamics.base_parameters.moved import moved
from nacelle.errors import IdentificationError
from support.library import library_robot
from support.stress_robots import STRESS


def pseudo_inertia(p: np.ndarray) -> np.ndarray:
    """The 4 x 4 matrix of a body's ten parameters that is positive definite if there is such a body."""
    m, h = p[0], p[1:4]
    inertia = np.array([[p[4], p[5], p[7]], [p[5], p[6], p[8]], [p[7], p[8], p[9]]])
    sigma = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return np.block([[sigma, h[:, None]], [h[None], np.array([[m]])]])


@pytest.mark.parametrize("name", ["palida", "delta", "quattro", "driven"])
def test_parameters_move_within_physics(name: str) -> None:
    robot = STRESS["drives, springs and rotors at closures"](0) if name == "driven" else library_robot(name)
    own = nacelle.linear_parameters(robot).values
    parameters = nacelle.linear_parameters(moved(robot, 30.0, seed=2))
    count = len(robot.parameter_names("inertia")) // 10
    for k in range(count):
        before, after = own[10 * k : 10 * k + 10], parameters.values[10 * k : 10 * k + 10]
        least = np.linalg.eigvalsh(pseudo_inertia(after))[0]
        assert least >= 0.6 * min(0.0, np.linalg.eigvalsh(pseudo_inertia(before))[0]) - 1e-12
    ratios = parameters.values[own != 0.0] / own[own != 0.0]
    assert 0.7 <= ratios.min() < 0.95
    assert 1.05 < ratios.max() <= 1.3
    assert moved(robot, 30.0, seed=2).hash != moved(robot, 30.0, seed=3).hash


def test_springs_keep_their_rest() -> None:
    robot = STRESS["drives, springs and rotors at closures"](0)
    pairs = zip(robot.joints, moved(robot, 20.0).joints, strict=True)
    rests = [
        (a.rest, b.rest) for one, two in pairs for a, b in zip(one.springs, two.springs, strict=True) if a
    ]
    assert rests
    for before, after in rests:
        assert after == pytest.approx(before, rel=1e-12)


def test_legs_that_are_alike_stay_so() -> None:
    robot = library_robot("palida")
    parameters = nacelle.linear_parameters(robot)
    for alike in (False, True):
        values = nacelle.linear_parameters(moved(robot, alike=alike)).values
        same = [
            np.array_equal(parameters.values[k : k + 10], parameters.values[j : j + 10])
            == np.array_equal(values[k : k + 10], values[j : j + 10])
            for k in range(0, 180, 10)
            for j in range(0, 180, 10)
            if np.any(parameters.values[k : k + 10])
        ]
        assert all(same) == alike


def test_factors_are_above_zero() -> None:
    with pytest.raises(IdentificationError, match="per cent"):
        moved(library_robot("fivebar"), 100.0)
