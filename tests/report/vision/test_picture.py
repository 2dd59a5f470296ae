"""What a camera sees, as a picture and as tables."""

from __future__ import annotations

import numpy as np

import nacelle
from nacelle.report.vision.picture import cylinder_table, pose_table
from nacelle.vision.camera import Camera


def test_the_picture_has_lines_over_the_image() -> None:
    camera = Camera.looking([0.0, 0.14, 0.0], [0.05, 0.1, 0.7], up=(0.0, 1.0, 0.0), size=(320, 320))
    seen = nacelle.observe(nacelle.load("fivebar"), camera=camera)
    (ax,) = seen.plot(shown=False).axes
    assert len(ax.images) == 1
    assert len(ax.lines) == 2 * 2 * 4  # free parts and what goes on, of two edges of four bars
    # The lines are at the steps of the image: half-way between the grey levels.
    middle = 0.5 * (seen.pixels.leg + seen.pixels.background)
    solid = ax.lines[1].get_xydata()
    solid = solid[np.isfinite(solid).all(axis=1)]
    values = seen.image[np.rint(solid[:, 1]).astype(int), np.rint(solid[:, 0]).astype(int)]
    assert abs(float(np.mean(values)) - middle) < 25.0
    assert float(np.min(values)) > seen.pixels.background + 5.0
    assert cylinder_table(seen).row_count == 4
    assert pose_table(seen).row_count == 2
