from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.view.session import Session, Standing


def test_a_robot_follows_and_stays_at_the_last_pose_it_can_take() -> None:
    session = Session(nacelle.load("fivebar"))
    near = session.x + [0.03, -0.02]
    assert session.move(near).standing is Standing.GOOD
    np.testing.assert_allclose(session.platform.p[:2], near, atol=1e-12)
    far = near + [1.0, 0.0]
    verdict = session.move(far)
    assert verdict.standing is Standing.OUT
    assert "left" in verdict.words
    np.testing.assert_array_equal(session.x, near)
    ghost = session.ghost()
    assert ghost is not None
    np.testing.assert_allclose(ghost.p[:2], far)
    assert session.move(near).standing is Standing.GOOD
    assert session.ghost() is None


def test_limits_are_named_and_can_be_left_aside() -> None:
    robot = nacelle.load("gough-stewart")
    session = Session(robot)
    low, high = robot.actuators[0].position
    x = session.x.copy()
    x[2] += high - low
    words = session.move(x).words
    assert words.startswith("beyond limits: ")
    assert f"limits {low * 1e3:.1f} mm to {high * 1e3:.1f} mm" in words
    assert "leg1.drive" in words
    session.limits = False
    assert session.move(x).standing is not Standing.OUT
    assert session.platform.p[2] == pytest.approx(x[2])


def test_near_a_stretched_leg_it_says_which() -> None:
    """Along a ray the last pose before the boundary has a leg that is nearly straight."""
    robot = nacelle.load("fivebar")
    session = Session(robot, limits=False)
    good, bad = session.x, session.x + [0.5, 0.0]
    for _ in range(40):
        middle = 0.5 * (good + bad)
        reached = nacelle.inverse_kinematics(robot, [middle], limits=False).reachable[0]
        good, bad = (middle, bad) if reached else (good, middle)
    verdict = session.move(good + 1e-6 * (session.x - good))
    assert verdict.standing is Standing.NEAR
    assert verdict.nearest.startswith("serial (")
    assert 0.0 < verdict.measure < 1e-2


def test_parasitic_coordinates_follow() -> None:
    session = Session(nacelle.load("3rps"))
    dependent = session.dependent()
    assert {"x", "y"} <= dependent.keys()
    for k, name in enumerate(("x", "y")):
        value, unit = dependent[name]
        assert unit == "mm"
        assert value == pytest.approx(1e3 * session.platform.p[k], abs=1e-9)


def test_what_is_no_pose_is_said() -> None:
    session = Session(nacelle.load("fivebar"))
    assert session.move([np.nan, 0.0]).standing is Standing.OUT
    assert "2 numbers" in session.move([0.0, 0.0, 0.0]).words
