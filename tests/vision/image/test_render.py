"""Whole images: regions are parts of them, solids against rays, motion and noise."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.errors import KinematicsError
from nacelle.shapes.solid import Ball
from nacelle.vision.image.patch import Patch
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render, render_pixels
from support.vision_scenes import cast, rod, scene_of, small_camera

MODEL = PixelModel(blur=0.8)
SOLIDS = (
    rod((-0.4, -0.2, 1.8), (0.3, 0.15, 2.2), 0.03),
    rod((-0.1, 0.3, 1.5), (0.2, -0.3, 2.0), 0.02),
    Ball(np.array([0.1, 0.1, 3.0]), 0.2),
)


def test_images_are_those_of_rays() -> None:
    scene = scene_of(small_camera(), *SOLIDS)
    image = render(scene, MODEL)
    true = cast(scene, MODEL, (0, 0), (160, 120), fine=5)
    error = np.abs(image - true) / 160.0
    assert np.mean(error) < 1e-3
    assert np.quantile(error, 0.99) < 0.015
    assert np.max(error) < 0.25  # where three outlines meet
    assert image.min() == pytest.approx(40.0)
    assert image.max() == pytest.approx(200.0)


def test_regions_and_pixels_are_parts_of_the_image() -> None:
    scene = scene_of(small_camera(), *SOLIDS)
    whole = render(scene, MODEL)
    part = render(scene, MODEL, corner=(37, 21), size=(70, 45))
    assert np.allclose(part, whole[21:66, 37:107], atol=1e-9)
    patch = Patch.of(scene.camera, np.array([80.0, 90.0]), np.array([60.0, 50.0]))
    assert np.allclose(render_pixels(scene, MODEL, patch), [whole[60, 80], whole[50, 90]])
    assert np.all(render(scene_of(small_camera()), MODEL) == 40.0)


def test_motion_blurs_across_the_edge() -> None:
    camera = small_camera()
    instants = [
        scene_of(camera, rod((-0.5, 0.02 * t, 2.0), (0.5, 0.02 * t, 2.0), 0.05)) for t in (-1.0, 0.0, 1.0)
    ]
    moving, still = render(instants, MODEL), render(instants[1], MODEL)
    assert np.allclose(moving, np.mean([render(one, MODEL) for one in instants], axis=0))
    assert np.max(np.abs(np.diff(moving[:, 80]))) < 0.5 * np.max(np.abs(np.diff(still[:, 80])))
    patch = Patch.of(camera, np.array([80.0]), np.array([52.0]))
    assert render_pixels(instants, MODEL, patch)[0] == pytest.approx(moving[52, 80])
    with pytest.raises(KinematicsError, match="at least one"):
        render([], MODEL)


def test_noise_is_seeded() -> None:
    scene = scene_of(small_camera(), *SOLIDS)
    first, again = (render(scene, MODEL, rng=np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first, again)
    assert np.std(first - render(scene, MODEL)) == pytest.approx(2.0, rel=0.05)
