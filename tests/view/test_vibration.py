from __future__ import annotations

import numpy as np

import nacelle
from nacelle.view.vibration import SHOWN, Shaking, lowest_modes


def test_a_mode_moves_the_platform_along_its_displacement() -> None:
    robot = nacelle.load("fivebar-flexible")
    x = nacelle.reference_pose(robot)
    given = lowest_modes(robot, x)
    assert given.modes is not None
    assert given.labels[0].startswith("1: ")
    shaking = Shaking(given.modes, 0, 0.5)
    rest = nacelle.inverse_kinematics(robot, x).bodies
    np.testing.assert_allclose(shaking.bodies(rest, 0.0).p, rest.p)
    moved = shaking.bodies(rest, 0.5 * np.pi)
    expected = shaking.factor * given.modes.displacement()[:3, 0]
    np.testing.assert_allclose(moved.p[1] - rest.p[1], expected, atol=1e-12)
    lines, straight = shaking.lines(0.5 * np.pi), shaking.lines(0.0)
    reach = max(float(np.max(np.linalg.norm(lines[name] - straight[name], axis=-1))) for name in lines)
    assert 0.5 * SHOWN * 0.5 < reach <= 1.001 * SHOWN * 0.5
    assert set(shaking.bent) == set(lines)


def test_rigid_robots_have_no_modes_and_it_says_why() -> None:
    robot = nacelle.load("fivebar")
    given = lowest_modes(robot, nacelle.reference_pose(robot))
    assert given.modes is None
    assert "no flexible link" in given.words
    assert given.labels == ()
