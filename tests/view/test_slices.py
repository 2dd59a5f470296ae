from __future__ import annotations

import numpy as np
import pytest

import nacelle
from nacelle.view.session import Session
from nacelle.view.slices import slice_choices, workspace_slice


def test_rectangles_lie_where_the_nacelle_can_be_and_cover_the_area() -> None:
    robot = nacelle.load("fivebar")
    session = Session(robot)
    shown = workspace_slice(robot, ("x", "y"), session.x, session.platform.p, 0.5)
    inside = [patch for patch in shown.patches if not patch.faint]
    centres = np.concatenate([patch.vertices.reshape(-1, 4, 3).mean(axis=1) for patch in inside])
    assert nacelle.inverse_kinematics(robot, centres[:, :2]).ok.all()
    area = 0.0
    for patch in inside:
        a, b, c = np.moveaxis(patch.vertices[patch.faces], 1, 0)
        area += 0.5 * float(np.sum(np.linalg.norm(np.cross(b - a, c - a), axis=1)))
    assert area == pytest.approx(shown.grid.volume)
    assert "m^2" in shown.words


def test_angles_are_drawn_as_lengths() -> None:
    assert slice_choices(nacelle.load("3rps"))[0] == ("z", "rx")
    robot = nacelle.load("h4")
    assert ("x", "turn") in slice_choices(robot)
    session = Session(robot)
    shown = workspace_slice(robot, ("x", "turn"), session.x, session.platform.p, 1.0)
    points = np.concatenate([patch.vertices for patch in shown.patches])
    turn = shown.grid.values[1]
    width = (turn[-1] - turn[0]) * (61 / 60) / np.radians(45.0) * 0.25
    assert np.ptp(points[:, 1]) <= width + 1e-9
    np.testing.assert_allclose(points[:, 2], session.platform.p[2])
    assert "angles are drawn as lengths" in shown.words
