"""Edges several pixels from their prediction."""

from __future__ import annotations

import numpy as np
import pytest

from nacelle.vision.image.edges import Picture, image_edge, plane_through, searched_normals
from nacelle.vision.image.pixel_model import PixelModel
from nacelle.vision.image.render import render
from nacelle.vision.visibility import edge_visibility
from support.vision_scenes import rod, scene_of, small_camera

TRUE = rod((-0.2, -0.1, 1.8), (0.25, 0.15, 2.2), 0.03)
# About five pixels away, and turned.
PREDICTED = rod((-0.2, -0.07, 1.8), (0.25, 0.19, 2.2), 0.03)
MODEL = PixelModel(blur=0.7)


@pytest.mark.parametrize("corner", [(0, 0), (12, 7)])
def test_search_finds_the_edges(corner: tuple[int, int]) -> None:
    camera = small_camera()
    size = (160 - corner[0], 120 - corner[1])
    image = render(scene_of(camera, TRUE), MODEL, corner=corner, size=size, rng=np.random.default_rng(0))
    seen = edge_visibility(scene_of(camera, PREDICTED), 0, MODEL.reach)
    true = edge_visibility(scene_of(camera, TRUE), 0, MODEL.reach)
    picture = Picture(image, corner)
    for side in (0, 1):
        points = image_edge(picture, camera, seen, side, 8.0, MODEL)
        points = points[np.isfinite(points[:, 0])]
        assert len(points) > 40
        off = camera.ray(points) @ true.lines.normals[side] * camera.focal[0]
        assert np.median(np.abs(off)) < 0.05
    normals = searched_normals(picture, camera, seen, 8.0, MODEL)
    assert normals is not None
    assert np.max(np.abs(normals - true.lines.normals)) * camera.focal[0] < 0.3
    # Too narrow a search does not find them, a dark picture shows none.
    assert searched_normals(Picture(0.0 * image + 40.0, corner), camera, seen, 8.0, MODEL) is None


def test_pictures_are_bilinear() -> None:
    v, u = np.mgrid[0:5, 0:7].astype(float)
    picture = Picture(3.0 * u + 10.0 * v, (100, 200))
    places = np.array([[100.0, 200.0], [102.25, 203.5], [106.0, 204.0], [99.9, 201.0], [101.0, 204.1]])
    values = picture.at(places)
    assert np.allclose(values[:3], [0.0, 3.0 * 2.25 + 35.0, 58.0])
    assert np.all(np.isnan(values[3:]))


def test_planes_leave_out_what_is_far() -> None:
    rng = np.random.default_rng(1)
    rays = np.stack([rng.uniform(-0.3, 0.3, 40), 0.1 + 1e-5 * rng.standard_normal(40), np.ones(40)], axis=-1)
    rays[::10, 1] += 0.01
    n = plane_through(rays)
    assert np.allclose(n / n[1], [0.0, 1.0, -0.1], atol=1e-4)
