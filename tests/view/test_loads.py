from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.view.loads import ACTUATORS, REACTIONS, largest_load, segments, state_loads
from nacelle.view.session import Session


def test_the_base_carries_the_weight() -> None:
    """Reactions of the joints on the base add up to the weight of all that moves."""
    robot = nacelle.load("gough-stewart")
    session = Session(robot)
    given = state_loads(robot, REACTIONS, session.bodies, session.x)
    on_base = [j for j, joint in enumerate(robot.joints) if joint.predecessor == 0]
    weight = 9.80665 * sum(body.mass for body in robot.bodies[1:])
    np.testing.assert_allclose(given.forces[on_base].sum(axis=0), [0.0, 0.0, weight], rtol=2e-3, atol=1e-9)
    assert [row.name for row in given.rows] == [joint.name for joint in robot.joints]
    assert largest_load(given)[0] == pytest.approx(max(row.force or 0.0 for row in given.rows))


def test_forces_of_struts_hold_the_platform_and_lie_along_them() -> None:
    robot = nacelle.load("gough-stewart")
    session = Session(robot)
    given = state_loads(robot, ACTUATORS, session.bodies, session.x)
    force = nacelle.inverse_dynamics(robot, session.x).force
    np.testing.assert_allclose([row.force for row in given.rows], force)
    assert all(row.moment is None for row in given.rows)
    np.testing.assert_allclose(np.linalg.norm(given.forces, axis=1), np.abs(force))
    lengths = nacelle.inverse_kinematics(robot, session.x).actuators
    feet = given.points - given.forces / force[:, None] * lengths[:, None]
    anchors = [joint.frame_predecessor.p for joint in robot.joints if joint.predecessor == 0]
    np.testing.assert_allclose(feet, anchors, atol=1e-9)


def test_torques_are_moments_and_what_is_not_determined_is_said() -> None:
    robot = nacelle.load("fivebar")
    session = Session(robot)
    given = state_loads(robot, ACTUATORS, session.bodies, session.x)
    assert all(row.force is None for row in given.rows)
    np.testing.assert_allclose(given.moments[:, :2], 0.0, atol=1e-15)
    none = state_loads(robot, ACTUATORS, session.bodies, np.array([5.0, 0.0]))
    assert "reach" in none.note
    assert largest_load(none) == (0.0, 0.0)


def test_arrows_have_the_length_of_the_scale() -> None:
    arrows = segments(np.ones((1, 3)), np.array([[0.0, 0.0, 10.0]]), 0.01)
    np.testing.assert_allclose(arrows, [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.1]]])
