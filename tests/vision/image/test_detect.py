"""Segments of OpenCV's detector on rendered rods."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from nacelle.errors import KinematicsError
from nacelle.vision.image.detect import detect_segments
from nacelle.vision.image.edges import Picture
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render
from support.vision_scenes import rod, scene_of, small_camera


def test_both_edges_with_the_rod_on_their_right() -> None:
    pytest.importorskip("cv2")
    camera, model = small_camera(), PixelModel(blur=0.7)
    scene = scene_of(camera, rod((-0.2, -0.1, 2.0), (0.25, 0.15, 2.0), 0.04))
    image = render(scene, model, corner=(10, 5), size=(140, 110), rng=np.random.default_rng(0))
    segments = detect_segments(Picture(image, (10, 5)), 30.0)
    assert len(segments.ends) == 2
    assert np.all(segments.lengths > 60.0)
    assert np.all(segments.contrast > 100.0)
    middle = camera.project((0.025, 0.025, 2.0))
    for a, b in segments.ends:
        way, inwards = b - a, middle - a
        # To the right with v down: way x inwards > 0; half the width away.
        across = (way[0] * inwards[1] - way[1] * inwards[0]) / np.linalg.norm(way)
        assert across == pytest.approx(6.0, abs=0.4)
    assert len(detect_segments(Picture(np.full((50, 50), 40.0))).ends) == 0


def test_without_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(KinematicsError, match=r"nacelle\[vision\]"):
        detect_segments(Picture(np.zeros((20, 20))))
