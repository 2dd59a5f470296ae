from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.view.grips import MOVE, POSE, SINGLE, TURN, dragged, grips
from nacelle.view.session import Session, Standing


@pytest.mark.parametrize("name", ["gough-stewart", "3rps", "h4", "fivebar"])
def test_a_grip_that_is_not_moved_moves_nothing(name: str) -> None:
    session = Session(nacelle.load(name))
    for grip in grips(session):
        x = dragged(session.robot, grip, session.request, grip.at.p, grip.quat_xyzw)
        np.testing.assert_allclose(x, session.x, atol=1e-12)


@pytest.mark.parametrize("name", ["gough-stewart", "3rps", "h4", "fivebar"])
def test_the_platform_goes_where_it_is_dragged(name: str) -> None:
    """Along the arrows that the robot has: the origin of its frame is where the grip is."""
    session = Session(nacelle.load(name))
    grip = grips(session)[0]
    assert grip.kind in (POSE, MOVE)
    assert grip.arrows == tuple(axis in session.robot.motion.coordinates for axis in "xyz")
    moved = grip.at.p + 0.02 * session.robot.size * np.array(grip.arrows)
    x = dragged(session.robot, grip, session.request, moved, grip.quat_xyzw)
    assert session.move(x).standing is not Standing.OUT
    axes = np.flatnonzero(grip.arrows)
    np.testing.assert_allclose(session.platform.p[axes], moved[axes], atol=1e-12)


def test_a_free_orientation_is_that_of_the_grip() -> None:
    session = Session(nacelle.load("gough-stewart"))
    (grip,) = grips(session)
    half = 0.5 * 0.1
    turn = np.array([0.0, 0.0, np.sin(half), np.cos(half)])
    session.move(dragged(session.robot, grip, session.request, grip.at.p, turn))
    R = session.platform.R
    np.testing.assert_allclose(
        R[:2, :2], [[np.cos(0.1), -np.sin(0.1)], [np.sin(0.1), np.cos(0.1)]], atol=1e-12
    )


def test_rings_of_single_angles_add_their_turn() -> None:
    """A joint of the nacelle turns by the angle about the grip's z-axis, whatever its name."""
    session = Session(nacelle.load("h4"))
    grip = grips(session)[1]
    assert (grip.kind, grip.coordinate) == (SINGLE, "turn")
    before = float(session.solution.joint("turn")[0])
    c, s = np.cos(0.2), np.sin(0.2)
    R = grip.at.R @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    quat = nacelle.pose(nacelle.load("gough-stewart"), rotation_matrix=R)[3:]
    session.move(dragged(session.robot, grip, session.request, grip.at.p, quat))
    assert float(session.solution.joint("turn")[0]) == pytest.approx(before + 0.2)


def test_tilts_have_rings_about_base_axes() -> None:
    found = grips(Session(nacelle.load("3rps")))
    assert [grip.coordinate for grip in found] == ["", "rx", "ry"]
    for grip, axis in zip(found[1:], np.eye(3), strict=False):
        np.testing.assert_allclose(grip.at.R[:, 2], axis)
        assert np.linalg.det(grip.at.R) == pytest.approx(1.0)
    assert TURN not in {grip.kind for grip in found}
