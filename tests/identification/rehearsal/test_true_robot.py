"""Robots that differ from their model: friction by its formula."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import IdentificationError
from nacelle.identification.rehearsal import with_stribeck
from support.library import library_robot


def test_stribeck_is_a_part_of_coulomb() -> None:
    """Where it does not fall off it is more of it, and far beyond its rate there is none."""
    robot = library_robot("fivebar")
    parameters = nacelle.linear_parameters(robot)
    factors = np.array([1.5 if name.endswith(".coulomb") else 1.0 for name in parameters.names])
    stronger = nacelle.with_linear_parameters(robot, parameters.values * factors)
    state = nacelle.reference_pose(robot), np.array([0.4, -0.3])
    for rate, like in ((1e6, stronger), (1e-3, robot)):
        force = nacelle.inverse_dynamics(with_stribeck(robot, 0.5, rate), *state).force
        np.testing.assert_allclose(force, nacelle.inverse_dynamics(like, *state).force, rtol=1e-9)
    assert np.any(factors > 1.0)


def test_errors() -> None:
    robot = library_robot("fivebar")
    with pytest.raises(IdentificationError, match="Stribeck"):
        with_stribeck(robot, 0.1, 0.0)
