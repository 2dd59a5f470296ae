"""Regions of interest see what the whole image sees."""

from __future__ import annotations

import numpy as np

from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render
from nacelle.vision.measure import look
from nacelle.vision.region import region_of_interest
from support.vision_scenes import rod, scene_of, small_camera

ROD = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.03)
MODEL = PixelModel(blur=0.7, read_noise=1e-3)


def test_a_region_is_a_part_of_the_image() -> None:
    scene = scene_of(small_camera(), ROD)
    corner, size = (40, 30), (64, 48)
    region = render(scene.region(corner, size), MODEL)
    assert np.allclose(region, render(scene, MODEL)[30:78, 40:104], atol=1e-9)


def test_measured_in_a_region() -> None:
    scene = scene_of(small_camera(), ROD)
    corner = region_of_interest(scene, 0, (40, 40))
    assert corner is not None
    part = scene.region(corner, (40, 40))
    measured = look(part, part, 0, MODEL, np.random.default_rng(0))
    whole = look(scene, scene, 0, MODEL, np.random.default_rng(0))
    assert measured is not None
    assert whole is not None
    assert measured.fit.sides == (0, 1)
    assert measured.fit.pixels < whole.fit.pixels
    # The same normals in camera axes, less certain.
    assert np.max(np.abs(measured.fit.normals - whole.fit.normals)) < 1e-5
    assert np.trace(measured.fit.covariance) > 2.0 * np.trace(whole.fit.covariance)


def test_regions_keep_away_from_others() -> None:
    camera = small_camera()
    wall = rod((-0.2, -0.5, 1.0), (-0.2, 0.5, 1.0), 0.2)
    scene = scene_of(camera, ROD, wall)
    corner = region_of_interest(scene, 0, (40, 40))
    assert corner is not None
    # The wall hides the left half of the image.
    assert corner[0] + 20 > 85
    hidden = scene_of(camera, ROD, rod((-0.5, 0.0, 1.0), (0.5, 0.0, 1.0), 0.4))
    assert region_of_interest(hidden, 0) is None
