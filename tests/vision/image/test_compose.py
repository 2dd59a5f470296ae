"""Several solids in a pixel against rays: hidden, crossing, beside each other with a small gap."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.shapes.solid import Ball
from nacelle.vision.image.compose import meets, seen_parts
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.scene import CameraScene, SeenSolid
from support.vision_scenes import cast, rod, scene_of, small_camera

NEAR = rod((-0.5, -0.2, 1.5), (0.5, 0.15, 1.6), 0.02)
PAIRS = {
    "crossing": rod((-0.1, -0.5, 2.5), (0.1, 0.5, 2.0), 0.03),
    "beside": rod((-0.5, -0.15, 1.5), (0.5, 0.2, 1.6), 0.02),
    "within": rod((-0.5, -0.2, 1.5), (0.5, 0.15, 1.6), 0.01),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_rods_against_rays(name: str) -> None:
    camera = small_camera()
    corner, size = (50, 30), (60, 60)
    scene = scene_of(camera, NEAR, PAIRS[name])
    parts = seen_parts([NEAR, PAIRS[name]], Patch.region(camera, corner, size), 0.8)
    for k, (_, seen) in parts.items():
        # One solid white, all else black: its rays alone.
        levels = PixelModel(blur=0.8, leg=1.0, background=0.0, other=0.0)
        first = scene.solids[k]
        solids = tuple(s if s is first else SeenSolid(s.solid, s.body, -1, -1) for s in scene.solids)
        white = CameraScene(camera, scene.cylinders, solids)
        true = cast(white, levels, corner, size, fine=5)
        assert np.max(np.abs(seen - true)) < 0.03
    if name == "within":
        assert 1 not in parts or np.max(parts[1][1]) < 1e-3


def test_cones_that_meet() -> None:
    axis = np.array([0.0, 0.0, 1.0])
    ball = Ball(np.array([0.5, 0.0, 2.0]), 0.1)
    touch = float(np.arctan2(0.5, 2.0) - np.arcsin(0.1 / np.hypot(0.5, 2.0)))
    assert meets(ball, axis, touch + 1e-6)
    assert not meets(ball, axis, touch - 1e-6)
    assert meets(rod((-3.0, 0.1, 2.0), (3.0, 0.1, 2.0), 0.01), axis, 0.05)
    assert not meets(rod((-3.0, 0.5, 2.0), (3.0, 0.5, 2.0), 0.01), axis, 0.05)
