"""Inverse dynamics and regressor at an element state: as at its pose, with flags; wrong inputs."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.errors import KinematicsError
from support.compare import assert_same
from support.library import library_robot


def test_as_at_the_pose() -> None:
    robot = library_robot("fivebar")
    rng = np.random.default_rng(0)
    x = nacelle.reference_pose(robot) + 0.01 * rng.normal(size=(5, 2))
    v, a = rng.normal(size=(2, 5, 2))
    state = nacelle.element_state(robot, x, v, a)
    exact = nacelle.inverse_dynamics(robot, x, v, a, formulation="tree")
    found = nacelle.inverse_dynamics(robot, state)
    assert_same(found.force, exact.force, 1e-12)
    assert_same(found.x, x, 1e-12)
    assert np.array_equal(found.flags, exact.flags)
    Y = nacelle.regressor(robot, state)
    assert_same(Y.Y @ Y.parameters.values, exact.force, 1e-11)
    rigid = nacelle.inverse_dynamics(robot, state, friction=False).force
    assert_same(rigid, nacelle.inverse_dynamics(robot, x, v, a, friction=False).force, 1e-12)


def test_singularities_of_the_equation_are_reported() -> None:
    """Towards the pose where both distal bars are on one line A becomes singular: the margin falls."""
    robot = library_robot("fivebar")
    start = nacelle.reference_pose(robot)
    heights = np.linspace(0.0, -0.2, 21)
    x = np.stack([start[0] + 0.0 * heights, start[1] + heights], axis=1)
    exact = nacelle.inverse_dynamics(robot, x)
    reached = exact.flags == 0
    found = nacelle.inverse_dynamics(robot, nacelle.element_state(robot, x[reached]))
    assert np.count_nonzero(reached) > 3
    assert_same(found.force, exact.force[reached], 1e-11)
    order = np.argsort(exact.parallel_margin[reached])
    assert np.array_equal(np.argsort(found.parallel_margin), order)


def test_what_is_wrong_is_said() -> None:
    robot = library_robot("fivebar")
    state = nacelle.element_state(robot, nacelle.reference_pose(robot))
    with pytest.raises(KinematicsError, match="no twist v: it has its own rates"):
        nacelle.inverse_dynamics(robot, state, np.zeros(2))
    with pytest.raises(KinematicsError, match="no reference a_ref"):
        nacelle.regressor(robot, state, a_ref=np.zeros(2))
    with pytest.raises(KinematicsError, match="one of fivebar, not of prrrp"):
        nacelle.inverse_dynamics(library_robot("prrrp"), state)
