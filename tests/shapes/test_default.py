"""Shapes of bodies without any: arcs on great circles, rods between joints, a ball for a lone point."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.shapes.default import BALL, arc, arc_solids, body_solids
from nacelle.shapes.solid import Ball, Rod


def test_arcs_lie_on_a_great_circle() -> None:
    centre, a, b = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])
    way = arc(a, b, centre)
    np.testing.assert_allclose(np.linalg.norm(way - centre, axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(way[[0, -1]], [a, b], atol=1e-14)
    steps = np.linalg.norm(np.diff(way, axis=0), axis=1)
    assert steps.sum() == pytest.approx(np.pi / 2, rel=1e-2)
    np.testing.assert_allclose(steps, steps[0])
    opposite = arc(a, 2.0 * centre - a, centre)
    np.testing.assert_allclose(np.linalg.norm(opposite - centre, axis=1), 1.0, atol=1e-14)


def test_rods_reach_from_joint_to_joint() -> None:
    ends = [np.zeros(3), np.array([0.0, 0.0, 2.0])]
    (rod,) = body_solids(ends, [], np.zeros(3), 1.0, platform=False)
    assert isinstance(rod, Rod)
    assert (rod.start[2], rod.stop[2]) == (0.0, 2.0)
    (ball,) = body_solids([], [], np.array([1.0, 0.0, 0.0]), 1.0, platform=False)
    assert isinstance(ball, Ball)
    assert (ball.radius, tuple(ball.centre)) == (BALL, (1.0, 0.0, 0.0))
    assert len(arc_solids([], np.zeros(3), 0.01)) == 1
