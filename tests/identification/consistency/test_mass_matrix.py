"""Mass matrices of base parameters, against those of the robot."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.library import library_robot
from tests.support.noisy_estimates import states

import nacelle
from nacelle.identification.consistency.mass_matrix import least_inertia, mass_matrices


@pytest.mark.parametrize("name", ["fivebar", "delta", "3rps", pytest.param("h4", marks=pytest.mark.slow)])
def test_mass_matrices_of_the_description(name):
    robot = library_robot(name)
    base = nacelle.base_parameters(robot)
    x = states(robot, 5, 3)[0]
    M = nacelle.mass_matrix(robot, x)
    assert np.allclose(mass_matrices(base, base.values, x), M, rtol=1e-7, atol=1e-9 * np.max(np.abs(M)))
    assert np.allclose(least_inertia(base, 2.0 * base.values, x), 2.0)
    assert least_inertia(base, -base.values, x[0]) == pytest.approx(-1.0)
