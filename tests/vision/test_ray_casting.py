"""Rays against points of the solids: a point is inside if and only if its depth is within the span."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.shapes.solid import Ball, Block, Plate, Rod, Solid
from nacelle.spatial.pose import Pose
from nacelle.spatial.rotation_vector import rotation_vector
from nacelle.vision.ray_casting import depth_span, entry, half_spaces, holds, vertices
from support.vision_scenes import rod

TURN = rotation_vector(np.array([0.4, -0.7, 0.3]))
AT = np.array([0.1, -0.2, 2.0])
SQUARE = np.array([[0.4, 0.3, 0.0], [-0.4, 0.3, 0.0], [-0.4, -0.3, 0.0], [0.4, -0.3, 0.0]])
SOLIDS: dict[str, Solid] = {
    "rod": rod((-0.3, -0.4, 1.6), (0.5, 0.0, 2.4), 0.3),
    "ball": Ball(AT, 0.4),
    "block": Block(Pose(TURN, AT), np.array([0.8, 0.6, 0.4])),
    "plate": Plate(SQUARE @ TURN.T + AT, 0.2),
}


def inside(solid: Solid, X: np.ndarray) -> np.ndarray:
    """The same by the definition of each solid."""
    if isinstance(solid, Rod):
        u = (solid.stop - solid.start) / np.linalg.norm(solid.stop - solid.start)
        along = (X - solid.start) @ u
        across = np.linalg.norm(X - solid.start - along[:, None] * u, axis=1)
        return (across < solid.radius) & (along > 0) & (along < np.linalg.norm(solid.stop - solid.start))
    if isinstance(solid, Ball):
        return np.linalg.norm(X - solid.centre, axis=1) < solid.radius
    local = (X - AT) @ TURN
    return np.all(np.abs(local) < [0.4, 0.3, 0.2], axis=1)


@pytest.mark.parametrize("name", SOLIDS)
def test_points_within(name: str) -> None:
    solid, rng = SOLIDS[name], np.random.default_rng(1)
    X = AT + rng.uniform(-0.8, 0.8, (4000, 3))
    rays = X / X[:, 2:]
    first, last = depth_span(solid, rays)
    within = (first < X[:, 2]) & (X[:, 2] < last)
    assert np.array_equal(within, inside(solid, X))
    assert 100 < within.sum() < 3500
    assert np.array_equal(np.isfinite(entry(solid, rays)), first <= last)
    assert not holds(solid)
    # The camera's centre moves inside with the solid.
    assert holds(solid.moved(Pose(np.eye(3), -AT)))


def test_corners_meet_three_planes() -> None:
    for solid in (SOLIDS["block"], SOLIDS["plate"]):
        N, h = half_spaces(solid)
        gaps = vertices(solid) @ N.T - h
        assert np.all(gaps < 1e-12)
        assert np.all(np.sum(np.abs(gaps) < 1e-12, axis=1) == 3)
    with pytest.raises(TypeError):
        half_spaces(SOLIDS["rod"])
    with pytest.raises(TypeError):
        vertices(SOLIDS["ball"])


def test_behind_the_camera_is_missed() -> None:
    assert np.isinf(entry(Ball(np.array([0.0, 0.0, -2.0]), 0.5), np.array([0.0, 0.0, 1.0])))
    assert entry(Ball(np.array([0.0, 0.0, 0.2]), 0.5), np.array([0.0, 0.0, 1.0])) == 0.0
