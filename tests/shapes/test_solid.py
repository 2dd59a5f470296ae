"""Solids of descriptions, and solids moved to another frame."""

from __future__ import annotations

import numpy as np

from nacelle.model.leg import Body
from nacelle.shapes.solid import Ball, Block, Plate, Rod, described_solids
from nacelle.spatial.pose import Pose

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
POSE = Pose(TURN, np.array([0.0, 0.0, 5.0]))


def test_described_shapes_become_solids() -> None:
    body = Body(
        "arm",
        display=(
            {"cylinder": {"from": [0, 0, 0], "to": [1, 0, 0], "radius": 0.1}, "color": "red"},
            {"mesh": {"file": "arm.stl"}},
            {"sphere": {"radius": 0.2, "at": [0, 1, 0]}},
            {"box": {"size": [1, 2, 3], "at": {"translation": [0.5, 0, 0]}}},
        ),
    )
    rod, ball, block = (solid.moved(POSE) for solid in described_solids(body))
    assert isinstance(rod, Rod)
    assert rod.colour == "red"
    assert np.allclose([rod.start, rod.stop], [[0, 0, 5], [0, 1, 5]])
    assert isinstance(ball, Ball)
    assert np.allclose(ball.centre, [-1, 0, 5])
    assert isinstance(block, Block)
    assert np.allclose(block.at.p, [0, 0.5, 5])
    assert np.allclose(block.at.R, TURN)


def test_plates_move_with_all_corners() -> None:
    plate = Plate(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), 0.01).moved(POSE)
    assert np.allclose(plate.corners, [[0, 1, 5], [-1, 0, 5], [0, 0, 5]])
