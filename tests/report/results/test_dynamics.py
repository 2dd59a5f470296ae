"""Quantities of dynamic results are their numbers."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.report.results.dynamics import inverse_dynamics, regressor
from support.library import library_robot


def test_forces_by_both_forms() -> None:
    robot = library_robot("fivebar")
    x = nacelle.reference_pose(robot)
    (forces,) = inverse_dynamics(nacelle.inverse_dynamics(robot, x))
    (linear,) = regressor(nacelle.regressor(robot, x))
    np.testing.assert_allclose(forces.values, linear.values, rtol=1e-9)
    assert forces.units == ("N m", "N m")
