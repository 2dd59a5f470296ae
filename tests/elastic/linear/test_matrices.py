"""Compiled matrices against frames in numbers, and weights against the motion of the centre of mass."""

from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.elastic.extended import extended
from nacelle.elastic.linear.matrices import actuator_scale, matrices_at, place_of, weights
from nacelle.elastic.linear.state import undeformed_at
from nacelle.elastic.linear.subspace import rate_scales
from nacelle.errors import KinematicsError
from support.beam_points import mass_points
from support.flexible.references import flexible_robot
from support.flexible_robots import flexible


def test_compiled_matrices_are_those_of_the_frames() -> None:
    robot = flexible("fivebar")
    x = nacelle.reference_pose(robot)
    found = matrices_at(robot, np.stack([x, x + np.array([0.01, -0.02])]))
    for k in range(2):
        frames = undeformed_at(extended(robot), found.x[k], found.y[k]).frames()
        size = np.max(np.abs(found.M[k]))
        np.testing.assert_allclose(found.M[k], frames.mass_matrix(), atol=1e-13 * size)
        np.testing.assert_allclose(found.A[k], frames.constraints(), atol=1e-12)
        np.testing.assert_allclose(found.actuators[k], frames.actuator_rows(), atol=1e-12)
    assert np.all(np.linalg.eigvalsh(found.K) > -1e-9 * np.max(found.K))
    np.testing.assert_array_equal(found.rows(True)[:, -2:], found.actuators / actuator_scale(robot)[:, None])


def test_weights_are_the_rate_of_the_first_moment() -> None:
    """W r = d/dt sum m c, over bodies and points of bent beams."""
    robot = flexible("fivebar")
    own = extended(robot)
    x = nacelle.reference_pose(robot)
    state = undeformed_at(own, x, nacelle.inverse_kinematics(robot, x).y)
    unit, random = rate_scales(own), np.random.default_rng(0)
    state = state.moved(0.01 * unit * random.normal(size=len(unit)))
    direction, h = unit * random.normal(size=len(unit)), 1e-6
    ahead, behind = (mass_points(state.moved(k * h * direction).frames()) for k in (1.0, -1.0))
    change = (ahead[0] @ ahead[1] - behind[0] @ behind[1]) / (2.0 * h)
    np.testing.assert_allclose(weights(state.frames()) @ direction, change, atol=1e-8)


def test_places() -> None:
    robot = flexible_robot("delta-flexible")
    assert place_of(robot, None) == 1
    assert place_of(robot, "flange") >= len(robot.bodies)
    with pytest.raises(KinematicsError, match="no body or tool 'flang'"):
        place_of(robot, "flang")
